// SPDX-License-Identifier: Apache-2.0
package io.weir.testing;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/**
 * Waits for conditions. Tests use this class and never wait for a fixed time.
 *
 * <p>Every wait has the same timeout, {@link #TIMEOUT}. The timeout is far longer than any wait on
 * a busy machine. The timeout only ends tests that would otherwise wait forever. The timeout does
 * not state how long the condition should take. Measurements belong in {@code benchmarks}.
 *
 * <p>Stateless and thread-safe.
 */
public final class Await {
  /** Maximum time that a test waits for a condition. */
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
   * @param what a description of the condition, for the failure message
   * @throws AssertionError if the condition does not hold within {@link #TIMEOUT}
   * @throws Exception if the condition throws an exception
   */
  public static void until(String what, Condition condition) throws Exception {
    until(() -> what, condition);
  }

  /**
   * Waits until the condition holds.
   *
   * @param what returns a description of the condition and of the observed state, for the failure
   *     message; called only on failure
   * @throws AssertionError if the condition does not hold within {@link #TIMEOUT}
   * @throws Exception if the condition throws an exception
   */
  public static void until(Supplier<String> what, Condition condition) throws Exception {
    if (!within(TIMEOUT, condition)) {
      throw new AssertionError("timed out after " + TIMEOUT + " while waiting for: " + what.get());
    }
  }

  /**
   * Waits until the condition holds or the given time has passed, and returns whether the condition
   * holds. Only programs whose user sets the time call this method; tests call {@link #until}
   * instead.
   *
   * <p>The pause between two evaluations is as long as the last evaluation, or a tenth of the time
   * waited so far, whichever is longer. The pause is at least 2 ms and at most 100 ms. During the
   * pauses, the code under test can use the processor.
   *
   * @throws Exception if the condition throws an exception
   */
  public static boolean within(Duration limit, Condition condition) throws Exception {
    long startNanos = System.nanoTime();
    long deadlineNanos = startNanos + limit.toNanos();
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
      long pauseNanos = Math.max(nowNanos - lookNanos, (nowNanos - startNanos) / 10);
      pauseNanos = Math.min(MAX_PAUSE_NANOS, Math.max(MIN_PAUSE_NANOS, pauseNanos));
      LockSupport.parkNanos(Math.min(pauseNanos, deadlineNanos - nowNanos));
    }
  }
}
