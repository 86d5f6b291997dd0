// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.YearMonth;
import java.time.ZoneOffset;

/**
 * A period for which a client is billed, as the half-open interval {@code [start, end)}. Immutable.
 *
 * <p>The form of the name identifies the calendar. A month such as {@code 2026-11} is the name of a
 * UTC month. A date such as {@code 2026-11-15} is the name of a period of the client's own
 * calendar. The date is the first day of the period in the time zone.
 *
 * @param name the month, or the first date of the period
 * @param timeZone the zone in which the period begins and ends: an IANA name or an offset; {@code
 *     UTC} for a UTC month
 * @param startEpochMillis first millisecond of the period
 * @param endEpochMillis first millisecond after the period
 */
public record BillingPeriod(
    String name, String timeZone, long startEpochMillis, long endEpochMillis) {
  private static final String UTC = "UTC";
  private static final int MONTH_LENGTH = "2026-11".length();

  public BillingPeriod {
    try {
      if (name.length() == MONTH_LENGTH) {
        YearMonth.parse(name);
      } else {
        LocalDate.parse(name);
      }
    } catch (DateTimeException notAPeriod) {
      throw new IllegalArgumentException(
          "the name of a billing period must be a month or a date, but is '" + name + "'",
          notAPeriod);
    }
    Names.require("billing_zone", timeZone);
    Numbers.require("billing_period_start_ms", startEpochMillis, -Numbers.MAX);
    Numbers.require("billing_period_end_ms", endEpochMillis, -Numbers.MAX);
    if (endEpochMillis <= startEpochMillis) {
      throw new IllegalArgumentException(
          "the end of a billing period must be after its start, but the period is ["
              + startEpochMillis
              + ", "
              + endEpochMillis
              + ")");
    }
  }

  /**
   * Returns a period of the client's own calendar.
   *
   * @throws IllegalArgumentException if the values do not form a period, or the name is a month
   */
  public static BillingPeriod own(
      String name, String timeZone, long startEpochMillis, long endEpochMillis) {
    BillingPeriod period = new BillingPeriod(name, timeZone, startEpochMillis, endEpochMillis);
    if (period.isUtcMonth()) {
      throw new IllegalArgumentException(
          "the name of a billing period with bounds must be its first date, but is '" + name + "'");
    }
    return period;
  }

  /** Returns the UTC month that contains a time. */
  public static BillingPeriod utcMonthHolding(long epochMillis) {
    return utcMonth(YearMonth.from(Instant.ofEpochMilli(epochMillis).atOffset(ZoneOffset.UTC)));
  }

  /**
   * Returns the UTC month with the given name.
   *
   * @throws IllegalArgumentException if the name is not of the form {@code 2026-11}
   */
  public static BillingPeriod utcMonth(String name) {
    try {
      return utcMonth(YearMonth.parse(name));
    } catch (DateTimeException notAMonth) {
      throw new IllegalArgumentException(
          "a billing period in UTC must be a month, but is '" + name + "'", notAMonth);
    }
  }

  private static BillingPeriod utcMonth(YearMonth month) {
    return new BillingPeriod(month.toString(), UTC, startOf(month), startOf(month.plusMonths(1)));
  }

  private static long startOf(YearMonth month) {
    return month.atDay(1).atStartOfDay(ZoneOffset.UTC).toInstant().toEpochMilli();
  }

  /** Returns whether the period is a UTC month; false for a period of the client's own calendar. */
  public boolean isUtcMonth() {
    return name.length() == MONTH_LENGTH;
  }

  /** Returns whether the period contains a time. */
  public boolean holds(long epochMillis) {
    return startEpochMillis <= epochMillis && epochMillis < endEpochMillis;
  }
}
