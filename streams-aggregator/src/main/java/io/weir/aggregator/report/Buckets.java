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
 * How a report cuts time: half-open buckets whose boundaries are those of a clock on the wall in a
 * time zone. A day has 23, 24 or 25 hours there; a bucket of a fixed length begins anew at each
 * midnight, so that on the day of a change the last one may be shorter.
 */
sealed interface Buckets {
  /** Most buckets in a report: 400 days of quarter hours. */
  int MAX_BUCKETS = 40_000;

  /** A fixed length that divides a day. */
  record Fixed(Duration length) implements Buckets {}

  /** Days of the time zone. */
  record Day() implements Buckets {}

  /** Months of the time zone. */
  record Month() implements Buckets {}

  /** One bucket. */
  record Total() implements Buckets {}

  /**
   * Reads {@code P1D}, {@code P1M}, {@code total} or an ISO duration.
   *
   * @param atom the ledger's window
   * @return null when the text is none of them, or no multiple of the ledger's window that divides
   *     a day
   */
  static @Nullable Buckets parse(String text, Duration atom) {
    return switch (text) {
      case "total" -> new Total();
      case "P1D" -> new Day();
      case "P1M" -> new Month();
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
   * The boundaries from the bucket that holds {@code from} on, up to the first one at or after
   * {@code to}; the outermost are cut to from and to.
   *
   * @return at least two ascending moments; null when there would be more than {@link #MAX_BUCKETS}
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

  /** The first boundary behind a moment. */
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
    return moment.plusYears(1_000); // Total: behind every report's end
  }
}
