// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.limits.BilledIn;
import io.weir.limits.BillingPeriod;
import org.jspecify.annotations.Nullable;

/**
 * A cache of validated billing periods. Every call of a client with its own calendar contains
 * billing periods, and their validation takes longer than a lookup. A new entry replaces the entry
 * in the same slot. Not thread-safe.
 */
final class BillingCache {
  /**
   * Number of slots, a power of two. The number of calendars in use is smaller: 600 time zones,
   * with a few days of the month each. An entry takes about 300 bytes, so the cache takes at most
   * 1.2 MB per partition.
   */
  private static final int PLACES = 4_096;

  private final @Nullable BilledIn[] places = new BilledIn[PLACES];

  /**
   * Returns the billing periods with these values, or null if the values are invalid.
   *
   * @param before name of the previous period; empty if the line does not contain it
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

  /**
   * Compares only name and start of the previous period, because the caller has compared all other
   * values.
   */
  private static boolean isBefore(@Nullable BillingPeriod period, String name, long start) {
    return period == null
        ? name.isEmpty()
        : period.startEpochMillis() == start && period.name().equals(name);
  }
}
