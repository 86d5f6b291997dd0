// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import org.jspecify.annotations.Nullable;

/** A number of tokens per period, with a bucket for each period. Immutable. */
public sealed interface PeriodicLimit extends PolicyLimit
    permits CalendarQuota, FixedWindow, SlidingWindow {
  /**
   * A period as the half-open interval {@code [startEpochSecond, endEpochSecond)}.
   *
   * @param startEpochSecond the first second of the period
   * @param endEpochSecond the first second after the period
   */
  record Span(long startEpochSecond, long endEpochSecond) {
    /** Returns the period's end in microseconds since 1970. */
    public long endEpochMicros() {
      return endEpochSecond * 1_000_000;
    }
  }

  /** Returns the period that contains a moment, by a client's calendar. */
  Span at(long epochMillis, ClientCalendar client);

  /** Returns the same periods with another capacity. */
  PeriodicLimit withCapacity(long tokens);

  /** Returns the length of the window that the limit is for, in seconds. */
  default long windowSeconds(Span period) {
    return period.endEpochSecond() - period.startEpochSecond();
  }

  /** Returns the limit of the bucket of a period. */
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
