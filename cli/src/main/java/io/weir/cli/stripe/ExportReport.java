// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.stripe;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.cli.console.PolicyText;
import java.util.EnumMap;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/** Counts rows by result, and prints the rows that need attention. Not thread-safe. */
final class ExportReport {
  /** Maximum number of kept rows to print. The file has all kept rows. */
  private static final int MAX_PRINTED = 20;

  private static final ObjectMapper JSON = new ObjectMapper();

  private final boolean isDryRun;
  private final Consumer<String> output;
  private final Consumer<String> warnings;
  private long sent;
  private long hadBefore;
  private long foreign;
  private long skipped;
  private final Map<RowJudge.Reason, Long> kept = new EnumMap<>(RowJudge.Reason.class);
  private final Map<RowJudge.Why, Long> passed = new EnumMap<>(RowJudge.Why.class);

  /**
   * Creates a report without rows.
   *
   * @param isDryRun whether nothing is sent and no file changes
   * @param output receives the events of a dry run, one line each
   * @param warnings receives the rows that cannot be sent, one line each
   */
  ExportReport(boolean isDryRun, Consumer<String> output, Consumer<String> warnings) {
    this.isDryRun = isDryRun;
    this.output = output;
    this.warnings = warnings;
  }

  boolean isDryRun() {
    return isDryRun;
  }

  void wouldSend(MeterEvent event) {
    output.accept(JSON.valueToTree(event.members()).toString());
    sent(false);
  }

  void sent(boolean before) {
    sent++;
    hadBefore += before ? 1 : 0;
  }

  /** Counts an event that Stripe already had, although this export had never tried to send it. */
  void foreign() {
    foreign++;
  }

  void skipped(String warning) {
    skipped++;
    warnings.accept(warning);
  }

  void kept(String place, RowJudge.Keep why) {
    kept.merge(why.reason(), 1L, Long::sum);
    if (kept() <= MAX_PRINTED) {
      warnings.accept(place + ": " + why.reason() + ": " + why.detail());
    } else if (kept() == MAX_PRINTED + 1) {
      warnings.accept("further rows that cannot be sent are not printed");
    }
  }

  void passed(RowJudge.Why why) {
    passed.merge(why, 1L, Long::sum);
  }

  long kept() {
    return kept.values().stream().mapToLong(Long::longValue).sum();
  }

  /** Returns the number of skipped records, which are not rows. */
  long skipped() {
    return skipped;
  }

  /** Returns a warning that requires action, in one line; empty if there is none. */
  String warning() {
    if (foreign == 0) {
      return "";
    }
    return "WARNING: "
        + number(foreign, "event")
        + " were in Stripe already, although this --state had not sent them. Another or an older --state"
        + " sent them, or another cluster exports the same clients to this account, and its rows may"
        + " have the same identifiers. The usage in Stripe may lack these quantities";
  }

  String summary() {
    StringBuilder text = new StringBuilder(isDryRun ? "would send " : "sent ");
    text.append(number(sent, "event"));
    if (hadBefore > 0) {
      text.append(" (").append(hadBefore).append(" of them were in Stripe already)");
    }
    if (!kept.isEmpty()) {
      String reasons =
          kept.entrySet().stream()
              .map(each -> each.getValue() + " " + each.getKey())
              .collect(Collectors.joining(", "));
      text.append(isDryRun ? "; would keep " : "; kept ");
      text.append(number(kept(), "row")).append(" (").append(reasons).append(')');
    }
    if (skipped > 0) {
      text.append("; skipped ").append(number(skipped, "record")).append(" that are not rows");
    }
    passed.forEach(
        (why, rows) ->
            text.append("; not sent: ")
                .append(number(rows, "row"))
                .append(' ')
                .append(why.shown()));
    return text.toString();
  }

  private static String number(long count, String what) {
    return PolicyText.count(count, what, what + "s");
  }
}
