// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigInteger;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class SlidingWindowTest {
  private static final int SEEDS = 400;
  private static final long SECOND_MICROS = 1_000_000;
  private static final int LATE_MICROS = 2;
  private static final long START_SECOND = 1_800_000_000;

  /** The buckets of one client. The arithmetic under test makes each decision. */
  private static final class Buckets {
    private final Map<String, BucketState> kept = new HashMap<>();

    private static String key(PeriodicLimit.Span span) {
      return BucketKey.of("p", "c").in(span.endEpochSecond()).text();
    }

    private static PeriodicLimit.Span span(SlidingWindow window, long nowMicros) {
      return window.at(nowMicros / 1_000, ClientCalendar.OF_POLICY);
    }

    CountedBucket at(SlidingWindow window, long nowMicros) {
      return as(window, nowMicros, nowMicros);
    }

    /** The buckets for a caller whose clock differs from the cache's clock. */
    CountedBucket as(SlidingWindow window, long callerMicros, long nowMicros) {
      PeriodicLimit.Span span = span(window, callerMicros);
      return (CountedBucket) window.in(span).view(key(span), kept::get, nowMicros);
    }

    boolean take(SlidingWindow window, long cost, long nowMicros) {
      return takeAs(window, cost, nowMicros, nowMicros);
    }

    boolean takeAs(SlidingWindow window, long cost, long callerMicros, long nowMicros) {
      CountedBucket bucket = as(window, callerMicros, nowMicros);
      if (!bucket.holds(cost)) {
        return false;
      }
      kept.put(key(span(window, callerMicros)), bucket.charged(cost).state());
      return true;
    }

    long remaining(SlidingWindow window, long nowMicros) {
      return at(window, nowMicros).remainingTokens();
    }

    long retryAfter(SlidingWindow window, long cost, long nowMicros) {
      return at(window, nowMicros).retryAfterMicros(cost);
    }

    long reset(SlidingWindow window, long nowMicros) {
      return at(window, nowMicros).resetMicros();
    }
  }

  private static long at(double second) {
    return START_SECOND * SECOND_MICROS + Math.round(second * SECOND_MICROS);
  }

  @Test
  void previousMinute_countsByThePartThatTheWindowCovers() {
    SlidingWindow minute = new SlidingWindow(100, 60, 1);
    Buckets buckets = new Buckets();
    assertTrue(buckets.take(minute, 80, at(30)));
    assertTrue(buckets.take(minute, 30, at(60 + 45)));

    assertEquals(100 - 30 - 20, buckets.remaining(minute, at(60 + 45)));
    assertEquals(100 - 30 - 8, buckets.remaining(minute, at(60 + 54)));
    assertEquals(70, buckets.remaining(minute, at(120)));
  }

  @Test
  void denied_saysWhenTheCostFits_andWhenNothingCounts() {
    SlidingWindow minute = new SlidingWindow(100, 60, 1);
    Buckets buckets = new Buckets();
    assertEquals(0, buckets.reset(minute, at(30)));
    assertTrue(buckets.take(minute, 100, at(30)));

    // 600 ms after the start of the next minute, one of the 100 tokens no longer counts
    assertEquals(30_600_000, buckets.retryAfter(minute, 1, at(30)));
    assertEquals(90_000_000, buckets.reset(minute, at(30)));
    assertEquals(90_000_000, buckets.retryAfter(minute, 100, at(30)));
    assertEquals(-1, buckets.retryAfter(minute, 101, at(30)));
  }

  @Test
  void limitThatIsLowered_keepsWhatWasUsed() {
    SlidingWindow minute = new SlidingWindow(1_000, 60, 1);
    Buckets buckets = new Buckets();
    assertTrue(buckets.take(minute, 1_000, at(59)));

    SlidingWindow lowered = minute.withCapacity(100);
    assertFalse(buckets.take(lowered, 1, at(60)));
    assertEquals(54_000_000 + 60_000, buckets.retryAfter(lowered, 1, at(60)));
    assertTrue(buckets.take(lowered, 1, at(60) + 54_060_000));
    // the count is far too large to be weighted exactly under the lower limit: still denied, and in
    // range
    SlidingWindow huge = new SlidingWindow(1L << 28, 366L * 86_400, 1);
    Buckets others = new Buckets();
    long day = 366L * 86_400 * SECOND_MICROS;
    long inYear = at(0) / day * day + 5;
    assertTrue(others.take(huge, 1L << 28, inYear));
    assertFalse(others.take(huge.withCapacity(1), 1, inYear + day));
    assertTrue(others.retryAfter(huge.withCapacity(1), 1, inYear + day) > 0);
  }

  @Test
  void callerThatIsLateAtABoundary_countsTheNewSubWindow() {
    SlidingWindow window = new SlidingWindow(100, 60, 4);
    Buckets buckets = new Buckets();
    assertTrue(buckets.take(window, 30, at(14)));
    long now = at(15) + 2_000;
    assertTrue(buckets.take(window, 60, now));
    CountedBucket late = buckets.as(window, at(14), now);

    assertEquals(10, late.remainingTokens());
    assertEquals(10, buckets.remaining(window, now));
    assertFalse(late.holds(11));
    // the weight of the 30 tokens falls from second 60 on, the weight of the 60 tokens from second
    // 75 on
    assertEquals(45_000_000 + 500_000 - 2_000, late.retryAfterMicros(11));
    assertEquals(75_000_000 - 2_000, late.resetMicros());
  }

  @Test
  void callersBeforeTheBoundary_countWhatOneThatIsAheadHasTaken() {
    SlidingWindow window = new SlidingWindow(100, 60, 1);
    Buckets buckets = new Buckets();
    long now = at(60) - 1_000;
    assertTrue(buckets.takeAs(window, 60, at(60), now));

    assertEquals(40, buckets.remaining(window, now));
    assertTrue(buckets.take(window, 40, now));
    assertFalse(buckets.as(window, at(60), now).holds(1));
  }

  @ParameterizedTest
  @CsvSource({
    "0, 60, 1, limit must be between 1 and",
    "5, 0, 1, window (s) must be between 1 and",
    "5, 31622401, 1, window (s) must be between 1 and",
    "5, 60, 0, sub_windows must be between 1 and 60",
    "5, 61, 61, sub_windows must be between 1 and 60",
    "5, 60, 7, window must be a multiple of sub_windows in seconds",
    "9007199254740991, 60, 1, cannot be weighted exactly"
  })
  void create_outOfRange_isRefused(long limit, long seconds, int subWindows, String problem) {
    IllegalArgumentException refused =
        assertThrows(
            IllegalArgumentException.class, () -> new SlidingWindow(limit, seconds, subWindows));
    assertTrue(String.valueOf(refused.getMessage()).contains(problem), refused::toString);
  }

  @Test
  void isNoWiderThan_onlyTheSameWindow() {
    SlidingWindow window = new SlidingWindow(5, 60, 4);
    assertTrue(window.isNoWiderThan(new SlidingWindow(6, 60, 4)));
    assertFalse(window.isNoWiderThan(new SlidingWindow(4, 60, 4)));
    assertFalse(window.isNoWiderThan(new SlidingWindow(6, 60, 2)));
    assertFalse(
        window.isNoWiderThan(new FixedWindow(6, 60, FixedWindow.Alignment.EPOCH, ZoneOffset.UTC)));
    assertEquals("5 tokens in any PT1M, counted in 4 sub-windows", window.describe());
  }

  /**
   * A call and its time.
   *
   * @param subWindow sub-window that the caller selected, counted from 1970
   */
  private record Taken(long atMicros, long subWindow, long cost) {}

  /**
   * Compares random calls, some with early or late clocks at a boundary, with an exact count in
   * fractions. The times in each reply are compared with later calls.
   */
  @Test
  void randomCalls_followTheDefinition_andTheirTimesAreExact() {
    for (long seed = 1; seed <= SEEDS; seed++) {
      Random random = new Random(seed);
      int subWindows = 1 + random.nextInt(6);
      SlidingWindow window =
          new SlidingWindow(
              1 + random.nextInt(30), (long) subWindows * (1 + random.nextInt(4)), subWindows);
      Buckets buckets = new Buckets();
      List<Taken> taken = new ArrayList<>();
      long now = at(random.nextInt(100)) + random.nextInt(1_000_000);
      for (int i = 0; i < 120; i++) {
        if (random.nextInt(40) == 0) {
          window = window.withCapacity(1 + random.nextInt(30));
        }
        now +=
            random.nextInt(9) == 0
                ? random.nextLong(3 * window.lengthSeconds() * SECOND_MICROS)
                : random.nextLong(window.lengthSeconds() * SECOND_MICROS / 8);
        long sub = window.subWindowSeconds() * SECOND_MICROS;
        long caller = now + (random.nextInt(5) == 0 ? random.nextLong(-sub, sub) : 0);
        String where = "seed " + seed + " call " + i + " " + window + " by " + (caller - now);
        long cost = 1L + random.nextInt(4);
        long left = Math.max(0, window.capacityTokens() - used(window, taken, caller, now));
        CountedBucket bucket = buckets.as(window, caller, now);
        assertEquals(left, bucket.remainingTokens(), where);
        if (caller / sub == now / sub) {
          requireTimes(window, bucket, taken, cost, now, where);
        }
        boolean holds = left >= cost;
        assertEquals(holds, buckets.takeAs(window, cost, caller, now), where);
        if (holds) {
          taken.add(new Taken(now, caller / sub, cost));
        }
      }
    }
  }

  private static void requireTimes(
      SlidingWindow window,
      CountedBucket bucket,
      List<Taken> taken,
      long cost,
      long now,
      String where) {
    long most = window.capacityTokens() - cost;
    long retry = bucket.retryAfterMicros(cost);
    if (most < 0) {
      assertEquals(-1, retry, where);
    } else if (retry == 0) {
      assertTrue(used(window, taken, now, now) <= most, where);
    } else {
      long then = now + retry;
      assertTrue(used(window, taken, then, then) <= most, where + " retry " + retry);
      assertTrue(used(window, taken, then - 1, then - 1) > most, where + " retry " + retry);
    }
    long reset = bucket.resetMicros();
    assertEquals(0, used(window, taken, now + reset, now + reset), where);
    assertTrue(reset == 0 || used(window, taken, now + reset - 1, now + reset - 1) > 0, where);
  }

  /** Returns the number of tokens that count for a caller, rounded up. */
  private static long used(SlidingWindow window, List<Taken> taken, long caller, long now) {
    long sub = window.subWindowSeconds() * SECOND_MICROS;
    long left = Math.max(0, Math.min(sub, (caller / sub + 1) * sub - now));
    BigInteger parts = BigInteger.ZERO;
    for (Taken call : taken) {
      long age = caller / sub - call.subWindow;
      long weight =
          age >= -1 && age < window.subWindows() ? sub : age == window.subWindows() ? left : 0;
      parts = parts.add(BigInteger.valueOf(call.cost).multiply(BigInteger.valueOf(weight)));
    }
    return parts.add(BigInteger.valueOf(sub - 1)).divide(BigInteger.valueOf(sub)).longValueExact();
  }

  /**
   * Checks the documented bound for every interval that ends with an admitted call. The interval
   * begins later by the delay of the callers.
   */
  @Test
  void randomBursts_stayWithinTheBound() {
    for (long seed = 1; seed <= SEEDS; seed++) {
      Random random = new Random(seed);
      int subWindows = 1 + random.nextInt(4);
      SlidingWindow window = new SlidingWindow(20, 12, subWindows);
      long sub = window.subWindowSeconds() * SECOND_MICROS;
      Buckets buckets = new Buckets();
      List<Taken> taken = new ArrayList<>();
      long now = at(0);
      for (int i = 0; i < 300; i++) {
        // bursts shortly before and after the boundaries
        now =
            random.nextInt(6) == 0
                ? (now / sub + 1 + random.nextInt(subWindows + 1)) * sub - random.nextInt(3)
                : now + random.nextInt(2);
        long caller = now + random.nextInt(2 * LATE_MICROS + 1) - LATE_MICROS;
        if (!buckets.takeAs(window, 1, caller, now)) {
          continue;
        }
        taken.add(new Taken(now, caller / sub, 1));
        long from = now - window.lengthSeconds() * SECOND_MICROS + LATE_MICROS;
        long oldest = 0;
        long inInterval = 0;
        for (Taken call : taken) {
          inInterval += call.atMicros > from ? 1 : 0;
          oldest += call.subWindow == now / sub - subWindows ? 1 : 0;
        }
        // a caller whose clock is ahead gives the oldest sub-window the weight 0
        double bound = 20 + oldest * (double) (now % sub + LATE_MICROS) / sub;
        assertTrue(inInterval <= bound, "seed " + seed + ": " + inInterval + " > " + bound);
      }
    }
  }
}
