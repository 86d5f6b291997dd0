// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;

/** A signal of changes of the table, on which requests wait. Thread-safe. */
public final class ProgressSignal {
  /**
   * Maximum time between two checks of a condition. A restored table changes without a signal, so a
   * waiting request also checks its condition after this time.
   */
  private static final long MAX_NAP_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition moved = lock.newCondition();

  /** Wakes the waiting requests because the table has changed. */
  public void signal() {
    lock.lock();
    try {
      moved.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Waits until a condition on the table is true. Returns false if the timeout has expired first.
   */
  public boolean await(BooleanSupplier condition, Duration atMost) throws InterruptedException {
    long end = System.nanoTime() + atMost.toNanos();
    lock.lock();
    try {
      while (!condition.getAsBoolean()) {
        long left = end - System.nanoTime();
        if (left <= 0) {
          return false;
        }
        moved.awaitNanos(Math.min(left, MAX_NAP_NANOS));
      }
      return true;
    } finally {
      lock.unlock();
    }
  }
}
