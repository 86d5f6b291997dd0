// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import org.jspecify.annotations.Nullable;

/**
 * Event time {@code [from, until)} for which calls may be missing.
 *
 * @param fromEpochMillis first millisecond inside
 * @param untilEpochMillis first millisecond behind; {@link Long#MAX_VALUE} when there is no end yet
 */
record Interval(long fromEpochMillis, long untilEpochMillis) {

  boolean overlaps(long startEpochMillis, long endEpochMillis) {
    return fromEpochMillis < untilEpochMillis
        && fromEpochMillis < endEpochMillis
        && startEpochMillis < untilEpochMillis;
  }

  /** The smallest interval that holds both; the other one alone when there is no first. */
  static Interval hull(@Nullable Interval one, Interval other) {
    return one == null
        ? other
        : new Interval(
            Math.min(one.fromEpochMillis, other.fromEpochMillis),
            Math.max(one.untilEpochMillis, other.untilEpochMillis));
  }
}
