// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.weir.cli.console.Bars;
import io.weir.cli.console.CommandFailedException;
import io.weir.cli.console.PolicyText;
import io.weir.cli.console.PublishedPolicies;
import io.weir.cli.console.Terminal;
import io.weir.ingest.policy.PolicyFile;
import io.weir.ingest.policy.log.PolicyEntry;
import io.weir.limits.policy.PolicySet;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import me.tongfei.progressbar.ProgressBar;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Decides recorded calls again and compares the verdicts. */
@Command(
    name = "replay",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Decide recorded calls again with the recorded version of the policies, and compare the "
          + "results. Each verdict must follow from the earlier records of its buckets. Each bucket "
          + "and limit must follow from the policies.",
      "Each difference is printed with its cause; a difference without a known cause is UNEXPLAINED. "
          + "The command changes nothing. It is unrelated to 'weir quarantine replay', which sends "
          + "refused records again."
    },
    exitCodeListHeading = "%nExit status:%n",
    exitCodeList = {
      "0:all verdicts are the same, or differ for a known cause",
      "1:a difference is UNEXPLAINED; or Kafka or the disk failed",
      "2:an option or a variable is wrong",
      "3:no difference is UNEXPLAINED, but calls of the range may be missing; each reason follows "
          + "UNPROVEN"
    },
    footerHeading = "%nCauses of differences:%n",
    footer = {
      "  correction     a correction changed the bucket; the comparison continues from the new stamp",
      "  fresh-epoch    Redis lost the bucket, which became full too early",
      "  limit-changed  the bucket had a different limit before",
      "  gap            tokens were charged without a record: a node died, or a lease was not used up",
      "  overlap        Redis lost its newest charges: a failover, or old data",
      "  clock          Redis' clock stepped back by more than a fill time, or to before the epoch",
      "  lease          tokens of a lease: its recorded time to full is rounded up",
      "  deny-cache     a later change may explain a repeated denial, or no record confirms it",
      "",
      "Not compared:",
      "  failure-mode      Redis did not decide: only policies and on_cache_failure are compared",
      "  not-recorded      the record does not have the bucket, or an old stamp has no limit",
      "  before-range      the first record of an epoch that began before the range",
      "  policies-unknown  the version was deleted, or is 0 without --policies (usage events have 0)",
      "  unknowable        a policy depends on the address or on attributes, or more than 16 match",
      "  cut-time          a record has a time to full of at most 142 years, and the bucket takes longer",
      "",
      "Example:",
      "  weir replay --check --from 2026-11-16T00:00:00Z --to 2026-11-17T00:00:00Z"
    })
public final class ReplayCommand implements Callable<Integer> {
  private static final int DIFFERS = 1;
  private static final int IS_UNPROVEN = 3;
  private static final int MAX_THREADS = 8;

  @Mixin private final Terminal terminal = new Terminal();

  @Option(
      names = "--check",
      required = true,
      description = "compare, and change nothing; required, because there is no other mode")
  private boolean check;

  @Option(
      names = "--from",
      required = true,
      paramLabel = "T",
      description = "compare calls decided at or after this RFC 3339 time")
  private Instant from = Instant.EPOCH;

  @Option(
      names = "--to",
      required = true,
      paramLabel = "T",
      description = "compare calls decided before this RFC 3339 time")
  private Instant to = Instant.EPOCH;

  @Option(names = "--client", paramLabel = "C", description = "compare only calls of this client")
  private @Nullable String client;

  @Option(
      names = "--policies",
      paramLabel = "FILE",
      description =
          "the policies of version 0, which a node uses when only its file has policies; without "
              + "this option the matching of such calls is not checked")
  private @Nullable Path policies;

  @Option(
      names = "--scratch",
      paramLabel = "F",
      description =
          "folder for temporary files, which need 80 bytes for each recorded bucket (the system's "
              + "temporary folder)")
  private Path scratch = Path.of(System.getProperty("java.io.tmpdir"));

  @Option(names = "--json", description = "print one JSON object")
  private boolean json;

  @Override
  public Integer call() {
    terminal.require(check, "--check must be given: 'weir replay' has no other mode");
    terminal.require(from.isBefore(to), "--from must be before --to");
    terminal.require(
        Files.isDirectory(scratch),
        "--scratch must be an existing folder, but is '" + scratch + "'");
    PolicySet ofFile = file();
    ReplayReport report = run(new PolicyVersions(published(), ofFile));
    ReplayTally tally = report.tally();
    if (json) {
      printJson(report);
    } else {
      print(report);
    }
    if (client != null && tally.calls() == 0) {
      terminal.warn("the range has no call of the client '" + client + "'");
    }
    if (tally.unexplained > 0) {
      return DIFFERS;
    }
    return report.unproven().isEmpty() ? 0 : IS_UNPROVEN;
  }

  private @Nullable PolicySet file() {
    Path file = policies;
    if (file == null) {
      return null;
    }
    try {
      if (PolicyFile.read(file) instanceof PolicyFile.Content.Valid valid) {
        return valid.policies();
      }
    } catch (IOException unreadable) {
      throw terminal.wrong("--policies: " + PolicyFile.reason(unreadable));
    }
    throw terminal.wrong(
        "--policies: "
            + file
            + " is wrong: 'weir policies check "
            + file
            + "' prints the problems");
  }

