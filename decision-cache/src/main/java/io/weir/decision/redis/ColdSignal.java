// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * A signal that wakes up the restoring thread when a decision finds that the cache is not restored.
 * Every script call reports the state of the cache to this signal. While the state is unchanged,
 * the signal does nothing. While the cache is not restored, the signal wakes up the thread only
 * once. Thread-safe.
 */
final class ColdSignal {
  private final Semaphore turnedCold;
  private volatile boolean warm = true;

  ColdSignal() {
    this(new Semaphore(0));
  }

  /**
   * Creates the signal of one of several servers. One thread waits for the signals of all servers.
   *
   * @param turnedCold semaphore on which the thread waits
   */
  ColdSignal(Semaphore turnedCold) {
    this.turnedCold = turnedCold;
  }

  /** Returns whether the cache was warm at the last decision or query. */
  boolean isWarm() {
    return warm;
  }

  /** Records whether the cache was warm when it made a decision. */
  void seen(boolean nowWarm) {
    if (nowWarm != warm) {
      warm = nowWarm;
      if (!nowWarm && turnedCold.availablePermits() == 0) {
        turnedCold.release();
      }
    }
  }

  /**
   * Records whether the cache was warm when it was queried. Does not wake up the restoring thread,
   * because this thread is the caller and knows the result.
   */
  void looked(boolean nowWarm) {
    warm = nowWarm;
  }

  /**
   * Waits until the cache becomes cold, or until the time has elapsed. Returns immediately if the
   * cache has become cold since the last wait.
   */
  void await(Duration atMost) throws InterruptedException {
    // the caller queries the cache in both cases
    var unused = turnedCold.tryAcquire(atMost.toNanos(), TimeUnit.NANOSECONDS);
  }
}
