// SPDX-License-Identifier: Apache-2.0
package io.weir.testing;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/**
 * Waits for a condition instead of for a length of time.
 *
 * <p>Every wait has the same limit, {@link #TIMEOUT}. It says nothing about expected speed: it is
 * far longer than anything takes on a machine that is busy with other work, and only ends a test
 * that would otherwise wait forever. Measurements of speed belong in {@code benchmarks}.
 *
 * <p>Thread-safe; keeps no state.
 */
public final class Await {
  /** Longest time that any test waits for any condition. */
  public static final Duration TIMEOUT = Duration.ofMinutes(3);

  private static final long MIN_PAUSE_NANOS = 2_000_000;
  private static final long MAX_PAUSE_NANOS = 100_000_000;

  private Await() {}

  /** A condition that is expected to become true. */
  @FunctionalInterface
  public interface Condition {
    /** Returns whether the condition is true now. An exception ends the wait. */
    boolean holds() throws Exception;
  }

  /**
   * Waits until the condition holds.
   *
   * @param what the condition in words, for the failure message
   * @throws AssertionError if it does not hold within {@link #TIMEOUT}
   * @throws Exception if the condition throws it
   */
  public static void until(String what, Condition condition) throws Exception {
    until(() -> what, condition);
  }

  /**
   * Waits until the condition holds.
   *
   * @param what the condition, and what was seen instead; called only on failure
   * @throws AssertionError if it does not hold within {@link #TIMEOUT}
   * @throws Exception if the condition throws it
   */
  public static void until(Supplier<String> what, Condition condition) throws Exception {
    if (!within(TIMEOUT, condition)) {
      throw new AssertionError("waited " + TIMEOUT + " in vain for: " + what.get());
    }
  }

  /**
   * Waits until the condition holds, but no longer than a limit, and returns whether it did. For
   * programs whose user sets the limit; a test calls {@link #until}.
   *
   * <p>Pauses between two evaluations for as long as the last one took, at least 2 ms and at most
   * 100 ms, so that an expensive condition does not take the processor from what it waits for.
   *
   * @throws Exception if the condition throws it
   */
  public static boolean within(Duration limit, Condition condition) throws Exception {
    long deadlineNanos = System.nanoTime() + limit.toNanos();
    while (true) {
      long lookNanos = System.nanoTime();
      if (condition.holds()) {
        return true;
      }
      long nowNanos = System.nanoTime();
      if (nowNanos - deadlineNanos >= 0) {
        return false;
      }
      if (Thread.interrupted()) {
        throw new InterruptedException("interrupted while waiting");
      }
      long pauseNanos = Math.min(MAX_PAUSE_NANOS, Math.max(MIN_PAUSE_NANOS, nowNanos - lookNanos));
      LockSupport.parkNanos(Math.min(pauseNanos, deadlineNanos - nowNanos));
    }
  }
}
