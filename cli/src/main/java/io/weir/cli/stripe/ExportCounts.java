// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.stripe;

import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/** How many rows became what. Not thread-safe. */
public final class ExportCounts {
  private long sent;
  private long hadBefore;
  private long foreign;
  private long skipped;
  private final Map<RowJudge.Reason, Long> kept = new EnumMap<>(RowJudge.Reason.class);
  private final Map<RowJudge.Why, Long> passed = new EnumMap<>(RowJudge.Why.class);

  /** Creates counts of nothing. */
  ExportCounts() {}

  void sent(boolean before) {
    sent++;
    hadBefore += before ? 1 : 0;
  }

  /** Counts one more event that Stripe had, though this export had never tried it. */
  void foreign() {
    foreign++;
  }

  /** Counts one more record that is no row. */
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

  /** Returns the number of records that were skipped, since they are no rows. */
  public long skipped() {
    return skipped;
  }

  /** Returns what a person must look at, in a line; empty if there is nothing. */
  public String warning() {
    if (foreign == 0) {
      return "";
    }
    return "WARNING: "
        + number(foreign, "event")
        + " Stripe had before, though this --state had never sent them: they were sent with another"
        + " or an older --state, or another cluster exports the same clients to this account, whose"
        + " rows may have the same identifiers. What is in Stripe may be short of these quantities";
  }

  /** Returns what was done, in a line. */
  public String shown(boolean isDryRun) {
    StringBuilder text = new StringBuilder(isDryRun ? "would send " : "sent ");
    text.append(number(sent, "event"));
    if (hadBefore > 0) {
      text.append(" (").append(hadBefore).append(" of them Stripe had already)");
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
      text.append("; skipped ").append(number(skipped, "record")).append(" that are no rows");
    }
    passed.forEach(
        (why, rows) ->
            text.append("; passed over ")
                .append(number(rows, "row"))
                .append(' ')
                .append(why.shown()));
    return text.toString();
  }

  private static String number(long count, String what) {
    return String.format(Locale.ROOT, "%d %s%s", count, what, count == 1 ? "" : "s");
  }
}
