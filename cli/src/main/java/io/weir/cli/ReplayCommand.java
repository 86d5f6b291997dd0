// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.weir.cli.replay.CallReplay;
import io.weir.cli.replay.Cause;
import io.weir.cli.replay.LogReplay;
import io.weir.cli.replay.PolicyVersions;
import io.weir.cli.replay.ReplayReport;
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
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Decides recorded calls again and compares the verdicts. */
@Command(
    name = "replay",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Decide recorded calls again, under the policies of their recorded version, and compare: "
          + "each verdict must follow from what the records say of its buckets before, and each "
          + "bucket and limit from the policies.",
      "Every difference is named by its cause; one that nothing explains is UNEXPLAINED. Changes "
          + "nothing, and has nothing to do with 'weir quarantine replay', which sends refused "
          + "records again."
    },
    exitCodeListHeading = "%nExit status:%n",
    exitCodeList = {
      "0:every verdict is the same, or differs for a named cause",
      "1:a difference is UNEXPLAINED; or Kafka or the disk failed",
      "2:an option or a variable is wrong",
      "3:nothing is unexplained, but calls of the range may be missing; each reason is named "
          + "behind UNPROVEN"
    },
    footerHeading = "%nCauses of differences:%n",
    footer = {
      "  correction     a correction changed the bucket; the comparison goes on from its new stamp",
      "  fresh-epoch    Redis lost the bucket, which began full too early",
      "  limit-changed  the bucket had another limit before",
      "  gap            tokens were charged without a record: a node died, the rest of a lease",
      "  overlap        Redis went back behind its own charges: a failover, old data",
      "  clock          Redis' clock went back by more than a fill time, or behind the epoch",
      "  lease          the call took tokens of a lease; its stamp follows",
      "  deny-cache     a later change may explain a repeated denial, or no record confirms it",
      "",
      "Not compared:",
      "  failure-mode      Redis did not decide: only policies and on_cache_failure are compared",
      "  not-recorded      the records do not have the bucket, or an old stamp has no limit",
      "  before-range      the first record of an epoch that began before the range",
      "  policies-unknown  the version is gone, or is 0 without --policies (as of usage events)",
      "  unknowable        a policy looks at the address or at attributes, or more than 16 match",
      "  cut-time          the bucket fills in more than 142 years, which the record cuts",
      "",
      "Example:",
      "  weir replay --check --from 2026-11-16T00:00:00Z --to 2026-11-17T00:00:00Z"
    })
final class ReplayCommand implements Callable<Integer> {
  private static final int DIFFERS = 1;
  private static final int IS_UNPROVEN = 3;
  private static final int MAX_THREADS = 8;

  @ParentCommand
  @SuppressWarnings("NullAway.Init") // set by picocli before a command runs
  private WeirCommand weir;

  @Spec
  @SuppressWarnings("NullAway.Init") // set by picocli before a command runs
  private CommandSpec spec;

  @Option(
      names = "--check",
      required = true,
      description = "compare only; there is nothing else that it does")
  private boolean check;

  @Option(
      names = "--from",
      required = true,
      paramLabel = "T",
      description = "calls decided at or after this RFC 3339 time")
  private Instant from = Instant.EPOCH;

  @Option(names = "--to", required = true, paramLabel = "T", description = "and before this one")
  private Instant to = Instant.EPOCH;

  @Option(names = "--client", paramLabel = "C", description = "this client only")
  private @Nullable String client;

  @Option(
      names = "--policies",
      paramLabel = "FILE",
      description =
          "the policies of version 0, by which a node decides that has none but its file; else "
              + "the matching of such calls is not checked")
  private @Nullable Path policies;

  @Option(
      names = "--scratch",
      paramLabel = "F",
      description =
          "folder for what is sorted while it runs: 80 bytes for each recorded bucket (the "
              + "system's temporary folder)")
  private Path scratch = Path.of(System.getProperty("java.io.tmpdir"));

  @Option(names = "--json", description = "print one JSON object")
  private boolean json;

  @Override
  public Integer call() {
    require(check, "--check must be given: it is all that 'weir replay' does");
    require(from.isBefore(to), "--from must be before --to");
    require(
        Files.isDirectory(scratch), "--scratch must be a folder that exists, is '" + scratch + "'");
    PolicySet ofFile = file();
    ReplayReport report = run(new PolicyVersions(published(), ofFile));
    if (json) {
      printJson(report);
    } else {
      print(report);
    }
    if (client != null && report.calls() == 0) {
      err("no call of the client '" + client + "' stands in the range");
    }
    if (report.unexplained() > 0) {
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
      throw new ParameterException(
          spec.commandLine(), "--policies: " + PolicyFile.reason(unreadable));
    }
    throw new ParameterException(
        spec.commandLine(),
        "--policies: " + file + " is wrong: weir policies check " + file + " says why");
  }

  private List<PolicyEntry> published() {
    List<PolicyEntry> entries = new ArrayList<>();
    String problem = new PublishedPolicies(weir.kafka()).readChanges(entries::add);
    if (problem != null) {
      err("the newest policies cannot be decided by: " + problem);
    }
    return entries;
  }

