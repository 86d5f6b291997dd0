// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.records;

import io.weir.limits.BillingPeriod;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * The billing periods of a line. Two periods are equal if their texts are equal, because a text
 * contains all members of its period. The empty text stands for the UTC month in which a window
 * starts.
 *
 * @param name first date of the period in which the call was decided
 * @param before first date of the previous period; null if the line does not have it
 * @param beforeStartEpochMillis start of the previous period; unused if {@code before} is null
 */
public record Billed(
    String name,
    String zone,
    long startEpochMillis,
    long endEpochMillis,
    @Nullable String before,
    long beforeStartEpochMillis) {
  /** The text of the UTC month in which the window starts. */
  public static final String UTC_MONTH = "";

  /** Returns the billing period of a window that contains the line. */
  public String ofWindow(long windowStartEpochMillis) {
    return windowStartEpochMillis < startEpochMillis
        ? text(String.valueOf(before), zone, beforeStartEpochMillis, startEpochMillis)
        : text(name, zone, startEpochMillis, endEpochMillis);
  }

  /** Returns the billing period of a ledger row or a state record as text. */
  public static String text(@Nullable BillingPeriod own) {
    if (own == null) {
      return UTC_MONTH;
    }
    return own.isUtcMonth()
        ? own.name()
        : text(own.name(), own.timeZone(), own.startEpochMillis(), own.endEpochMillis());
  }

  private static String text(String name, String zone, long start, long end) {
    return "%s (%s to %s, %s)"
        .formatted(name, Instant.ofEpochMilli(start), Instant.ofEpochMilli(end), zone);
  }

  /** Returns a description of a period. The argument is null if no row or line has a period. */
  public static String describe(@Nullable String period) {
    return period == null ? "nothing" : period.equals(UTC_MONTH) ? "the month of UTC" : period;
  }
}
