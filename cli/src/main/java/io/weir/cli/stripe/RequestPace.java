// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.stripe;

import java.util.concurrent.TimeUnit;

/** Spaces the requests of all threads evenly. Thread-safe. */
final class RequestPace {
  private final long spacingNanos;
  private long next;

  /** Creates a pace of at most the given number of requests a second. */
  RequestPace(int perSecond) {
    this.spacingNanos = TimeUnit.SECONDS.toNanos(1) / perSecond;
    this.next = System.nanoTime();
  }

  /** Waits until the next request may be sent. */
  void await() throws InterruptedException {
    long wait;
    synchronized (this) {
      long now = System.nanoTime();
      long mine = Math.max(now, next);
      next = mine + spacingNanos;
      wait = mine - now;
    }
    TimeUnit.NANOSECONDS.sleep(wait);
  }
}
