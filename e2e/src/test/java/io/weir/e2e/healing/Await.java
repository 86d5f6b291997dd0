// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.healing;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** Waits for a condition, with a deadline. */
final class Await {
  private static final long POLL_MILLIS = 20;

  private Await() {}

  /** Something that may come true. */
  interface Condition {
    boolean holds() throws Exception;
  }

  /** Waits until the condition holds. */
  static void until(Duration atMost, Condition condition, Supplier<String> otherwise)
      throws Exception {
    long deadline = System.nanoTime() + atMost.toNanos();
    while (!condition.holds()) {
      if (System.nanoTime() > deadline) {
        throw new AssertionError("not within " + atMost + ": " + otherwise.get());
      }
      TimeUnit.MILLISECONDS.sleep(POLL_MILLIS);
    }
  }

  /** Lets a load run for a while. */
  static void pass(Duration time) throws InterruptedException {
    TimeUnit.NANOSECONDS.sleep(time.toNanos());
  }
}
