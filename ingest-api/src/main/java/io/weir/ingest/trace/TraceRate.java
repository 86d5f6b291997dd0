// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.trace;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Bounds how many requests are traced: in any interval of T seconds at most rate × (T + 1). With a
 * rate of 100, a hundred at once and then one each 10 ms. Thread-safe; never blocks.
 */
final class TraceRate {
  private static final long SECOND_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final long intervalNanos;

  /** When the rate would have admitted, evenly, what has been admitted. */
  private final AtomicLong nextNanos;

  /**
   * Creates a bound that has admitted nothing.
   *
   * @param perSecond 1 to 1,000,000
   * @param nowNanos the present time, as {@link System#nanoTime}
   */
  TraceRate(int perSecond, long nowNanos) {
    intervalNanos = SECOND_NANOS / perSecond;
    nextNanos = new AtomicLong(nowNanos);
  }

  /** Returns whether one more may be traced at a time, and counts it then. */
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
