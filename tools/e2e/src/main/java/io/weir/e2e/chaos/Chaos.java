// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import io.weir.e2e.audit.Outcome;
import io.weir.e2e.audit.Rounds;
import io.weir.e2e.audit.Truth;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;

/** Injects faults into a cluster under load, round by round, and then audits the cluster. */
final class Chaos {
  private final Path folder;
  private final int brokers;
  private final int callsPerSecond;
  private final List<Fault> faults;
  private final RandomGenerator random;
  private final Rounds.Progress progress;

  /** Thrown when a round fails for a reason that is not a finding of the audit. */
  public static final class ChaosException extends Exception {
    private static final long serialVersionUID = 1L;

    ChaosException(String message, Throwable cause) {
      super(message, cause);
    }
  }

  /**
   * Creates a run.
   *
   * @param folder an empty folder, which the caller must delete
   * @param brokers 1 or 3
   * @param callsPerSecond rate of the calls
   * @param names the faults to inject; all if empty
   * @param longest longest duration of a fault, above 2 s
   * @param seed determines the order and the details of the faults
   * @throws IllegalArgumentException if a name is unknown; the message lists the known names
   */
  public Chaos(
      Path folder,
      int brokers,
      int callsPerSecond,
      List<String> names,
      Duration longest,
      long seed,
      Rounds.Progress progress) {
    if (brokers != 1 && brokers != 3) {
      throw new IllegalArgumentException("brokers must be 1 or 3, not " + brokers);
    }
    this.folder = folder;
    this.brokers = brokers;
    this.callsPerSecond = callsPerSecond;
    this.faults = chosen(names, new Faults(longest, brokers).all(), brokers);
    this.random = RandomGeneratorFactory.of("L64X128MixRandom").create(seed);
    this.progress = progress;
  }

  private static List<Fault> chosen(List<String> names, List<Fault> all, int brokers) {
    List<Fault> chosen = new ArrayList<>();
    for (String name : names) {
      chosen.add(
          all.stream()
              .filter(fault -> fault.name().equals(name))
              .findFirst()
              .orElseThrow(
                  () ->
                      new IllegalArgumentException(
                          "no fault is named '" + name + "'; there are " + names(brokers))));
    }
    return chosen.isEmpty() ? all : chosen;
  }

  /** Returns the names of all faults that are possible with this number of brokers. */
  public static List<String> names(int brokers) {
    return new Faults(Duration.ofSeconds(3), brokers).all().stream().map(Fault::name).toList();
  }

  /**
   * Injects each fault once in random order, and then random faults until the time has passed.
   *
   * @return the result of the audit; round 0 is undisturbed
   * @throws ChaosException if the cluster did not survive a fault, or could not be audited
   */
  public Outcome run(Duration atLeast) throws ChaosException {
    Instant begun = Instant.now();
    try (Cluster cluster = Cluster.start(folder, brokers);
        Rounds rounds = Rounds.begin(cluster, callsPerSecond, progress)) {
      List<Fault> bag = new ArrayList<>();
      boolean firstPass = true;
      while (firstPass || Duration.between(begun, Instant.now()).compareTo(atLeast) < 0) {
        if (bag.isEmpty()) {
          bag.addAll(faults);
        }
        Fault fault = bag.remove(random.nextInt(bag.size()));
        firstPass &= !bag.isEmpty();
        inject(cluster, rounds, fault);
      }
      return rounds.audit();
    } catch (Exception broken) {
      throw new ChaosException(String.valueOf(broken.getMessage()), broken);
    }
  }

  private void inject(Cluster cluster, Rounds rounds, Fault fault) {
    List<String> checkUrls =
        fault.grounds().contains(Ground.NETWORK) ? cluster.relayedCheckUrls() : cluster.checkUrls();
    Truth truth =
        rounds.disturb(
            fault.name(), checkUrls, ofRound -> fault.inject(new Scene(cluster, ofRound, random)));
    if (fault.callsMustSucceed() && truth.failedCount() > 0) {
      truth.wrong(truth.failedCount() + " calls failed: " + truth.errors());
    }
  }
}