  private ReplayReport run(PolicyVersions versions) {
    int threads = Math.min(MAX_THREADS, Runtime.getRuntime().availableProcessors());
    LogReplay replay =
        new LogReplay(
            weir.kafka(), new CallReplay.Settings(from, to, client, scratch, threads), versions);
    try (ProgressBar bar = Bars.named("replay").build()) {
      return replay.run((what, done, total) -> Bars.show(bar, what, done, total));
    } catch (IOException | UncheckedIOException failed) {
      throw new CommandFailedException(
          "what is sorted could not be kept (--scratch " + scratch + "): " + reason(failed),
          failed);
    }
  }

  /** Returns the reason with its kind: the message may be the name of a file alone. */
  private static String reason(Exception failed) {
    Throwable cause = failed.getCause();
    return (cause == null ? failed : cause).toString();
  }

  private void print(ReplayReport report) {
    PrintWriter out = spec.commandLine().getOut();
    out.printf(
        "decided again %s (%d allowed, %d denied)%n",
        PolicyText.count(report.calls(), "call", "calls"),
        report.allowed(),
        report.calls() - report.allowed());
    new TreeMap<>(report.callsByDecider())
        .forEach((by, calls) -> out.printf("  by %-12s %,d%n", by, calls));
    out.printf(
        "equal: policies of %s, stamps of %s, %s%n",
        PolicyText.count(report.equalCalls(), "call", "calls"),
        PolicyText.count(report.equalStamps(), "bucket", "buckets"),
        PolicyText.count(report.equalDenials(), "repeated denial", "repeated denials"));
    if (report.repeatedRows() > 0) {
      out.printf("stand twice, and were judged once: %d%n", report.repeatedRows());
    }
    if (report.unreadable() > 0) {
      out.printf(
          "%s%n", PolicyText.count(report.unreadable(), "unreadable line", "unreadable lines"));
    }
    for (Map.Entry<Cause, Long> each : new TreeMap<>(report.causes()).entrySet()) {
      Cause cause = each.getKey();
      out.printf(
          "%s %-17s %,d  %s%s%n",
          cause.isDifference() ? "explained" : "not compared",
          cause.shown(),
          each.getValue(),
          cause.meaning(),
          cause == Cause.GAP ? " (" + report.gapTokens() + " tokens)" : "");
    }
    for (ReplayReport.Difference each : report.differences()) {
      out.printf(
          "UNEXPLAINED %s %s client %s%s %s: recorded %s; decided again: %s%n",
          each.place(),
          each.at(),
          each.client(),
          each.bucket().isEmpty() ? "" : " bucket " + each.bucket(),
          each.what(),
          each.recorded(),
          each.again());
    }
    if (report.unexplained() > report.differences().size()) {
      out.printf("UNEXPLAINED and %d more%n", report.unexplained() - report.differences().size());
    }
    report.unproven().forEach(reason -> out.println("UNPROVEN " + reason));
    out.printf("%d unexplained%n", report.unexplained());
    out.flush();
  }

  private void printJson(ReplayReport report) {
    ObjectMapper mapper = new ObjectMapper();
    ObjectNode root = mapper.createObjectNode();
    root.put("from", from.toString()).put("to", to.toString());
    root.put("calls", report.calls()).put("allowed", report.allowed());
    ObjectNode by = root.putObject("decided_by");
    report.callsByDecider().forEach(by::put);
    root.put("equal_calls", report.equalCalls())
        .put("equal_stamps", report.equalStamps())
        .put("equal_repeated_denials", report.equalDenials())
        .put("repeated", report.repeatedRows())
        .put("unreadable", report.unreadable());
    ObjectNode explained = root.putObject("explained");
    ObjectNode notCompared = root.putObject("not_compared");
    new TreeMap<>(report.causes())
        .forEach(
            (cause, count) ->
                (cause.isDifference() ? explained : notCompared).put(cause.shown(), count));
    root.put("gap_tokens", report.gapTokens()).put("unexplained", report.unexplained());
    ArrayNode differences = root.putArray("differences");
    for (ReplayReport.Difference each : report.differences()) {
      differences
          .addObject()
          .put("place", each.place())
          .put("decided_at", each.at().toString())
          .put("client", each.client())
          .put("bucket", each.bucket())
          .put("what", each.what())
          .put("recorded", each.recorded())
          .put("decided_again", each.again());
    }
    ArrayNode unproven = root.putArray("unproven");
    report.unproven().forEach(unproven::add);
    PrintWriter out = spec.commandLine().getOut();
    out.println(root);
    out.flush();
  }

  private void err(String message) {
    PrintWriter err = spec.commandLine().getErr();
    err.println("weir: " + message);
    err.flush();
  }

  private void require(boolean holds, String otherwise) {
    if (!holds) {
      throw new ParameterException(spec.commandLine(), otherwise);
    }
  }
}
