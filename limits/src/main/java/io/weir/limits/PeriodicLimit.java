// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import org.jspecify.annotations.Nullable;

/** A limit on the number of tokens per period. Each period has its own bucket. Immutable. */
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

  /** Returns the period that contains a time, by a client's calendar. */
  Span at(long epochMillis, ClientCalendar client);

  /**
   * Returns the maximum delay that is added to the periods of a bucket; 0 if the periods of all
   * buckets begin at the same time. With a delay, the periods of many buckets do not end at the
   * same time.
   */
  default long resetJitterSeconds() {
    return 0;
  }

  /**
   * Returns the period that contains a time, for one bucket. The delay is computed from the
   * bucket's key, so every node returns the same period.
   *
   * @param bucket the bucket's key without a period
   */
  default Span at(long epochMillis, ClientCalendar client, String bucket) {
    long later = laterSeconds(bucket);
    Span span = at(epochMillis - later * 1_000, client);
    return new Span(span.startEpochSecond() + later, span.endEpochSecond() + later);
  }

  private long laterSeconds(String bucket) {
    // the Java specification defines String.hashCode; the factor mixes the bits of the hash code
    int hash = bucket.hashCode() * 0x9E3779B9;
    return Math.floorMod(hash ^ (hash >>> 16), resetJitterSeconds() + 1);
  }

  /** Returns the same periods with another capacity. */
  PeriodicLimit withCapacity(long tokens);

  /** Returns the limit of one period's bucket. */
  BucketLimit in(Span period);

  @Override
  default BucketLimit ofBucket(@Nullable Span period) {
    if (period == null) {
      throw new IllegalArgumentException(
          "a bucket of a quota or a window must have a period, but has none");
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

  @Override
  default PeriodicLimit periodic() {
    return this;
  }
}
