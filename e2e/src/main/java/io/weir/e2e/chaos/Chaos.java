// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import io.weir.e2e.chaos.Callers.Round;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;

/** Injects faults into a cluster under load, round by round, then audits. */
public final class Chaos {
  /** Calls that must be answered after a fault before its round ends: the cluster works again. */
  private static final int CALLS_AFTER_FAULT = 300;

  private static final Duration RECOVERY_PATIENCE = Duration.ofMinutes(2);

  private final Path folder;
  private final int brokers;
  private final List<Fault> faults;
  private final RandomGenerator random;
  private final Progress progress;
  private final List<Round> rounds = new ArrayList<>();
  private final List<Fault> injected = new ArrayList<>();

  /** Told of each fault, and of how it went. */
  public interface Progress {
    void begins(int round, String fault);

    /**
     * A round is over.
     *
     * @param answered calls that got their verdict
     * @param failed calls that got none
     * @param notes what is worth knowing
     */
    void ended(int round, String fault, long answered, long failed, List<String> notes);
  }

  /** What broke during a round, other than what the audit looks for. */
  public static final class ChaosException extends Exception {
    private static final long serialVersionUID = 1L;

    ChaosException(String message, Throwable cause) {
      super(message, cause);
    }
  }

  /**
   * A run that has not begun.
   *
   * @param folder an empty folder, kept by the caller
   * @param brokers 1 or 3
   * @param names which faults; all when empty
   * @param longest how long a fault may last, above 2 s
   * @param seed decides their order and details
   * @throws IllegalArgumentException when a name is not known; the message lists those that are
   */
  public Chaos(
      Path folder,
      int brokers,
      List<String> names,
      Duration longest,
      long seed,
      Progress progress) {
    if (brokers != 1 && brokers != 3) {
      throw new IllegalArgumentException("brokers must be 1 or 3, not " + brokers);
    }
    this.folder = folder;
    this.brokers = brokers;
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

  /** The names of all faults that so many brokers allow. */
  public static List<String> names(int brokers) {
    return new Faults(Duration.ofSeconds(3), brokers).all().stream().map(Fault::name).toList();
  }

  /**
   * Runs each fault once, in random order, then goes on with random ones until the time is over.
   *
   * @return what the audit found
   * @throws ChaosException when a fault could not be survived, or the cluster not be audited
   */
  public Outcome run(Duration atLeast) throws ChaosException {
    Instant begun = Instant.now();
    try (Cluster cluster = Cluster.start(folder, brokers)) {
      Round first = nextRound(cluster.checkUrls());
      try (Callers callers = new Callers(first);
          ReportReader reader = new ReportReader(cluster.reportsUrls(), callers::round)) {
        callers.start();
        reader.start();
        awaitAnswered(cluster, first, CALLS_AFTER_FAULT);
        List<Fault> bag = new ArrayList<>();
        boolean firstPass = true;
        while (firstPass || Duration.between(begun, Instant.now()).compareTo(atLeast) < 0) {
          if (bag.isEmpty()) {
            bag.addAll(faults);
          }
          Fault fault = bag.remove(random.nextInt(bag.size()));
          firstPass &= !bag.isEmpty();
          inject(cluster, callers, fault);
        }
        callers.stop();
        reader.stop();
        progress.begins(rounds.size(), "audit");
        Findings findings =
            new Audit(cluster).run(rounds.stream().map(Round::truth).toList(), begun);
        return new Outcome(injected.stream().map(Fault::name).toList(), findings);
      }
    } catch (Exception broken) {
      String fault = injected.isEmpty() ? "none" : injected.get(injected.size() - 1).name();
      List<String> notes = rounds.isEmpty() ? List.of() : lastRound().truth().notes();
      throw new ChaosException(
          "round " + (rounds.size() - 1) + " (" + fault + notes + "): " + broken, broken);
    }
  }

  private void inject(Cluster cluster, Callers callers, Fault fault) throws Exception {
    Round round =
        nextRound(
            fault.grounds().contains(Ground.NETWORK)
                ? cluster.relayedCheckUrls()
                : cluster.checkUrls());
    callers.begin(round);
    progress.begins(round.number(), fault.name());
    injected.add(fault);
    Truth truth = round.truth();
    awaitAnswered(cluster, round, 1);
    fault.inject(new Scene(cluster, truth, random));
    awaitAnswered(cluster, round, truth.answered() + CALLS_AFTER_FAULT);
    if (fault.callsMustSucceed() && truth.failedCount() > 0) {
      truth.wrong(truth.failedCount() + " calls failed: " + truth.errors());
    }
    progress.ended(
        round.number(), fault.name(), truth.answered(), truth.failedCount(), truth.notes());
  }

  private Round lastRound() {
    return rounds.get(rounds.size() - 1);
  }

  private Round nextRound(List<String> checkUrls) {
    Round round = Round.begin(rounds.size(), checkUrls);
    rounds.add(round);
    return round;
  }

  private static void awaitAnswered(Cluster cluster, Round round, long goal)
      throws InterruptedException {
    long deadline = System.nanoTime() + RECOVERY_PATIENCE.toNanos();
    while (round.truth().answered() < goal) {
      for (Member member : cluster.members()) {
        if (!member.isRunning()) {
          throw new IllegalStateException(member.name() + " has ended: " + member.errors());
        }
      }
      if (System.nanoTime() - deadline > 0) {
        throw new IllegalStateException(
            "after " + RECOVERY_PATIENCE + " only " + round.truth().answered() + " calls answered");
      }
      TimeUnit.MILLISECONDS.sleep(20);
    }
  }

  /**
   * How it went.
   *
   * @param faults by round, from round 1; round 0 is undisturbed
   */
  public record Outcome(List<String> faults, Findings findings) {
    public Outcome {
      faults = List.copyOf(faults);
    }

    /** Whether nothing was lost, doubled or wrongly reported. */
    public boolean isRight() {
      return findings.isRight();
    }

    /** Every difference in words, and what else is worth knowing. */
    public List<String> details() {
      List<String> details = new ArrayList<>();
      for (int i = 0; i < findings.rounds().size(); i++) {
        Findings.OfRound of = findings.rounds().get(i);
        for (String detail : of.details()) {
          details.add("round " + i + " (" + nameOf(i) + of.notes() + "): " + detail);
        }
      }
      return details;
    }

    private String nameOf(int round) {
      return round == 0 ? "undisturbed" : faults.get(round - 1);
    }

    /** Prints the table: a row for each fault, and the sums. */
    public void print(PrintWriter out) {
      FaultTable table = new FaultTable();
      for (int i = 0; i < findings.rounds().size(); i++) {
        table.add(nameOf(i), findings.rounds().get(i));
      }
      table.print(out);
      out.printf(
          Locale.ROOT,
          "quarantined records: %d; weir verify: %s%n",
          findings.quarantined(),
          findings.verifyDiffers() == 0 ? "0 differences" : "DIFFERS");
      out.flush();
    }
  }
}
