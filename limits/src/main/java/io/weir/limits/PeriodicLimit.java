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

  /**
   * Returns the maximum delay of a bucket's periods relative to {@link #at}; 0 if the periods of
   * all buckets begin at the same time. The delay prevents the periods of many buckets from ending
   * at once.
   */
  default long resetJitterSeconds() {
    return 0;
  }

  /**
   * Returns the period of a bucket that contains a moment. The delay of its periods is derived from
   * its key, so every node computes the same period.
   *
   * @param bucket the bucket's key without a period
   */
  default Span at(long epochMillis, ClientCalendar client, String bucket) {
    long later = laterSeconds(bucket);
    Span span = at(epochMillis - later * 1_000, client);
    return new Span(span.startEpochSecond() + later, span.endEpochSecond() + later);
  }

  private long laterSeconds(String bucket) {
    // String.hashCode is specified; its upper bits are mixed in because keys differ at their end
    int hash = bucket.hashCode() * 0x9E3779B9;
    return Math.floorMod(hash ^ (hash >>> 16), resetJitterSeconds() + 1);
  }

  /** Returns the same periods with another capacity. */
  PeriodicLimit withCapacity(long tokens);

  /** Returns the length of the limit's window, in seconds. */
  default long windowSeconds(Span period) {
    return period.endEpochSecond() - period.startEpochSecond();
  }

  /** Returns the limit of the bucket of a period. */
  BucketLimit in(Span period);

  @Override
  default BucketLimit ofBucket(@Nullable Span period) {
    if (period == null) {
      throw new IllegalArgumentException("a bucket of this limit must have a period");
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
