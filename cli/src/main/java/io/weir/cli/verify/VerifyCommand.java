// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import io.weir.cli.console.Bars;
import io.weir.cli.console.CommandFailedException;
import io.weir.cli.console.PolicyText;
import io.weir.cli.console.Terminal;
import io.weir.topics.catalog.Topics;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import me.tongfei.progressbar.ProgressBar;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * Recounts the calls and compares the result with the ledger, the state topic and the quarantine.
 */
@Command(
    name = "verify",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Recount the calls and compare them with the ledger, the state topic and the "
          + "quarantine.",
      "Applies its own rules to the calls, and shares no code with the aggregator. Needs WEIR_KAFKA, "
          + "WEIR_WINDOW if the ledger's window is not PT15M, and the same WEIR_LATENESS and "
          + "WEIR_QUARANTINE_RECORDS as the aggregators."
    },
    exitCodeListHeading = "%nExit status:%n",
    exitCodeList = {
      "0:the range is closed and complete, and everything agrees",
      "1:there are differences (each is printed after DIFFERS); or Kafka or the disk failed",
      "2:an option or a variable is wrong",
      "3:no difference so far, but the range is not closed yet, or calls of it may be missing;"
          + " each reason is printed after UNPROVEN"
    },
    footerHeading = "%nDifferences:%n",
    footer = {
      "  calls         a call of a closed window is lost, counted twice or changed",
      "  rows          counts, digest, offsets, policies_version or duplicates_dropped do not match",
      "                the calls of the row; an adjustment is missing or not expected",
      "  members       members of a row contradict each other or the key, or are not expected",
      "  sequence      a row is repeated, unreadable, not after its previous revision, or after the",
      "                CLOSE of its window; quantity_total or a control total is wrong",
      "  boundaries    closed_through_ms is after the record's time, not the end of a window, or not",
      "                the boundary of a CLOSE",
      "  complete      the member contradicts the journals in the log, the CLOSE, or the state topic",
      "  emitted_at    more than a day before closed_through_ms, or in the future",
      "  periods       the billing period does not match schema_version, window or zone, or has more",
      "                than 32 days",
      "  endpoints     an endpoint lacks its own row, or has one that it should not have",
      "  state topic   a row is missing, erased although Kafka has its calls, or differs from the ledger",
      "  quarantine    a refused record is missing, changed, there twice, or valid; a replayed line",
      "                was not refused, was changed, or is not marked as counted",
      "  progress      counters differ, although the log still has its first record",
      "  positions     two lines have the same position: a journal was restored; both are counted",
      "  settlements   a settlement of a call that was not counted before is not in the quarantine"
    })
public final class VerifyCommand implements Callable<Integer> {
  private static final int DIFFERS = 1;
  private static final int IS_UNPROVEN = 3;

  @Mixin private final Terminal terminal = new Terminal();

  @Option(
      names = "--from",
      required = true,
      paramLabel = "T",
      description = "start of the first window, RFC 3339 (2026-11-21T00:00:00Z)")
  private Instant from = Instant.EPOCH;

  @Option(
      names = "--to",
      required = true,
      paramLabel = "T",
      description = "end of the last window, RFC 3339")
  private Instant to = Instant.EPOCH;

  @Option(names = "--client", paramLabel = "C", description = "verify only this client")
  private @Nullable String client;

  @Option(
      names = "--wait",
      paramLabel = "D",
      defaultValue = "PT1M",
      description =
          "maximum time to wait until the aggregator has counted the range (${DEFAULT-VALUE})")
  private Duration timeout = Duration.ofMinutes(1);

  @Option(
      names = "--after-reset",
      description =
          "accept rows and quarantined records that are written twice with the same content, as after"
              + " a reset of the aggregator; otherwise they are differences")
  private boolean afterReset;

