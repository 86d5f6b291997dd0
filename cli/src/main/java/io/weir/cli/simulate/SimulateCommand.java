// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.simulate;

import io.weir.cli.console.Bars;
import io.weir.cli.console.Terminal;
import io.weir.ingest.policy.PolicyFile;
import io.weir.limits.policy.PolicySet;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import me.tongfei.progressbar.ProgressBar;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Compares algorithms, or tests policies, with generated or recorded traffic. */
@Command(
    name = "simulate",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Compare algorithms with the exact sliding window, call by call, on the same traffic. For "
          + "each algorithm, print three numbers of calls: admitted, admitted above the limit, and "
          + "denied below the limit. Also print the algorithm's maximum number of admitted calls "
          + "in a window, and the mean error of its count as a fraction of the limit.",
      "With --policies: print which clients of recorded traffic the policies would have limited, and how often.",
      "The traffic is generated (--traffic), read from a web server's access log (--log), or recorded in "
          + "weir.calls.v1 (--from, --to; needs WEIR_KAFKA). The log has the common or combined format. The "
          + "client is the user, or else the host; the endpoint is the method and the path.",
      "Changes neither policies nor buckets."
    },
    exitCodeListHeading = "%nExit status:%n",
    exitCodeList = {
      "0:done",
      "1:a file cannot be read or written, or has no call; or a policy file is wrong",
      "2:an option is wrong"
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  weir simulate",
      "  weir simulate --traffic poisson --limit 1000 --window PT1H --html poisson.html",
      "  weir simulate --log access.log --limit 100 --window PT1M",
      "  weir simulate --policies policies.yml --log access.log",
      "  weir simulate --policies new.yml --from 2026-11-16T00:00:00Z --to 2026-11-23T00:00:00Z"
    })
public final class SimulateCommand implements Callable<Integer> {
  private static final int FAILED = 1;
  private static final long MICROS_PER_SECOND = 1_000_000;
  private static final int MAX_MADE_CALLS = 10_000_000;
  private static final double MOST_CALLS_PER_LIMIT = 2;
  private static final Duration MAX_WINDOW = Duration.ofDays(1);

  @Mixin private final Terminal terminal = new Terminal();

  @Option(
      names = "--algorithms",
      paramLabel = "A,B",
      defaultValue = SimulatedAlgorithm.DEFAULT,
      description = {
        "algorithms to compare (${DEFAULT-VALUE}): " + SimulatedAlgorithm.NAMES,
      })
  private String algorithms = SimulatedAlgorithm.DEFAULT;

  @Option(
      names = "--limit",
      paramLabel = "N",
      defaultValue = "100",
      description = "calls allowed in a window, 1 to 1000000 (${DEFAULT-VALUE})")
  private long limit;

  @Option(
      names = "--window",
      paramLabel = "D",
      defaultValue = "PT1M",
      description = "length of a window, whole seconds, PT1S to PT24H (${DEFAULT-VALUE})")
  private Duration window = Duration.ofMinutes(1);

  @Option(
      names = "--traffic",
      paramLabel = "SHAPE",
      description = {
        "shape of generated traffic (edge): steady, bursty, edge (the limit's number of calls just "
            + "before the end of a window, and again just after it), on-off, poisson"
      })
  private @Nullable String traffic;

  @Option(
      names = "--windows",
      paramLabel = "N",
      defaultValue = "30",
      description = "length of the generated traffic, in windows, 1 to 100000 (${DEFAULT-VALUE})")
  private int windows;

  @Option(
      names = "--seed",
      paramLabel = "S",
      defaultValue = "1",
      description =
          "seed of random traffic: the same seed generates the same calls (${DEFAULT-VALUE})")
  private long seed;

  @Option(names = "--log", paramLabel = "FILE", description = "read the calls from this access log")
  private @Nullable Path log;

  @Option(
      names = "--from",
      paramLabel = "T",
      description = "read recorded calls decided at or after this RFC 3339 time")
  private @Nullable Instant from;

  @Option(
      names = "--to",
      paramLabel = "T",
      description = "read recorded calls decided before this RFC 3339 time")
  private @Nullable Instant to;

  @Option(
      names = "--html",
      paramLabel = "FILE",
      description = "also write an HTML page with charts of the client with the most calls")
  private @Nullable Path html;

  @Option(
      names = "--policies",
      paramLabel = "FILE",
      description =
          "apply these policies to the log or the recorded calls, instead of comparing algorithms")
  private @Nullable Path policies;

  @Override
  public Integer call() {
    check();
    try {
      return policies == null ? compare() : tryPolicies(policies);
    } catch (IOException failed) {
      terminal.warn(failed.getClass().getSimpleName() + ": " + failed.getMessage());
      return FAILED;
    }
  }

