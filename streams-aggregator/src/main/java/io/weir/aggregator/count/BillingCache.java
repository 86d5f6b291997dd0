// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.limits.BilledIn;
import io.weir.limits.BillingPeriod;
import org.jspecify.annotations.Nullable;

/**
 * A cache of billing periods: they come with every call of a client who has a calendar of its own,
 * and validating them takes longer than reading them. Periods are replaced by others that fall on
 * their place. Not thread-safe.
 */
final class BillingCache {
  /**
   * Places; a power of two, above the calendars that are in use: 600 time zones with some days of
   * the month each. At some 300 bytes a period, 1.2 MB a partition when every place is taken.
   */
  private static final int PLACES = 4_096;

  private final @Nullable BilledIn[] places = new BilledIn[PLACES];

  /**
   * Returns the periods of these values, or null if they make none.
   *
   * @param before name of the period before; empty if it is not said
   */
  @Nullable BilledIn get(
      String name,
      String zone,
      long startEpochMillis,
      long endEpochMillis,
      String before,
      long beforeStartEpochMillis) {
    int hash = 31 * zone.hashCode() + Long.hashCode(startEpochMillis) + before.hashCode();
    int place = (hash ^ (hash >>> 16) ^ (hash >>> 8)) & (PLACES - 1);
    BilledIn known = places[place];
    if (known != null
        && is(known.period(), name, zone, startEpochMillis, endEpochMillis)
        && isBefore(known.before(), before, beforeStartEpochMillis)) {
      return known;
    }
    try {
      BilledIn made =
          new BilledIn(
              BillingPeriod.own(name, zone, startEpochMillis, endEpochMillis),
              before.isEmpty()
                  ? null
                  : BillingPeriod.own(before, zone, beforeStartEpochMillis, startEpochMillis));
      places[place] = made;
      return made;
    } catch (IllegalArgumentException contradictory) {
      return null;
    }
  }

  private static boolean is(BillingPeriod period, String name, String zone, long start, long end) {
    return period.startEpochMillis() == start
        && period.endEpochMillis() == end
        && period.name().equals(name)
        && period.timeZone().equals(zone);
  }

  /** Compares all that the zone and the period that follows do not tell already. */
  private static boolean isBefore(@Nullable BillingPeriod period, String name, long start) {
    return period == null
        ? name.isEmpty()
        : period.startEpochMillis() == start && period.name().equals(name);
  }
}
