// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Waits for a condition with a deadline. */
final class Await {
  private static final Duration DEADLINE = Duration.ofMinutes(3);
  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

  private Await() {}

  /** A condition that may need the network. */
  interface Condition {
    boolean holds() throws Exception;
  }

  static void until(String what, Condition condition) throws Exception {
    until(what, DEADLINE, condition);
  }

  static void until(String what, Duration deadline, Condition condition) throws Exception {
    long end = System.nanoTime() + deadline.toNanos();
    while (!condition.holds()) {
      if (System.nanoTime() - end > 0) {
        throw new AssertionError("waited " + deadline + " in vain for: " + what);
      }
      LockSupport.parkNanos(PAUSE_NANOS);
    }
  }
}
