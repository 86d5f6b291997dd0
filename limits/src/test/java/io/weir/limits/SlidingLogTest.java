// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class SlidingLogTest {
  private static final int SEEDS = 300;
  private static final long START = 1_800_000_000_000_000L;

  private static LoggedBucket at(SlidingLog limit, LogState log, long nowMicros) {
    return new LoggedBucket(limit, log, nowMicros);
  }

  @Test
  void call_countsForExactlyOneWindow() {
    SlidingLog limit = new SlidingLog(3, 1_000);
    LogState log = at(limit, LogState.EMPTY, START).charged(2).log();
    log = at(limit, log, START + 400).charged(1).log();

    LoggedBucket full = at(limit, log, START + 999);
    assertEquals(0, full.remainingTokens());
    assertFalse(full.holds(1));
    assertEquals(1, full.retryAfterMicros(1));
    assertEquals(1, full.retryAfterMicros(2));
    assertEquals(401, full.retryAfterMicros(3));
    assertEquals(-1, full.retryAfterMicros(4));
    assertEquals(401, full.resetMicros());
    assertEquals(2, at(limit, log, START + 1_000).remainingTokens());
    assertEquals(3, at(limit, log, START + 1_400).remainingTokens());
    assertEquals(0, at(limit, log, START + 1_400).resetMicros());
    assertThrows(IllegalArgumentException.class, () -> full.charged(1));
  }

  @Test
  void clockThatIsSetBack_keepsCallsForLonger_butNotBeyondAWindow() {
    SlidingLog limit = new SlidingLog(2, 1_000);
    LogState log = at(limit, LogState.EMPTY, START).charged(1).log();

    LogState earlier = at(limit, log, START - 600).charged(1).log();
    assertEquals(START, earlier.atMicros(1));
    assertEquals(1_600, at(limit, earlier, START - 600).retryAfterMicros(1));
    assertEquals(2, at(limit, earlier, START - 1_001).remainingTokens());
    assertEquals(START - 1_001, at(limit, earlier, START - 1_001).charged(1).log().atMicros(0));
  }

  @ParameterizedTest
  @CsvSource({
    "0, 5, limit must be between 1 and 10000",
    "10001, 5, limit must be between 1 and 10000",
    "5, 0, window (µs) must be between 1 and",
    "5, 31622400000001, window (µs) must be between 1 and"
  })
  void create_outOfRange_isRefused(long limit, long windowMicros, String problem) {
    IllegalArgumentException refused =
        assertThrows(IllegalArgumentException.class, () -> new SlidingLog(limit, windowMicros));
    assertTrue(String.valueOf(refused.getMessage()).contains(problem), refused::toString);
  }

  private record Taken(long atMicros, long cost) {}

  /**
   * Checks the exact bound: a call is denied only if the window before it does not hold its cost.
   */
  @Test
  void randomCalls_areAdmittedByTheWindowBeforeThem_andTimesAreExact() {
    for (long seed = 1; seed <= SEEDS; seed++) {
      Random random = new Random(seed);
      SlidingLog limit = new SlidingLog(1 + random.nextInt(20), 1 + random.nextInt(1_000));
      List<Taken> taken = new ArrayList<>();
      LogState log = LogState.EMPTY;
      long now = START;
      for (int i = 0; i < 150; i++) {
        now += random.nextInt(12) == 0 ? random.nextInt(2_500) : random.nextInt(60);
        String where = "seed " + seed + " call " + i + " " + limit;
        LoggedBucket bucket = at(limit, log, now);
        long cost = 1L + random.nextInt(4);
        long left = limit.capacityTokens() - used(limit, taken, now);
        assertEquals(left, bucket.remainingTokens(), where);
        assertEquals(left >= cost, bucket.holds(cost), where);
        long retry = bucket.retryAfterMicros(cost);
        if (cost > limit.capacityTokens()) {
          assertEquals(-1, retry, where);
        } else if (left < cost) {
          long most = limit.capacityTokens() - cost;
          assertTrue(used(limit, taken, now + retry) <= most, where);
          assertTrue(used(limit, taken, now + retry - 1) > most, where);
        } else {
          assertEquals(0, retry, where);
          log = bucket.charged(cost).log();
          taken.add(new Taken(now, cost));
          assertTrue(log.size() <= limit.capacityTokens(), where);
        }
        long reset = at(limit, log, now).resetMicros();
        assertEquals(0, used(limit, taken, now + reset), where);
        assertTrue(reset == 0 || used(limit, taken, now + reset - 1) > 0, where);
      }
    }
  }

  private static long used(SlidingLog limit, List<Taken> taken, long now) {
    return taken.stream()
        .filter(call -> call.atMicros > now - limit.windowMicros())
        .mapToLong(Taken::cost)
        .sum();
  }
}
