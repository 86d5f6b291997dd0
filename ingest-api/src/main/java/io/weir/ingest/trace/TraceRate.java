// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.trace;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A rate limiter for traced requests. In any interval of T seconds it admits at most rate × (T + 1)
 * requests. Example: at a rate of 100 it admits 100 requests at once, then one every 10 ms.
 * Thread-safe; never blocks.
 */
final class TraceRate {
  private static final long SECOND_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final long intervalNanos;

  /**
   * The time at which the next request would be due if all admitted requests were evenly spaced.
   */
  private final AtomicLong nextNanos;

  /**
   * Creates a rate limiter that has admitted no request.
   *
   * @param perSecond 1 to 1,000,000
   * @param nowNanos the current {@link System#nanoTime}
   */
  TraceRate(int perSecond, long nowNanos) {
    intervalNanos = SECOND_NANOS / perSecond;
    nextNanos = new AtomicLong(nowNanos);
  }

  /**
   * Admits a request at the given time if the rate permits it. Returns whether it admitted the
   * request.
   */
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