  @Option(
      names = "--scratch",
      paramLabel = "F",
      description =
          "folder for temporary files (default: the system's temporary folder). They take about 60"
              + " bytes for each id that a caller chose, and 12 bytes for each call")
  private Path scratch = Path.of(System.getProperty("java.io.tmpdir"));

  @Override
  public Integer call() {
    terminal.require(from.isBefore(to), "--from must be before --to");
    terminal.require(!timeout.isNegative(), "--wait must not be negative, but is " + timeout);
    terminal.require(
        Files.isDirectory(scratch),
        "--scratch must be an existing folder, but is '" + scratch + "'");
    Duration window = terminal.weir().duration("WEIR_WINDOW", Duration.ofMinutes(15));
    noteWindows(window);
    Verification found = verify(new Verifier(settings(window)));
    print(terminal.out(), found);
    if (client != null && found.calls() == 0) {
      terminal.warn("the range has no call of the client '" + client + "'");
    }
    return switch (found.outcome()) {
      case EQUAL -> 0;
      case DIFFERENT -> DIFFERS;
      case UNPROVEN -> IS_UNPROVEN;
    };
  }

  /**
   * Prints a note if the range does not consist of whole windows. Only windows that start in the
   * range are verified.
   */
  private void noteWindows(Duration window) {
    Range range = Range.of(from, to, window.toMillis(), client);
    Instant first = Instant.ofEpochMilli(range.fromEpochMillis());
    Instant last = Instant.ofEpochMilli(range.endEpochMillis());
    terminal.require(
        first.isBefore(last),
        "no window of " + window + " (WEIR_WINDOW) starts between --from and --to");
    if (!first.equals(from) || !last.equals(to)) {
      terminal.warn(
          ("--from and --to are not both starts of windows of %s (WEIR_WINDOW); verifying the"
                  + " windows from %s to %s")
              .formatted(window, first, last));
    }
  }

  private Verifier.Settings settings(Duration window) {
    return new Verifier.Settings(
        terminal.weir().kafka(),
        window,
        terminal.weir().duration("WEIR_LATENESS", Topics.LATENESS),
        timeout,
        Stream.of(terminal.weir().setting("WEIR_QUARANTINE_RECORDS", "").split(",", -1))
            .map(String::strip)
            .collect(Collectors.toSet()),
        afterReset,
        scratch);
  }

  private Verification verify(Verifier verifier) {
    try (ProgressBar bar = Bars.named("verify").build()) {
      return verifier.verify(
          from, to, client, (what, done, total) -> Bars.show(bar, what, done, total));
    } catch (IOException | UncheckedIOException failed) {
      throw new CommandFailedException(
          "could not write temporary files (--scratch): " + failed.getMessage(), failed);
    }
  }

  /** Prints the result for a person. */
  public static void print(PrintWriter out, Verification found) {
    out.printf(
        "recounted %s (%d allowed, %d denied) in %s; %s left out%n",
        PolicyText.count(found.calls(), "call", "calls"),
        found.allowed(),
        found.denied(),
        PolicyText.count(found.windows(), "window", "windows"),
        PolicyText.count(found.openWindows(), "window is", "windows are"));
    out.printf("quantity %d, over all meters%n", found.quantity());
    out.printf(
        "dropped as duplicate %d, refused (in the quarantine) %d%n",
        found.duplicates(), found.refused());
    if (found.repeatedRows() > 0) {
      out.printf("ledger rows written again: %d%n", found.repeatedRows());
    }
    found.differences().forEach(difference -> out.println("DIFFERS " + difference));
    if (found.differenceCount() > found.differences().size()) {
      out.printf("DIFFERS and %d more%n", found.differenceCount() - found.differences().size());
    }
    found.unproven().forEach(reason -> out.println("UNPROVEN " + reason));
    out.printf(
        "%s; %s%n",
        PolicyText.count(found.differenceCount(), "difference", "differences"),
        found.unproven().isEmpty()
            ? "the range is closed and complete"
            : "the range is not closed and complete");
  }
}