  private void check() {
    terminal.require(
        limit >= 1 && limit <= 1_000_000, "--limit must be 1 to 1000000, but is " + limit);
    terminal.require(
        windows >= 1 && windows <= 100_000, "--windows must be 1 to 100000, but is " + windows);
    terminal.require(
        window.compareTo(Duration.ofSeconds(1)) >= 0
            && window.compareTo(MAX_WINDOW) <= 0
            && window.toNanosPart() == 0,
        "--window must be whole seconds from PT1S to PT24H, but is " + window);
    terminal.require((from == null) == (to == null), "--from and --to must be given together");
    Path folder = html == null ? null : html.toAbsolutePath().getParent();
    terminal.require(
        folder == null || Files.isDirectory(folder),
        "the folder of --html must exist, but does not: " + html);
    terminal.require(from == null || to == null || from.isBefore(to), "--from must be before --to");
    terminal.require(
        (log == null ? 0 : 1) + (traffic == null ? 0 : 1) + (from == null ? 0 : 1) <= 1,
        "give only one of --traffic, --log, and --from with --to");
    terminal.require(
        policies == null || log != null || from != null,
        "--policies needs --log, or --from and --to");
    terminal.require(
        policies == null || html == null,
        "--html is for the comparison of algorithms, not for --policies");
    terminal.require(
        log != null || from != null || limit * windows * MOST_CALLS_PER_LIMIT <= MAX_MADE_CALLS,
        "--limit times --windows must be at most "
            + (long) (MAX_MADE_CALLS / MOST_CALLS_PER_LIMIT));
  }

  /**
   * Returns the calls in order of time. If there are none, prints an error message and returns
   * null.
   */
  private @Nullable List<SimulatedCall> calls() throws IOException {
    if (from != null && to != null) {
      return recorded(from, to);
    }
    Path file = log;
    if (file == null) {
      List<SimulatedCall> made =
          shape().calls(limit, window.toSeconds() * MICROS_PER_SECOND, windows, seed);
      if (made.isEmpty()) {
        terminal.warn("this traffic has no call in so few windows: increase --windows");
        return null;
      }
      return made;
    }
    AccessLog.Read read;
    try (ProgressBar bar = Bars.named("reading").setInitialMax(Files.size(file)).build()) {
      read = AccessLog.read(file, bar::stepTo);
    }
    if (read.unread() > 0) {
      terminal.warn(
          (read.unread() == 1
                  ? "1 line cannot be"
                  : String.format("%,d lines cannot be", read.unread()))
              + " read as calls, the first is line "
              + read.firstUnread());
    }
    if (read.calls().isEmpty()) {
      terminal.warn(file + " has no call in common or combined format");
      return null;
    }
    return read.calls();
  }

  private @Nullable List<SimulatedCall> recorded(Instant begin, Instant end) {
    RecordedCalls recorded;
    try (ProgressBar bar = Bars.named("reading").build()) {
      recorded =
          RecordedCalls.read(
              terminal.weir().kafka(),
              begin,
              end,
              (what, done, total) -> Bars.show(bar, what, done, total));
    }
    if (recorded.unread() > 0) {
      terminal.warn(
          (recorded.unread() == 1 ? "1 line is" : String.format("%,d lines are", recorded.unread()))
              + " skipped because they cannot be read");
    }
    if (recorded.calls().isEmpty()) {
      terminal.warn("no call was recorded from " + begin + " to " + end);
      return null;
    }
    return recorded.calls();
  }

  private TrafficShape shape() {
    String name = traffic == null ? "edge" : traffic;
    for (TrafficShape shape : TrafficShape.values()) {
      if (word(shape).equals(name)) {
        return shape;
      }
    }
    throw terminal.wrong(
        "--traffic must be one of steady, bursty, edge, on-off, poisson, but is '" + name + "'");
  }

  private static String word(TrafficShape shape) {
    return shape.name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  private int compare() throws IOException {
    List<SimulatedAlgorithm> compared;
    try {
      compared = SimulatedAlgorithm.ofNames(algorithms, limit, window);
    } catch (IllegalArgumentException wrong) {
      throw terminal.wrong("--algorithms: " + wrong.getMessage());
    }
    List<SimulatedCall> calls = calls();
    if (calls == null) {
      return FAILED;
    }
    AlgorithmComparison comparison;
    long total = (long) calls.size() * compared.size();
    try (ProgressBar bar = Bars.named("simulating").setInitialMax(total).build()) {
      comparison =
          new AlgorithmComparison(compared, calls, limit, window, trafficShown(), bar::step);
    }
    comparison.print(terminal.out());
    if (html != null) {
      Files.writeString(html, comparison.page());
      terminal.out().println(html + " has the charts");
    }
    return 0;
  }

  private String trafficShown() {
    if (from != null) {
      return "recorded from " + from + " to " + to;
    }
    return log == null ? shape().words() : String.valueOf(log.getFileName());
  }

  private int tryPolicies(Path file) throws IOException {
    if (!(PolicyFile.read(file) instanceof PolicyFile.Content.Valid valid)) {
      terminal.warn(file + " is wrong: 'weir policies check " + file + "' prints the problems");
      return FAILED;
    }
    PolicySet set = valid.policies();
    List<SimulatedCall> calls = calls();
    if (calls == null) {
      return FAILED;
    }
    try (PolicyTrial trial = new PolicyTrial(set)) {
      try (ProgressBar bar = Bars.named("deciding").setInitialMax(calls.size()).build()) {
        for (SimulatedCall call : calls) {
          trial.decide(call);
          bar.step();
        }
      }
      trial.print(calls, terminal.out());
    }
    return 0;
  }
}
