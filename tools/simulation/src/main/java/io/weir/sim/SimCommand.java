// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import java.io.PrintWriter;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.stream.LongStream;
import me.tongfei.progressbar.DelegatingProgressBarConsumer;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * The command {@code weir sim}. The command runs histories of the simulated world, and reports each
 * history that breaks an invariant.
 */
@Command(
    name = "sim",
    mixinStandardHelpOptions = true,
    description =
        "Runs Weir's own code in virtual time, with many kinds of faults. Each seed determines a "
            + "world (nodes, partitions, policies, clients, faults) and a history of about 25 s of "
            + "calls and faults. After the faults have ended, the command compares the responses "
            + "with the log, the log with the ledger, and the cache with the records. The same "
            + "seed always gives the same history. See docs/testing.md.",
    footer = {
      "",
      "Exit status: 0 all invariants hold, or with --mutants every planted bug was found;",
      "1 an invariant is broken, or a planted bug was not found; 2 wrong arguments.",
      "",
      "Examples:",
      "  ./weir sim --seeds 10000               run many histories",
      "  ./weir sim --seed 42 --trace           print one history step by step",
      "  ./weir sim --mutants --seeds 300       test the simulation with planted bugs"
    })
final class SimCommand implements Callable<Integer> {
  /**
   * The system property that the script sets if standard error is a terminal. Without this
   * property, the command shows no progress.
   */
  private static final String IS_WATCHED = "weir.terminal";

  /** Number of seeds in a chunk. The command checks the results after each chunk. */
  private static final int CHUNK_SEEDS = 64;

  @Spec
  @SuppressWarnings("NullAway.Init") // set by picocli before a command runs
  private CommandSpec spec;

  @Option(
      names = "--seeds",
      paramLabel = "N",
      description = "number of seeds to run (1 with --seed, otherwise 1000)")
  private @Nullable Integer seeds;

  @Option(
      names = "--seed",
      paramLabel = "S",
      defaultValue = "1",
      description = "the first seed (${DEFAULT-VALUE}); without --seeds, the only seed")
  private long firstSeed;

  @Option(
      names = "--stop-after",
      paramLabel = "N",
      defaultValue = "5",
      description = "stop after this number of seeds with a broken invariant (${DEFAULT-VALUE})")
  private int stopAfter;

  @Option(names = "--trace", description = "print every step of a single seed")
  private boolean trace;

  @Option(
      names = "--mutants",
      description = "plant each known bug in turn, and print the number of seeds that find it")
  private boolean mutants;

  @Option(
      names = "--mutant",
      paramLabel = "M",
      description = "plant this bug: ${COMPLETION-CANDIDATES}",
      defaultValue = "NONE")
  private Mutant mutant = Mutant.NONE;

  /**
   * Turns off the logging of the code under test, because simulated failures do not belong in a
   * log.
   */
  static void silence() {
    if (LoggerFactory.getILoggerFactory() instanceof LoggerContext context) {
      context.getLogger(Logger.ROOT_LOGGER_NAME).setLevel(Level.OFF);
    }
  }

  @Override
  public Integer call() {
    silence();
    boolean single =
        seeds == null && spec.commandLine().getParseResult().hasMatchedOption("--seed");
    int count = seeds != null ? seeds : single && !mutants ? 1 : 1_000;
    if (count < 1) {
      throw new ParameterException(
          spec.commandLine(), "--seeds must be at least 1, but is " + count);
    }
    if (stopAfter < 1) {
      throw new ParameterException(
          spec.commandLine(), "--stop-after must be at least 1, but is " + stopAfter);
    }
    if (trace && count != 1) {
      throw new ParameterException(
          spec.commandLine(), "--trace prints a single seed; set --seed and omit --seeds");
    }
    PrintWriter out = spec.commandLine().getOut();
    if (mutants) {
      return printMutants(out, count);
    }
    return trace ? printTrace(out) : printSeeds(out, count);
  }

  private int printTrace(PrintWriter out) {
    Simulation.Outcome outcome = Simulation.run(firstSeed, mutant, out::println);
    print(out, outcome);
    out.flush();
    return outcome.isGood() ? 0 : 1;
  }

  private int printSeeds(PrintWriter out, int count) {
    Tally tally = new Tally();
    long begunNanos = System.nanoTime();
    try (ProgressBar bar = bar("sim", count)) {
      for (long next = 0; next < count; next += CHUNK_SEEDS) {
        tally.add(run(firstSeed + next, Math.min(CHUNK_SEEDS, count - next), mutant));
        bar.stepTo(Math.min(count, next + CHUNK_SEEDS));
        if (tally.failures().size() >= stopAfter) {
          break;
        }
      }
    }
    double seconds = (System.nanoTime() - begunNanos) / 1e9;
    tally.failures().stream().limit(stopAfter).forEach(failed -> print(out, failed));
    if (count == 1 && tally.failures().isEmpty()) {
      print(out, Simulation.run(firstSeed, mutant, null));
    }
    tally.print(out, seconds);
    out.flush();
    return tally.failures().isEmpty() ? 0 : 1;
  }

  private static List<Simulation.Outcome> run(long first, long count, Mutant mutant) {
    return LongStream.range(first, first + count)
        .parallel()
        .mapToObj(seed -> Simulation.run(seed, mutant, null))
        .toList();
  }

  private static ProgressBar bar(String name, long max) {
    ProgressBarBuilder builder =
        new ProgressBarBuilder()
            .setTaskName(name)
            .setInitialMax(max)
            .setStyle(ProgressBarStyle.ASCII);
    if (!Boolean.getBoolean(IS_WATCHED)) {
      builder.setConsumer(new DelegatingProgressBarConsumer(line -> {}));
    }
    return builder.build();
  }

  private void print(PrintWriter out, Simulation.Outcome outcome) {
    if (outcome.isGood()) {
      out.printf(
          "seed %d holds: %d steps, %d calls, trace %016x%n",
          outcome.seed(), outcome.steps(), outcome.calls(), outcome.traceHash());
      return;
    }
    out.printf(
        "seed %d BREAKS at step %d: %s%n", outcome.seed(), outcome.steps(), outcome.broken());
    out.printf(
        "  to repeat it step by step: ./weir sim --seed %d%s --trace%n",
        outcome.seed(), mutant == Mutant.NONE ? "" : " --mutant " + mutant);
  }

  private static int printMutants(PrintWriter out, int count) {
    Map<Mutant, MutantHunt> hunts = new TreeMap<>();
    try (ProgressBar bar = bar("mutants", Mutant.values().length - 1L)) {
      for (Mutant mutant : Mutant.values()) {
        if (mutant != Mutant.NONE) {
          hunts.put(mutant, MutantHunt.of(run(1, count, mutant)));
          bar.step();
        }
      }
    }
    MutantHunt.print(out, hunts);
    out.flush();
    return hunts.values().stream().allMatch(MutantHunt::isFound) ? 0 : 1;
  }
}
