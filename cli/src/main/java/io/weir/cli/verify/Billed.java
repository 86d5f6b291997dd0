// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import io.weir.limits.BillingPeriod;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * The billing periods that a line says. Periods are compared as texts that say everything about
 * them; the empty text stands for the month of UTC in which a window starts.
 *
 * @param name first date of the period in which the call was decided
 * @param before first date of the period before; null if the line does not say it
 * @param beforeStartEpochMillis start of the period before; meaningless without one
 */
record Billed(
    String name,
    String zone,
    long startEpochMillis,
    long endEpochMillis,
    @Nullable String before,
    long beforeStartEpochMillis) {
  /** Stands for the month of UTC in which the window starts. */
  static final String UTC_MONTH = "";

  /** Returns the period of a window with the line in it. */
  String ofWindow(long windowStartEpochMillis) {
    return windowStartEpochMillis < startEpochMillis
        ? text(String.valueOf(before), zone, beforeStartEpochMillis, startEpochMillis)
        : text(name, zone, startEpochMillis, endEpochMillis);
  }

  /** Returns the period that a ledger row or a state record says. */
  static String text(@Nullable BillingPeriod own) {
    if (own == null) {
      return UTC_MONTH;
    }
    return own.isUtcMonth()
        ? own.name()
        : text(own.name(), own.timeZone(), own.startEpochMillis(), own.endEpochMillis());
  }

  private static String text(String name, String zone, long start, long end) {
    return name
        + " ("
        + Instant.ofEpochMilli(start)
        + " to "
        + Instant.ofEpochMilli(end)
        + ", "
        + zone
        + ")";
  }

  /** Returns a period in words; null for what nothing was read of. */
  static String describe(@Nullable String period) {
    return period == null ? "nothing" : period.equals(UTC_MONTH) ? "the month of UTC" : period;
  }
}
