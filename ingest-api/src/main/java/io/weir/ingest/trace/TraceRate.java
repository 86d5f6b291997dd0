// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.trace;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Bounds the number of traced requests: in any interval of T seconds at most rate × (T + 1). With a
 * rate of 100, 100 may start at once, then one every 10 ms. Thread-safe; never blocks.
 */
final class TraceRate {
  private static final long SECOND_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final long intervalNanos;

  /** The time by which the rate would have evenly admitted all requests so far. */
  private final AtomicLong nextNanos;

  /**
   * Creates a bound that has admitted nothing.
   *
   * @param perSecond 1 to 1,000,000
   * @param nowNanos the current {@link System#nanoTime}
   */
  TraceRate(int perSecond, long nowNanos) {
    intervalNanos = SECOND_NANOS / perSecond;
    nextNanos = new AtomicLong(nowNanos);
  }

  /** Returns whether another request may be traced at the given time; if so, counts it. */
  boolean tryTake(long nowNanos) {
    while (true) {
      long next = nextNanos.get();
      long aheadNanos = Math.max(0, next - nowNanos);
      if (aheadNanos > SECOND_NANOS - intervalNanos) {
        return false;
      }
      if (nextNanos.compareAndSet(next, nowNanos + aheadNanos + intervalNanos)) {
        return true;
      }
    }
  }
}
