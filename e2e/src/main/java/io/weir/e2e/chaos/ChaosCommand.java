// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Injects faults into separate processes under load, and audits what callers were told. */
@Command(
    name = "chaos",
    mixinStandardHelpOptions = true,
    description = {
      "Injects faults into a broker, Redis, two ingest nodes and two aggregators, each a process of",
      "its own, under load; then compares what callers were told with the audit log, the ledger,",
      "every aggregator's reports and `weir verify`. Each fault comes once, then random ones.",
      "Exit 0 when nothing was lost, doubled or wrongly reported, else 1 and every difference."
    })
public final class ChaosCommand implements Callable<Integer> {
  private static final Duration LONGEST_FAULT = Duration.ofSeconds(15);

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
      Chaos.names().forEach(out::println);
      out.flush();
      return 0;
    }
    if (minutes < 0) {
      throw new ParameterException(spec.commandLine(), "--minutes must not be negative");
    }
    Path folder = folder();
    out.println("seed " + seed + ", data and logs in " + folder);
    out.flush();
    Instant begun = Instant.now();
    Chaos.Outcome outcome;
    try (ProgressBar bar =
        new ProgressBarBuilder()
            .setTaskName("chaos")
            .setUnit(" s", 1)
            .setInitialMax(Math.max(1, minutes * 60))
            .setStyle(ProgressBarStyle.ASCII)
            .setUpdateIntervalMillis(1_000)
            .build()) {
      outcome = chaos(folder, bar, begun).run(Duration.ofMinutes(minutes));
    }
    outcome.details().forEach(out::println);
    outcome.print(out);
    return outcome.isRight() ? 0 : 1;
  }

  private Chaos chaos(Path folder, ProgressBar bar, Instant begun) {
    try {
      return new Chaos(
          folder,
          only,
          LONGEST_FAULT,
          seed,
          (round, fault) -> {
            bar.stepTo(Duration.between(begun, Instant.now()).toSeconds());
            bar.setExtraMessage(round + ": " + fault);
          });
    } catch (IllegalArgumentException unknown) {
      throw new ParameterException(
          spec.commandLine(), String.valueOf(unknown.getMessage()), unknown);
    }
  }

  private Path folder() throws IOException {
    return keep.isEmpty()
        ? Files.createTempDirectory("weir-chaos-")
        : Files.createDirectories(Path.of(keep));
  }
}