  private List<PolicyEntry> published() {
    List<PolicyEntry> entries = new ArrayList<>();
    String problem = new PublishedPolicies(terminal.weir().kafka()).readChanges(entries::add);
    if (problem != null) {
      terminal.warn("the newest policies are invalid: " + problem);
    }
    return entries;
  }

  private ReplayReport run(PolicyVersions versions) {
    int threads = Math.min(MAX_THREADS, Runtime.getRuntime().availableProcessors());
    LogReplay replay =
        new LogReplay(
            terminal.weir().kafka(),
            new CallReplay.Settings(from, to, client, scratch, threads),
            versions);
    try (ProgressBar bar = Bars.named("replay").build()) {
      return replay.run((what, done, total) -> Bars.show(bar, what, done, total));
    } catch (IOException | UncheckedIOException failed) {
      throw new CommandFailedException(
          "could not write temporary files (--scratch " + scratch + "): " + reason(failed), failed);
    }
  }

  /** Returns the reason with the exception's class, since the message may be only a file name. */
  private static String reason(Exception failed) {
    Throwable cause = failed.getCause();
    return (cause == null ? failed : cause).toString();
  }

  private void print(ReplayReport report) {
    ReplayTally tally = report.tally();
    PrintWriter out = terminal.out();
    out.printf(
        "decided again %s (%d allowed, %d denied)%n",
        PolicyText.count(tally.calls(), "call", "calls"),
        tally.allowed,
        tally.calls() - tally.allowed);
    new TreeMap<>(tally.callsByDecider())
        .forEach((by, calls) -> out.printf("  by %-12s %,d%n", by, calls));
    out.printf(
        "equal: policies of %s, stamps of %s, %s%n",
        PolicyText.count(tally.equalCalls, "call", "calls"),
        PolicyText.count(tally.equalStamps, "bucket", "buckets"),
        PolicyText.count(tally.equalDenials, "repeated denial", "repeated denials"));
    if (tally.repeatedRows > 0) {
      out.printf("stamps recorded twice, and compared once: %d%n", tally.repeatedRows);
    }
    if (tally.unreadable > 0) {
      out.printf("%s%n", PolicyText.count(tally.unreadable, "unreadable line", "unreadable lines"));
    }
    for (Map.Entry<Cause, Long> each : new TreeMap<>(tally.causes()).entrySet()) {
      Cause cause = each.getKey();
      out.printf(
          "%s %-17s %,d  %s%s%n",
          cause.isDifference() ? "explained" : "not compared",
          cause.shown(),
          each.getValue(),
          cause.meaning(),
          cause == Cause.GAP ? " (" + tally.gapTokens + " tokens)" : "");
    }
    for (ReplayReport.Difference each : report.differences()) {
      out.printf(
          "UNEXPLAINED %s %s client %s%s %s: recorded %s; decided again: %s%n",
          Row.shown(each.finding().place()),
          each.finding().at(),
          each.client(),
          each.bucket().isEmpty() ? "" : " bucket " + each.bucket(),
          each.finding().what(),
          each.finding().recorded(),
          each.finding().again());
    }
    if (tally.unexplained > report.differences().size()) {
      out.printf("UNEXPLAINED and %d more%n", tally.unexplained - report.differences().size());
    }
    report.unproven().forEach(reason -> out.println("UNPROVEN " + reason));
    out.printf("%d unexplained%n", tally.unexplained);
  }

  private void printJson(ReplayReport report) {
    ReplayTally tally = report.tally();
    ObjectMapper mapper = new ObjectMapper();
    ObjectNode root = mapper.createObjectNode();
    root.put("from", from.toString()).put("to", to.toString());
    root.put("calls", tally.calls()).put("allowed", tally.allowed);
    ObjectNode by = root.putObject("decided_by");
    tally.callsByDecider().forEach(by::put);
    root.put("equal_calls", tally.equalCalls)
        .put("equal_stamps", tally.equalStamps)
        .put("equal_repeated_denials", tally.equalDenials)
        .put("repeated", tally.repeatedRows)
        .put("unreadable", tally.unreadable);
    ObjectNode explained = root.putObject("explained");
    ObjectNode notCompared = root.putObject("not_compared");
    new TreeMap<>(tally.causes())
        .forEach(
            (cause, count) ->
                (cause.isDifference() ? explained : notCompared).put(cause.shown(), count));
    root.put("gap_tokens", tally.gapTokens).put("unexplained", tally.unexplained);
    ArrayNode differences = root.putArray("differences");
    for (ReplayReport.Difference each : report.differences()) {
      differences
          .addObject()
          .put("place", Row.shown(each.finding().place()))
          .put("decided_at", each.finding().at().toString())
          .put("client", each.client())
          .put("bucket", each.bucket())
          .put("what", each.finding().what())
          .put("recorded", each.finding().recorded())
          .put("decided_again", each.finding().again());
    }
    ArrayNode unproven = root.putArray("unproven");
    report.unproven().forEach(unproven::add);
    terminal.out().println(root);
  }
}
