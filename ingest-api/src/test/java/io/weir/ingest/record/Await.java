// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;

/** Waits for a condition, not for a time. */
public final class Await {
  private Await() {}

  public static void until(String what, Duration patience, Callable<Boolean> condition)
      throws Exception {
    long deadlineNanos = System.nanoTime() + patience.toNanos();
    while (!condition.call()) {
      if (System.nanoTime() - deadlineNanos > 0) {
        throw new AssertionError("not within " + patience + ": " + what);
      }
      TimeUnit.MILLISECONDS.sleep(2);
    }
  }
}
