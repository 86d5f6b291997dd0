// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The division of a report's time into half-open buckets. The local time of a time zone determines
 * the boundaries. A day may have 23, 24 or 25 hours. Buckets of a fixed length start again at each
 * midnight. So on the day of a clock change, the last bucket may be shorter.
 */
sealed interface Buckets {
  /**
   * Maximum number of buckets in a report. This number is sufficient for 400 days of quarter hours.
   */
  int MAX_BUCKETS = 40_000;

  /** Buckets of a fixed length that divides a day. */
  record Fixed(Duration length) implements Buckets {}

  /** Buckets of one day in the time zone. */
  record Day() implements Buckets {}

  /** Buckets of one month in the time zone. */
  record Month() implements Buckets {}

  /** A single bucket, which covers the whole report. */
  record Total() implements Buckets {}

  /**
   * Buckets that are the billing periods recorded with the usage. These buckets are whole periods
   * of the client's own calendar, and do not depend on the report's time zone.
   */
  record BillingPeriods() implements Buckets {
    /**
     * Upper bound of the length of a billing period. The bound is 31 days, plus one day for clock
     * changes.
     */
    static final Duration LONGEST = Duration.ofDays(32);
  }

  /**
   * Parses {@code P1D}, {@code P1M}, {@code total}, {@code billing-period} or an ISO duration.
   *
   * @param atom length of a ledger window
   * @return the division; null if the text is none of these, or if the duration is not a multiple
   *     of the ledger window that divides a day
   */
  static @Nullable Buckets parse(String text, Duration atom) {
    return switch (text) {
      case "total" -> new Total();
      case "P1D" -> new Day();
      case "P1M" -> new Month();
      case "billing-period" -> new BillingPeriods();
      default -> fixed(text, atom);
    };
  }

  private static @Nullable Buckets fixed(String text, Duration atom) {
    Duration length;
    try {
      length = Duration.parse(text);
    } catch (DateTimeParseException notADuration) {
      return null;
    }
    long millis = length.toMillis();
    boolean fits =
        millis > 0 && millis % atom.toMillis() == 0 && Duration.ofDays(1).toMillis() % millis == 0;
    return fits ? new Fixed(length) : null;
  }

  /**
   * Returns the boundaries of the buckets between {@code from} and {@code to}. The first boundary
   * is {@code from} and the last boundary is {@code to}.
   *
   * @return at least two times in ascending order; null if there would be more than {@link
   *     #MAX_BUCKETS} buckets
   * @throws IllegalStateException if the buckets are billing periods, because their boundaries are
   *     recorded with the usage
   */
  default @Nullable List<Instant> boundaries(Instant from, Instant to, ZoneId zone) {
    List<Instant> boundaries = new ArrayList<>();
    boundaries.add(from);
    Instant next = next(from.atZone(zone)).toInstant();
    while (next.isBefore(to)) {
      if (boundaries.size() > MAX_BUCKETS) {
        return null;
      }
      boundaries.add(next);
      next = next(next.atZone(zone)).toInstant();
    }
    boundaries.add(to);
    return boundaries;
  }

  /** Returns the first boundary after a time. */
  private ZonedDateTime next(ZonedDateTime moment) {
    LocalDate day = moment.toLocalDate();
    ZoneId zone = moment.getZone();
    if (this instanceof Day) {
      return day.plusDays(1).atStartOfDay(zone);
    }
    if (this instanceof Month) {
      return day.withDayOfMonth(1).plusMonths(1).atStartOfDay(zone);
    }
    if (this instanceof Fixed fixed) {
      ZonedDateTime midnight = day.atStartOfDay(zone);
      ZonedDateTime nextMidnight = day.plusDays(1).atStartOfDay(zone);
      long steps = Duration.between(midnight, moment).dividedBy(fixed.length()) + 1;
      ZonedDateTime next = midnight.plus(fixed.length().multipliedBy(steps));
      return next.isBefore(nextMidnight) ? next : nextMidnight;
    }
    if (this instanceof BillingPeriods) {
      throw new IllegalStateException(
          "the boundaries of billing periods are recorded with the usage and are not computed");
    }
    return moment.plusYears(1_000); // Total: a time after the end of every report
  }
}
