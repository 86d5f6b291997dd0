// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Wakes the thread that restores a cold cache when a decision has found it cold. It is called for
 * every script call, so it must be free while nothing changes. A cache that remains cold wakes the
 * thread once. Thread-safe.
 */
final class ColdSignal {
  private final Semaphore turnedCold;
  private volatile boolean warm = true;

  ColdSignal() {
    this(new Semaphore(0));
  }

  /**
   * Creates the signal of one of several servers. One thread waits for all of them.
   *
   * @param turnedCold the semaphore on which that thread waits
   */
  ColdSignal(Semaphore turnedCold) {
    this.turnedCold = turnedCold;
  }

  /** Returns whether the cache was warm at its last decision or query. */
  boolean isWarm() {
    return warm;
  }

  /** Records whether the cache was warm when it decided. */
  void seen(boolean nowWarm) {
    if (nowWarm != warm) {
      warm = nowWarm;
      if (!nowWarm && turnedCold.availablePermits() == 0) {
        turnedCold.release();
      }
    }
  }

  /**
   * Records whether the cache was warm at a query. Does not wake the thread, since the caller knows
   * the result.
   */
  void looked(boolean nowWarm) {
    warm = nowWarm;
  }

  /** Waits until the cache has turned cold since the last wait, or the time has elapsed. */
  void await(Duration atMost) throws InterruptedException {
    // in either case the caller queries the cache itself
    var unused = turnedCold.tryAcquire(atMost.toNanos(), TimeUnit.NANOSECONDS);
  }
}
