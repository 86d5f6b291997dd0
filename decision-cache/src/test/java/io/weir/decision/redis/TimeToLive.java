// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertTrue;

/**
 * The time to live of a key, from a time before the command was sent. The server may have received
 * the command at any later time.
 */
record TimeToLive(long beganNanos, long millis) {
  /** Tolerance, because the server uses whole milliseconds of another clock. */
  private static final long CLOCK_MILLIS = 10;

  static TimeToLive setAfter(long beganNanos, long millis) {
    return new TimeToLive(beganNanos, millis);
  }

  /**
   * Asserts that the remaining time, which was just read, has decreased by at most the elapsed
   * time.
   */
  void assertIs(long leftMillis, String where) {
    long passedMillis = (System.nanoTime() - beganNanos) / 1_000_000;
    assertTrue(
        leftMillis <= millis && leftMillis >= millis - passedMillis - CLOCK_MILLIS,
        () -> where + " TTL " + leftMillis + " of " + millis + " after " + passedMillis + " ms");
  }
}
