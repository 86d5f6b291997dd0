// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.watermark;

import org.jspecify.annotations.Nullable;

/**
 * An interval of event time, {@code [from, until)}, for which calls may be missing.
 *
 * @param fromEpochMillis its beginning, inclusive
 * @param untilEpochMillis its end, exclusive; {@link Long#MAX_VALUE} when there is no end yet
 */
public record Interval(long fromEpochMillis, long untilEpochMillis) {

  /** Returns whether the interval shares a millisecond with {@code [start, end)}. */
  public boolean overlaps(long startEpochMillis, long endEpochMillis) {
    return fromEpochMillis < untilEpochMillis
        && fromEpochMillis < endEpochMillis
        && startEpochMillis < untilEpochMillis;
  }

  /** Returns the smallest interval that holds both; the other one if there is no first. */
  public static Interval hull(@Nullable Interval one, Interval other) {
    return one == null
        ? other
        : new Interval(
            Math.min(one.fromEpochMillis, other.fromEpochMillis),
            Math.max(one.untilEpochMillis, other.untilEpochMillis));
  }
}
