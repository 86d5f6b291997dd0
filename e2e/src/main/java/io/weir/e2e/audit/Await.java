// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.audit;

import java.util.concurrent.TimeUnit;

/** Waits for conditions. */
public final class Await {
  private static final long LOOK_MILLIS = 50;

  private Await() {}

  /** Something that may be so. */
  public interface Condition {
    boolean isMet() throws Exception;
  }

  /**
   * Waits until it is so.
   *
   * @throws IllegalStateException when it is not in time
   */
  public static void until(String what, int seconds, Condition condition) throws Exception {
    if (!within(seconds, condition)) {
      throw new IllegalStateException("after " + seconds + " s not yet: " + what);
    }
  }

  /** Whether it becomes so in time. */
  public static boolean within(int seconds, Condition condition) throws Exception {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
    while (!condition.isMet()) {
      if (System.nanoTime() - deadline > 0) {
        return false;
      }
      TimeUnit.MILLISECONDS.sleep(LOOK_MILLIS);
    }
    return true;
  }
}
