// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.watermark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An interval of event time, {@code [from, until)}, for which calls may be missing.
 *
 * @param fromEpochMillis start of the interval, inclusive
 * @param untilEpochMillis end of the interval, exclusive; {@link Long#MAX_VALUE} if the end is not
 *     known yet
 */
public record Interval(long fromEpochMillis, long untilEpochMillis) {

  /** Returns whether the interval overlaps {@code [start, end)}. */
  public boolean overlaps(long startEpochMillis, long endEpochMillis) {
    return fromEpochMillis < untilEpochMillis
        && fromEpochMillis < endEpochMillis
        && startEpochMillis < untilEpochMillis;
  }

  /**
   * Returns the part of the interval before a time. If the whole interval is after that time, the
   * result is an empty interval.
   */
  Interval until(long epochMillis) {
    return new Interval(
        Math.min(fromEpochMillis, epochMillis), Math.min(untilEpochMillis, epochMillis));
  }

  /**
   * Merges intervals that overlap, and returns the result in ascending order.
   *
   * @param most maximum number of returned intervals; if there are more, the closest intervals are
   *     merged
   */
  static List<Interval> merged(List<Interval> intervals, int most) {
    List<Interval> disjoint = mergedWithin(intervals, 0);
    if (disjoint.size() <= most) {
      return disjoint;
    }
    long[] distances = new long[disjoint.size() - 1];
    for (int i = 0; i < distances.length; i++) {
      distances[i] = disjoint.get(i + 1).fromEpochMillis - disjoint.get(i).untilEpochMillis;
    }
    Arrays.sort(distances);
    return mergedWithin(disjoint, distances[disjoint.size() - most - 1]);
  }

  private static List<Interval> mergedWithin(List<Interval> intervals, long distanceMillis) {
    List<Interval> sorted = new ArrayList<>(intervals);
    sorted.removeIf(one -> one.fromEpochMillis >= one.untilEpochMillis);
    sorted.sort(Comparator.comparingLong(Interval::fromEpochMillis));
    List<Interval> merged = new ArrayList<>();
    for (Interval next : sorted) {
      int last = merged.size() - 1;
      if (last >= 0 && next.fromEpochMillis - merged.get(last).untilEpochMillis <= distanceMillis) {
        merged.set(last, hull(merged.get(last), next));
      } else {
        merged.add(next);
      }
    }
    return merged;
  }

  /**
   * Returns the smallest interval that contains both intervals. Returns {@code other} if {@code
   * one} is null.
   */
  public static Interval hull(@Nullable Interval one, Interval other) {
    return one == null
        ? other
        : new Interval(
            Math.min(one.fromEpochMillis, other.fromEpochMillis),
            Math.max(one.untilEpochMillis, other.untilEpochMillis));
  }
}
