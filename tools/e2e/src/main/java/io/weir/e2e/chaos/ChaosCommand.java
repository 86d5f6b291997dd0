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
 * Injects faults into separate processes under load, and audits the answers that callers received.
 */
@Command(
    name = "chaos",
    mixinStandardHelpOptions = true,
    description =
        "Injects faults into three brokers, Redis, two ingest nodes and two aggregators, each "
            + "a process of its own, and the network between them, under load; then compares what "
            + "callers were told with the audit log, the ledger, every aggregator's reports and "
            + "`weir verify`. Each fault comes once, then random ones. Exit 0 when nothing was "
            + "lost, doubled or wrongly reported, else 1 and every difference. docs/testing.md "
            + "tells more.")
public final class ChaosCommand implements Callable<Integer> {
  private static final Duration LEAST_LONGEST = Duration.ofSeconds(3);

  @Spec
  @SuppressWarnings("NullAway.Init") // set by picocli before the command runs
  private CommandSpec spec;

  @Option(
      names = "--minutes",
      paramLabel = "N",
      defaultValue = "0",
      description = "go on for so long; each fault once at least (${DEFAULT-VALUE})")
  private long minutes;

  @Option(
      names = "--seed",
      paramLabel = "S",
      description = "order and details of the faults; another each time if absent")
  private long seed = System.nanoTime();

  @Option(
      names = "--fault",
      paramLabel = "NAME",
      description = "only this fault; may be repeated. --faults lists them")
  private List<String> only = new ArrayList<>();

  @Option(
      names = "--brokers",
      paramLabel = "N",
      defaultValue = "3",
      description = "1 or 3 (${DEFAULT-VALUE}); with 1 the faults that need more are left out")
  private int brokers;

  @Option(
      names = "--longest",
      paramLabel = "D",
      description = "longest that a fault lasts, PT3S at least (${DEFAULT-VALUE})")
  private Duration longest = Duration.ofSeconds(15);

  @Option(names = "--faults", description = "list the faults and end")
  private boolean list;

  @Option(
      names = "--keep",
      paramLabel = "FOLDER",
      description = "keep data and logs of all processes there; a new or empty folder")
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
          spec.commandLine(), "--longest must be " + LEAST_LONGEST + " at least");
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
      return new Chaos(folder, brokers, only, longest, seed, progress);
    } catch (IllegalArgumentException unknown) {
      throw new ParameterException(
          spec.commandLine(), String.valueOf(unknown.getMessage()), unknown);
    }
  }

  /** Shows a bar on the error output, and prints a line for each round on the output. */
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
