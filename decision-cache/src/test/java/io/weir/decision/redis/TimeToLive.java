// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertTrue;

/**
 * For how long a key is to be kept, counted from a moment before that was said; the server may have
 * been told any time later.
 */
record TimeToLive(long beganNanos, long millis) {
  /** The server counts whole milliseconds of another clock. */
  private static final long CLOCK_MILLIS = 10;

  static TimeToLive setAfter(long beganNanos, long millis) {
    return new TimeToLive(beganNanos, millis);
  }

  /** Asserts that what is left, as just read, has run down by no more than the time since then. */
  void assertIs(long leftMillis, String where) {
    long passedMillis = (System.nanoTime() - beganNanos) / 1_000_000;
    assertTrue(
        leftMillis <= millis && leftMillis >= millis - passedMillis - CLOCK_MILLIS,
        () -> where + " TTL " + leftMillis + " of " + millis + " after " + passedMillis + " ms");
  }
}
