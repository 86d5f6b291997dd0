// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import io.weir.cli.console.Bars;
import io.weir.e2e.audit.Outcome;
import io.weir.e2e.audit.Rounds;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import me.tongfei.progressbar.ProgressBar;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * Injects faults into separate processes under load, and audits the responses that callers
 * received.
 */
@Command(
    name = "chaos",
    mixinStandardHelpOptions = true,
    description =
        "Starts Redis, three brokers, two ingest nodes and two aggregators as separate processes. "
            + "Sends calls, and injects faults into these processes and the network between them: "
            + "each fault once, and then random faults. Then the command compares the responses to "
            + "callers with the audit log, the ledger, every aggregator's reports and `weir "
            + "verify`. Exits with 0 if no call was lost, duplicated or wrongly reported. Otherwise "
            + "exits with 1, and prints every difference. See docs/testing.md.")
public final class ChaosCommand implements Callable<Integer> {
  private static final Duration LEAST_LONGEST = Duration.ofSeconds(3);
  private static final int CALLS_PER_SECOND = 300;

  @Spec
  @SuppressWarnings("NullAway.Init") // set by picocli before the command runs
  private CommandSpec spec;

  @Option(
      names = "--minutes",
      paramLabel = "N",
      defaultValue = "0",
      description =
          "minimum duration in minutes; each fault happens at least once (${DEFAULT-VALUE})")
  private long minutes;

  @Option(
      names = "--seed",
      paramLabel = "S",
      description = "determines the order and details of the faults; random if absent")
  private long seed = System.nanoTime();

  @Option(
      names = "--fault",
      paramLabel = "NAME",
      description = "inject only this fault; may be repeated. --faults lists the names")
  private List<String> only = new ArrayList<>();

  @Option(
      names = "--brokers",
      paramLabel = "N",
      defaultValue = "3",
      description =
          "number of brokers, 1 or 3 (${DEFAULT-VALUE}); 1 excludes faults that need three brokers")
  private int brokers;

  @Option(
      names = "--longest",
      paramLabel = "D",
      description = "maximum duration of a fault, at least PT3S (${DEFAULT-VALUE})")
  private Duration longest = Duration.ofSeconds(15);

  @Option(names = "--faults", description = "print the names of the faults and exit")
  private boolean list;

  @Option(
      names = "--keep",
      paramLabel = "FOLDER",
      description = "new or empty folder in which to keep the data and logs of all processes")
  private String keep = "";

  @Override
  public Integer call() throws Exception {
    PrintWriter out = spec.commandLine().getOut();
    if (list) {
      Chaos.names(brokers).forEach(out::println);
      out.flush();
      return 0;
    }
    if (minutes < 0) {
      throw new ParameterException(spec.commandLine(), "--minutes must not be negative");
    }
    if (longest.compareTo(LEAST_LONGEST) < 0) {
      throw new ParameterException(
          spec.commandLine(), "--longest must be at least " + LEAST_LONGEST);
    }
    Path folder = folder();
    out.println("seed " + seed + ", data and logs in " + folder);
    out.flush();
    try {
      Outcome outcome = run(folder, out);
      outcome.details().forEach(out::println);
      outcome.print(out);
      return ended(outcome.isRight(), folder, out);
    } catch (Chaos.ChaosException broken) {
      broken.printStackTrace(out);
      return ended(false, folder, out);
    }
  }

  private Outcome run(Path folder, PrintWriter out) throws Chaos.ChaosException {
    try (ProgressBar bar =
        Bars.named("chaos").setUnit(" s", 1).setInitialMax(Math.max(1, minutes * 60)).build()) {
      return chaos(folder, new Bar(bar, out)).run(Duration.ofMinutes(minutes));
    }
  }

  private int ended(boolean isRight, Path folder, PrintWriter out) throws IOException {
    if (!isRight) {
      out.println("FAILED with seed " + seed + "; data and logs are in " + folder);
    } else if (keep.isEmpty()) {
      Cluster.deleteAll(folder);
    }
    out.flush();
    return isRight ? 0 : 1;
  }

  private Chaos chaos(Path folder, Rounds.Progress progress) {
    try {
      return new Chaos(folder, brokers, CALLS_PER_SECOND, only, longest, seed, progress);
    } catch (IllegalArgumentException unknown) {
      throw new ParameterException(
          spec.commandLine(), String.valueOf(unknown.getMessage()), unknown);
    }
  }

  /**
   * Shows a progress bar on standard error, and prints a line for each round on standard output.
   */
  private record Bar(ProgressBar bar, PrintWriter out, Instant begun) implements Rounds.Progress {
    Bar(ProgressBar bar, PrintWriter out) {
      this(bar, out, Instant.now());
    }

    @Override
    public void begins(int round, String fault) {
      bar.stepTo(Duration.between(begun, Instant.now()).toSeconds());
      bar.setExtraMessage(round + ": " + fault);
    }

    @Override
    public void ended(int round, String fault, long answered, long failed, List<String> notes) {
      out.printf(
          Locale.ROOT,
          "%4d s  round %d: %s%s, %d calls answered, %d failed%n",
          Duration.between(begun, Instant.now()).toSeconds(),
          round,
          fault,
          notes.isEmpty() ? "" : " " + notes,
          answered,
          failed);
      out.flush();
    }
  }

  private Path folder() throws IOException {
    return keep.isEmpty()
        ? Files.createTempDirectory("weir-chaos-")
        : Files.createDirectories(Path.of(keep));
  }
}
