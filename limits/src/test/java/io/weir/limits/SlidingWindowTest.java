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
  private static final long START_SECOND = 1_800_000_000;

  /** The buckets of one client, each decision by the arithmetic under test. */
  private static final class Buckets {
    private final Map<String, BucketState> kept = new HashMap<>();

    private static String key(PeriodicLimit.Span span) {
      return BucketKey.of("p", "c").in(span.endEpochSecond()).text();
    }

    private static PeriodicLimit.Span span(SlidingWindow window, long nowMicros) {
      return window.at(nowMicros / 1_000, ClientCalendar.OF_POLICY);
    }

    CountedBucket at(SlidingWindow window, long nowMicros) {
      PeriodicLimit.Span span = span(window, nowMicros);
      return (CountedBucket) window.in(span).view(key(span), kept::get, nowMicros);
    }

    boolean take(SlidingWindow window, long cost, long nowMicros) {
      CountedBucket bucket = at(window, nowMicros);
      if (!bucket.holds(cost)) {
        return false;
      }
      kept.put(key(span(window, nowMicros)), bucket.charged(cost).state());
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

    // one of the 100 is gone 600 ms into the next minute
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
    // far above what can be weighted exactly under the lower limit: still denied, and in range
    SlidingWindow huge = new SlidingWindow(1L << 28, 366L * 86_400, 1);
    Buckets others = new Buckets();
    long day = 366L * 86_400 * SECOND_MICROS;
    long inYear = at(0) / day * day + 5;
    assertTrue(others.take(huge, 1L << 28, inYear));
    assertFalse(others.take(huge.withCapacity(1), 1, inYear + day));
    assertTrue(others.retryAfter(huge.withCapacity(1), 1, inYear + day) > 0);
  }

  /** The limitation of a node whose idea of the time is behind at a boundary. */
  @Test
  void callerThatIsLateAtABoundary_countsAllButTheNewSubWindow() {
    SlidingWindow window = new SlidingWindow(100, 60, 4);
    Buckets buckets = new Buckets();
    assertTrue(buckets.take(window, 30, at(14)));
    long now = at(15) + 2_000;
    assertTrue(buckets.take(window, 70, now));
    PeriodicLimit.Span before = Buckets.span(window, at(14));
    BucketView late = window.in(before).view(Buckets.key(before), buckets.kept::get, now);

    assertTrue(late.holds(70));
    assertFalse(late.holds(71));
    assertEquals(0, buckets.remaining(window, now));
  }

  @ParameterizedTest
  @CsvSource({
    "0, 60, 1, limit must be 1 to",
    "5, 0, 1, window (s) must be 1 to",
    "5, 31622401, 1, window (s) must be 1 to",
    "5, 60, 0, sub_windows must be 1 to 60",
    "5, 61, 61, sub_windows must be 1 to 60",
    "5, 60, 7, window must be sub_windows of whole seconds",
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
    assertEquals("5 tokens in any PT1M, by 4 sub-windows", window.describe());
  }

  /** A call as it was made. */
  private record Taken(long atMicros, long cost) {}

  /**
   * Random calls against counting all of them anew, in fractions without rounding; each answer's
   * times are held against what the calls then find.
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
        String where = "seed " + seed + " call " + i + " " + window;
        long cost = 1L + random.nextInt(4);
        long left = Math.max(0, window.capacityTokens() - used(window, taken, now));
        assertEquals(left, buckets.remaining(window, now), where);
        requireTimes(window, buckets, taken, cost, now, where);
        boolean holds = left >= cost;
        assertEquals(holds, buckets.take(window, cost, now), where);
        if (holds) {
          taken.add(new Taken(now, cost));
        }
      }
    }
  }

  private static void requireTimes(
      SlidingWindow window, Buckets buckets, List<Taken> taken, long cost, long now, String where) {
    long most = window.capacityTokens() - cost;
    long retry = buckets.retryAfter(window, cost, now);
    if (most < 0) {
      assertEquals(-1, retry, where);
    } else if (retry == 0) {
      assertTrue(used(window, taken, now) <= most, where);
    } else {
      assertTrue(used(window, taken, now + retry) <= most, where + " retry " + retry);
      assertTrue(used(window, taken, now + retry - 1) > most, where + " retry " + retry);
    }
    long reset = buckets.reset(window, now);
    assertEquals(0, used(window, taken, now + reset), where);
    assertTrue(reset == 0 || used(window, taken, now + reset - 1) > 0, where);
  }

  /** Returns what counts at a time, rounded up. */
  private static long used(SlidingWindow window, List<Taken> taken, long now) {
    long sub = window.subWindowSeconds() * SECOND_MICROS;
    BigInteger parts = BigInteger.ZERO;
    for (Taken call : taken) {
      long age = now / sub - call.atMicros / sub;
      long weight =
          age < window.subWindows() ? sub : age == window.subWindows() ? sub - now % sub : 0;
      parts = parts.add(BigInteger.valueOf(call.cost).multiply(BigInteger.valueOf(weight)));
    }
    return parts.add(BigInteger.valueOf(sub - 1)).divide(BigInteger.valueOf(sub)).longValueExact();
  }

  /** The bound of its documentation, over every interval that ends with an admitted call. */
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
        if (!buckets.take(window, 1, now)) {
          continue;
        }
        taken.add(new Taken(now, 1));
        long from = now - window.lengthSeconds() * SECOND_MICROS;
        long oldest = 0;
        long inInterval = 0;
        for (Taken call : taken) {
          inInterval += call.atMicros > from ? 1 : 0;
          oldest += call.atMicros / sub == now / sub - subWindows ? 1 : 0;
        }
        double bound = 20 + oldest * (double) (now % sub) / sub;
        assertTrue(inInterval <= bound, "seed " + seed + ": " + inInterval + " > " + bound);
      }
    }
  }
}
