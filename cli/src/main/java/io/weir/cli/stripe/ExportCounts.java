// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.stripe;

import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/** Counts of rows by result. Not thread-safe. */
final class ExportCounts {
  private long sent;
  private long hadBefore;
  private long foreign;
  private long skipped;
  private final Map<RowJudge.Reason, Long> kept = new EnumMap<>(RowJudge.Reason.class);
  private final Map<RowJudge.Why, Long> passed = new EnumMap<>(RowJudge.Why.class);

  /** Creates counts of zero. */
  ExportCounts() {}

  void sent(boolean before) {
    sent++;
    hadBefore += before ? 1 : 0;
  }

  /** Counts an event that Stripe already had, although this export had never tried to send it. */
  void foreign() {
    foreign++;
  }

  /** Counts a record that is not a row. */
  void skip() {
    skipped++;
  }

  void kept(RowJudge.Reason reason) {
    kept.merge(reason, 1L, Long::sum);
  }

  void passed(RowJudge.Why why) {
    passed.merge(why, 1L, Long::sum);
  }

  /** Returns the number of events that Stripe has. */
  public long sent() {
    return sent;
  }

  /** Returns the number of rows that were kept. */
  public long kept() {
    return kept.values().stream().mapToLong(Long::longValue).sum();
  }

  /** Returns the number of skipped records, which are not rows. */
  public long skipped() {
    return skipped;
  }

  /** Returns a warning that requires action, in one line; empty if there is none. */
  public String warning() {
    if (foreign == 0) {
      return "";
    }
    return "WARNING: "
        + number(foreign, "event")
        + " were in Stripe already, although this --state had not sent them. Another or an older --state"
        + " sent them, or another cluster exports the same clients to this account, and its rows may"
        + " have the same identifiers. The usage in Stripe may lack these quantities";
  }

  /** Returns a summary in one line. */
  public String shown(boolean isDryRun) {
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
    return String.format(Locale.ROOT, "%d %s%s", count, what, count == 1 ? "" : "s");
  }
}
