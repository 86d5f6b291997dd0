// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Wakes whoever restores a cold cache when a decision has seen it turn cold. It is told of every
 * script call, so it must cost nothing while nothing changes; a cache that stays cold wakes once.
 * Safe for threads.
 */
final class Suspicion {
  private final Semaphore turnedCold = new Semaphore(0);
  private volatile boolean warm = true;

  /** How the cache stood when it decided. */
  void seen(boolean nowWarm) {
    if (nowWarm != warm) {
      warm = nowWarm;
      if (!nowWarm && turnedCold.availablePermits() == 0) {
        turnedCold.release();
      }
    }
  }

  /** How the cache stood when it was looked at, which wakes nobody: who looked knows. */
  void looked(boolean nowWarm) {
    warm = nowWarm;
  }

  /** Waits until the cache has turned cold since the last wait, or the time is over. */
  void await(Duration atMost) throws InterruptedException {
    // whether it turned cold or the time is over, the caller looks for itself
    var unused = turnedCold.tryAcquire(atMost.toNanos(), TimeUnit.NANOSECONDS);
  }
}
