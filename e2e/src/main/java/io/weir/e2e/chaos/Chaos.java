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
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;

/** Injects faults into a cluster under load, round by round, then audits. */
public final class Chaos {
  /** Calls that must be answered after a fault before its round ends: the cluster works again. */
  private static final int CALLS_AFTER_FAULT = 300;

  private static final Duration RECOVERY_PATIENCE = Duration.ofMinutes(2);

  private final Path folder;
  private final List<Fault> faults;
  private final RandomGenerator random;
  private final Progress progress;
  private final List<Round> rounds = new ArrayList<>();
  private final List<Fault> injected = new ArrayList<>();

  /** Told of each fault. */
  public interface Progress {
    void begins(int round, String fault);
  }

  /**
   * A run that has not begun.
   *
   * @param folder an empty folder, kept by the caller
   * @param names which faults; all when empty
   * @param longest how long a fault may last, above 2 s
   * @param seed decides their order and details
   * @throws IllegalArgumentException when a name is not known; the message lists those that are
   */
  public Chaos(Path folder, List<String> names, Duration longest, long seed, Progress progress) {
    this.folder = folder;
    this.faults = chosen(names, new Faults(longest).all());
    this.random = RandomGeneratorFactory.of("L64X128MixRandom").create(seed);
    this.progress = progress;
  }

  private static List<Fault> chosen(List<String> names, List<Fault> all) {
    List<Fault> chosen = new ArrayList<>();
    for (String name : names) {
      chosen.add(
          all.stream()
              .filter(fault -> fault.name().equals(name))
              .findFirst()
              .orElseThrow(
                  () ->
                      new IllegalArgumentException(
                          "no fault is named '" + name + "'; there are " + names())));
    }
    return chosen.isEmpty() ? all : chosen;
  }

  /** The names of all faults. */
  public static List<String> names() {
    return new Faults(Duration.ofSeconds(3)).all().stream().map(Fault::name).toList();
  }

  /**
   * Runs each fault once, in random order, then goes on with random ones until the time is over.
   *
   * @return what the audit found
   */
  public Outcome run(Duration atLeast) throws Exception {
    Instant begun = Instant.now();
    List<Fault> bag = new ArrayList<>();
    try (Cluster cluster = Cluster.start(folder)) {
      Round round = nextRound();
      try (Callers callers = new Callers(cluster.checkUrls(), round);
          ReportReader reader = new ReportReader(cluster.reportsUrls(), callers::round)) {
        callers.start();
        reader.start();
        awaitAnswered(cluster, round, CALLS_AFTER_FAULT);
        boolean firstPass = true;
        while (firstPass || Duration.between(begun, Instant.now()).compareTo(atLeast) < 0) {
          if (bag.isEmpty()) {
            bag.addAll(faults);
          }
          Fault fault = bag.remove(random.nextInt(bag.size()));
          firstPass &= !bag.isEmpty();
          round = nextRound();
          callers.begin(round);
          progress.begins(round.number(), fault.name());
          injected.add(fault);
          awaitAnswered(cluster, round, 1);
          fault.inject(cluster, random);
          awaitAnswered(cluster, round, round.truth().answered() + CALLS_AFTER_FAULT);
        }
        callers.stop();
        reader.stop();
        progress.begins(rounds.size(), "audit");
        Findings findings =
            new Audit(cluster).run(rounds.stream().map(Round::truth).toList(), begun);
        return new Outcome(injected.stream().map(Fault::name).toList(), findings);
      }
    }
  }

  private Round nextRound() {
    Round round = Round.begin(rounds.size());
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
    private static final int COLUMNS = 7;

    public Outcome {
      faults = List.copyOf(faults);
    }

    /** Whether nothing was lost, doubled or wrongly reported. */
    public boolean isRight() {
      return findings.isRight();
    }

    /** Every difference in words. */
    public List<String> details() {
      List<String> details = new ArrayList<>();
      for (int i = 0; i < findings.rounds().size(); i++) {
        for (String detail : findings.rounds().get(i).details()) {
          details.add("round " + i + " (" + nameOf(i) + "): " + detail);
        }
      }
      return details;
    }

    private String nameOf(int round) {
      return round == 0 ? "undisturbed" : faults.get(round - 1);
    }

    /** Prints the table: a row for each fault, and the sums. */
    public void print(PrintWriter out) {
      Map<String, long[]> rows = new TreeMap<>();
      for (int i = 0; i < findings.rounds().size(); i++) {
        Findings.OfRound of = findings.rounds().get(i);
        long[] row = rows.computeIfAbsent(nameOf(i), name -> new long[COLUMNS]);
        long[] add = {
          1, of.answered(), of.untold(), of.reports(), of.lost(), of.doubled(), of.misreported()
        };
        for (int k = 0; k < row.length; k++) {
          row[k] += add[k];
        }
      }
      out.printf(
          "%-40s %6s %10s %10s %8s %6s %8s %12s%n",
          "fault", "times", "answered", "no answer", "reports", "lost", "doubled", "misreported");
      long[] sum = new long[COLUMNS];
      rows.forEach(
          (name, row) -> {
            print(out, name, row);
            for (int k = 0; k < sum.length; k++) {
              sum[k] += row[k];
            }
          });
      print(out, "all", sum);
      out.printf(
          Locale.ROOT,
          "quarantined records: %d; weir verify: %s%n",
          findings.quarantined(),
          findings.verifyDiffers() == 0 ? "0 differences" : "DIFFERS");
      out.flush();
    }

    private static void print(PrintWriter out, String name, long[] row) {
      out.printf(
          Locale.ROOT,
          "%-40s %6d %10d %10d %6d %8d %9d%n",
          name,
          row[0],
          row[1],
          row[2],
          row[3],
          row[4],
          row[5]);
    }
  }
}
