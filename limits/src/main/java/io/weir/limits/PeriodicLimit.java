// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import org.jspecify.annotations.Nullable;

/** So many tokens a period, with a bucket for each period. Immutable. */
public sealed interface PeriodicLimit extends PolicyLimit permits CalendarQuota, FixedWindow {
  /**
   * A period as instants.
   *
   * @param startEpochSecond its first second
   * @param endEpochSecond the first second behind it
   */
  record Span(long startEpochSecond, long endEpochSecond) {
    /** The period's end in microseconds since 1970. */
    public long endEpochMicros() {
      return endEpochSecond * 1_000_000;
    }
  }

  /** The period that holds a moment, by a client's calendar. */
  Span at(long epochMillis, ClientCalendar client);

  /** The same periods with another capacity. */
  PeriodicLimit withCapacity(long tokens);

  /** The limit of the bucket of a period. */
  BucketLimit in(Span period);

  @Override
  default BucketLimit ofBucket(@Nullable Span period) {
    if (period == null) {
      throw new IllegalArgumentException("each bucket has a period");
    }
    return in(period);
  }

  @Override
  default boolean refills() {
    return false;
  }

  @Override
  default @Nullable BucketLimit lasting() {
    return null;
  }
}
