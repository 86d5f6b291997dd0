// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.trace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

final class TraceRateTest {
  private static final long SECOND = 1_000_000_000;

  private static int taken(TraceRate rate, int tries, long nowNanos) {
    int taken = 0;
    for (int i = 0; i < tries; i++) {
      taken += rate.tryTake(nowNanos) ? 1 : 0;
    }
    return taken;
  }

  @Test
  void tryTake_atOnce_admitsTheRateOfASecond() {
    assertEquals(100, taken(new TraceRate(100, 5), 1_000, 5));
  }

  @Test
  void tryTake_afterABurst_admitsOneEachInterval() {
    TraceRate rate = new TraceRate(100, 0);
    taken(rate, 1_000, 0);

    assertFalse(rate.tryTake(SECOND / 100 - 1));
    assertTrue(rate.tryTake(SECOND / 100));
    assertFalse(rate.tryTake(SECOND / 100));
  }

  @Test
  void tryTake_afterALongPause_savesNoMoreThanASecond() {
    TraceRate rate = new TraceRate(3, 0);

    assertEquals(3, taken(rate, 100, 3_600 * SECOND));
  }

  @Test
  void tryTake_overAMinute_admitsTheRateAndOneBurst() {
    TraceRate rate = new TraceRate(10, 0);
    int taken = 0;
    for (long now = 0; now < 60 * SECOND; now += SECOND / 1_000) {
      taken += rate.tryTake(now) ? 1 : 0;
    }

    assertTrue(taken >= 600 && taken <= 610, "admitted " + taken);
  }

  /** {@link System#nanoTime} may be negative, and may overflow. */
  @Test
  void tryTake_whenTheClockOverflows_goesOn() {
    long begun = Long.MAX_VALUE;
    begun -= 10;
    TraceRate rate = new TraceRate(1, begun);

    assertTrue(rate.tryTake(begun));
    assertFalse(rate.tryTake(Long.MAX_VALUE));
    assertTrue(rate.tryTake(begun + SECOND));
  }
}
