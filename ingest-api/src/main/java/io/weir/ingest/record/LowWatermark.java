// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * Finds the time before which no call is under way any more. Safe for threads, without a lock.
 *
 * <p>Calls are counted in a ring of {@value #BUCKETS} buckets of {@value #BUCKET_MILLIS} ms, by the
 * time at which they began. The promise is the start of the oldest bucket that holds a call, else
 * of the bucket of now. Example: it is 12:00:05.250 and a call of 12:00:03.480 is still under way;
 * the promise is 12:00:03.400. When that call ends, it is 12:00:05.200.
 *
 * <p>A call under way for longer than the ring spans (102 s) does not hold the promise back any
 * more: should it be recorded after all, it is late, and counted by an adjustment.
 */
final class LowWatermark {
  /*
   * Why no call slips through: begin() first counts itself, then reads the candidate; promise()
   * first writes the candidate, then reads the counters. All four are volatile, so they have one
   * order. Either begin() sees the candidate and moves to a bucket that is not below it, or the
   * count came before the scan, which sees it. (The store-load argument of Dekker's mutual
   * exclusion, as told in Dijkstra, EWD 123, 1965.)
   */

  static final int BUCKET_MILLIS = 100;
  static final int BUCKETS = 1024;

  private final LongSupplier clockEpochMillis;
  private final AtomicIntegerArray underWay = new AtomicIntegerArray(BUCKETS);
  private final AtomicLong candidate = new AtomicLong();
  private final AtomicLong promised = new AtomicLong();

  /**
   * A watermark without calls.
   *
   * @param clockEpochMillis the decision clock; may step back, which only makes calls late
   */
  LowWatermark(LongSupplier clockEpochMillis) {
    this.clockEpochMillis = clockEpochMillis;
  }

  /**
   * Counts a call as under way.
   *
   * @return where it is counted: at the clock's time, or at the promise where that is ahead of the
   *     clock; to be handed to {@link #end}. It is no date of the call: a promise stays ahead for
   *     as long as the clock was ahead once
   */
  long begin() {
    while (true) {
      long begun = Math.max(clockEpochMillis.getAsLong(), candidate.get());
      int bucket = bucket(begun);
      underWay.incrementAndGet(bucket);
      if (candidate.get() <= start(begun)) {
        return begun;
      }
      underWay.decrementAndGet(bucket);
    }
  }

  /** Ends what {@link #begin} began. */
  void end(long begun) {
    underWay.decrementAndGet(bucket(begun));
  }

  /**
   * A time such that every call that began before it has ended, and none that begins from now on
   * will have begun before it. Never falls.
   */
  long promise() {
    long now =
        candidate.accumulateAndGet(start(clockEpochMillis.getAsLong()), (a, b) -> Math.max(a, b));
    long oldest = now;
    for (long start = Math.max(0, now - (BUCKETS - 1L) * BUCKET_MILLIS);
        start < now;
        start += BUCKET_MILLIS) {
      if (underWay.get(bucket(start)) > 0) {
        oldest = start;
        break;
      }
    }
    return promised.accumulateAndGet(oldest, (a, b) -> Math.max(a, b));
  }

  /** Calls under way now; a little off while calls begin and end. */
  int countUnderWay() {
    int sum = 0;
    for (int i = 0; i < BUCKETS; i++) {
      sum += underWay.get(i);
    }
    return sum;
  }

  private static int bucket(long epochMillis) {
    return (int) ((epochMillis / BUCKET_MILLIS) % BUCKETS);
  }

  private static long start(long epochMillis) {
    return epochMillis - epochMillis % BUCKET_MILLIS;
  }
}
