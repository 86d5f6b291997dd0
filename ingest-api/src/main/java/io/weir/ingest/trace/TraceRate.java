// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.trace;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A rate limiter for traced requests. In any interval of T seconds the limiter admits at most rate
 * × (T + 1) requests. Example: at a rate of 100 the limiter admits 100 requests at once, then one
 * request every 10 ms. Thread-safe; never blocks.
 */
final class TraceRate {
  private static final long SECOND_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final long intervalNanos;

  /**
   * The time at which the next request is due if the admitted requests are evenly spaced at the
   * rate.
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
   * Admits a request at the given time if the rate permits it. Returns whether this method admitted
   * the request.
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
