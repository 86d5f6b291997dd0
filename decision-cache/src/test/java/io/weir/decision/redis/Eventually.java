// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.decision.correction.CacheUnavailableException;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits for what happens in the background. */
final class Eventually {
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  private Eventually() {}

  /** What may find the cache away. */
  interface Attempt {
    void run() throws CacheUnavailableException;
  }

  static void await(String what, BooleanSupplier condition) {
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (!condition.getAsBoolean()) {
      assertTrue(System.nanoTime() < end, () -> "waited " + PATIENCE + " for " + what);
      LockSupport.parkNanos(1_000_000);
    }
  }

  static boolean succeeds(Attempt attempt) {
    try {
      attempt.run();
      return true;
    } catch (CacheUnavailableException away) {
      return false;
    }
  }
}
