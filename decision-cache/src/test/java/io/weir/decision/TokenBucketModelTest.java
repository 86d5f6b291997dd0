// SPDX-License-Identifier: Apache-2.0
package io.weir.decision;

import static io.weir.limits.TokenBucketLimit.EXACT_BELOW;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.BucketState;
import io.weir.limits.TokenBucket;
import io.weir.limits.TokenBucketLimit;
import java.math.BigInteger;
import java.util.ArrayDeque;
import java.util.Deque;
import org.junit.jupiter.api.Test;

/**
 * Compares the bucket with an ideal bucket that uses exact fractions and refills continuously. If a
 * tick is 1 µs, both are equal. If a tick is longer, the bucket never holds more than the ideal
 * bucket, and lags by less than two ticks. It lags by one more tick for each time that the clock
 * stepped back by more than a fill time.
 */
class TokenBucketModelTest {
  private static final long FIRST_SEED = Long.getLong("weir.test.seed", 1);
  private static final int SEEDS = 2_000;
  private static final int STEPS = 60;

  @Test
  void bucket_randomCallsAndClocks_agreesWithTheIdealOne() {
    for (long seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
      run(seed);
    }
  }

  private static void run(long seed) {
    EdgeNumbers numbers = new EdgeNumbers(seed);
    TokenBucketLimit limit = numbers.limit();
    TokenBucket bucket = TokenBucket.of(limit);
    boolean exact = limit.scale().tickMicros() == 1;
    Ideal ideal = new Ideal(limit);
    BucketState kept = null;
    long now = 1_800_000_000_000_000L;
    for (int step = 0; step < STEPS; step++) {
      long cost = numbers.cost(limit);
      String where = "weir.test.seed=" + seed + " step " + step + ": " + limit + " cost " + cost;

      if (numbers.random().nextInt(10) == 0) {
        // after a correction, the bucket may have any level, including a debt
        long levelUnits = limit.scale().capacityUnits() - numbers.upTo(EXACT_BELOW) + 1;
        kept = bucket.atLevel(BucketState.NONE.begun(now), levelUnits, now);
        ideal.set(levelUnits, now);
      }
      BucketState refilled = bucket.refill(kept, now);
      ideal.advance(now);
      boolean holds = bucket.holds(refilled, cost);
      if (exact) {
        assertEquals(ideal.holds(cost), holds, where);
        assertEquals(
            ideal.level.floor().max(BigInteger.ZERO),
            BigInteger.valueOf(bucket.remainingTokens(refilled)),
            where);
        assertEquals(
            ideal.waitFor(BigInteger.valueOf(limit.capacityTokens())),
            bucket.resetMicros(refilled, now),
            where);
        if (bucket.canHold(cost)) {
          assertEquals(
              ideal.waitFor(BigInteger.valueOf(cost)),
              bucket.retryAfterMicros(refilled, cost, now),
              where);
        }
      } else {
        assertLag(limit, refilled, ideal, where);
      }
      if (holds) {
        kept = bucket.charge(refilled, cost, now);
        ideal.take(cost);
        assertTrue(bucket.ttlMillis(kept, now) * 1_000 > bucket.resetMicros(kept, now), where);
      } else if (bucket.canHold(cost)) {
        assertRetryIsExact(bucket, refilled, cost, now, where);
      }
      now = Math.max(1, Math.min(now + numbers.stepMicros(limit), 1L << 52));
    }
  }

  private static void assertLag(
      TokenBucketLimit limit, BucketState refilled, Ideal ideal, String where) {
    BigInteger unitsPerToken = BigInteger.valueOf(limit.scale().unitsPerToken());
    Fraction held = new Fraction(BigInteger.valueOf(refilled.units()), unitsPerToken);
    BigInteger ticks = BigInteger.valueOf(2 + ideal.pulledBack);
    Fraction lag =
        new Fraction(
            BigInteger.valueOf(limit.scale().unitsPerTick()).multiply(ticks), unitsPerToken);
    assertTrue(held.compareTo(ideal.level) <= 0, where + " held " + held + " " + ideal.level);
    assertTrue(
        ideal.level.compareTo(held.plus(lag)) < 0, where + " held " + held + " " + ideal.level);
  }

  /**
   * At now + retry the bucket has enough tokens for the cost. One microsecond earlier it does not.
   */
  private static void assertRetryIsExact(
      TokenBucket bucket, BucketState refilled, long cost, long now, String where) {
    long retryMicros = bucket.retryAfterMicros(refilled, cost, now);
    assertTrue(retryMicros > 0, where);
    if (retryMicros < TokenBucket.MAX_WAIT_MICROS) {
      assertTrue(bucket.holds(bucket.refill(refilled, now + retryMicros), cost), where);
      assertTrue(!bucket.holds(bucket.refill(refilled, now + retryMicros - 1), cost), where);
    }
  }

  @Test
  void bucket_randomCalls_admitsAtMostCapacityAndRateInAnyInterval() {
    for (long seed = FIRST_SEED; seed < FIRST_SEED + 300; seed++) {
      EdgeNumbers numbers = new EdgeNumbers(seed);
      TokenBucketLimit limit = numbers.limit();
      TokenBucket bucket = TokenBucket.of(limit);
      Deque<long[]> admitted = new ArrayDeque<>();
      BucketState kept = null;
      long now = 1_800_000_000_000_000L;
      for (int step = 0; step < 100; step++) {
        long cost = numbers.cost(limit);
        BucketState refilled = bucket.refill(kept, now);
        if (bucket.holds(refilled, cost)) {
          kept = bucket.charge(refilled, cost, now);
          admitted.addFirst(new long[] {now, cost});
          assertBound(limit, admitted, "weir.test.seed=" + seed + " step " + step + ": " + limit);
        }
        now = Math.min(now + Math.abs(numbers.stepMicros(limit)), 1L << 52);
      }
    }
  }

  private static void assertBound(
      TokenBucketLimit limit, Iterable<long[]> newestFirst, String where) {
    BigInteger sum = BigInteger.ZERO;
    long end = newestFirst.iterator().next()[0];
    BigInteger period = BigInteger.valueOf(limit.refillPeriodMicros());
    for (long[] charge : newestFirst) {
      sum = sum.add(BigInteger.valueOf(charge[1]));
      BigInteger most =
          BigInteger.valueOf(limit.capacityTokens())
              .multiply(period)
              .add(
                  BigInteger.valueOf(end - charge[0])
                      .multiply(BigInteger.valueOf(limit.refillTokens())));
      assertTrue(sum.multiply(period).compareTo(most) <= 0, where);
    }
  }

  /** A bucket in exact fractions. Only a charge changes it, because a denial writes nothing. */
  private static final class Ideal {
    private final TokenBucketLimit limit;
    private final Fraction capacity;
    private final Fraction tokensPerMicro;
    private final long fillMicros;
    private Fraction keptLevel;
    private long keptLast = -1;
    private Fraction level;
    private long last;
    private long now;
    private int keptPulledBack;
    private int pulledBack;

    Ideal(TokenBucketLimit limit) {
      this.limit = limit;
      this.capacity = Fraction.of(limit.capacityTokens());
      this.tokensPerMicro =
          new Fraction(
              BigInteger.valueOf(limit.refillTokens()),
              BigInteger.valueOf(limit.refillPeriodMicros()));
      this.keptLevel = capacity;
      this.level = capacity;
      BigInteger fillTicks =
          capacity
              .dividedBy(tokensPerMicro)
              .dividedBy(Fraction.of(limit.scale().tickMicros()))
              .ceil();
      this.fillMicros = bounded(fillTicks.multiply(BigInteger.valueOf(limit.scale().tickMicros())));
    }

    void advance(long to) {
      now = to;
      level = keptLevel;
      last = keptLast;
      pulledBack = keptPulledBack;
      if (last < 0 || last - now > fillMicros) {
        pulledBack += last < 0 ? 0 : 1;
        last = now;
      } else if (now > last) {
        Fraction gained = tokensPerMicro.times(Fraction.of(now - last));
        level = level.plus(gained);
        level = level.compareTo(capacity) > 0 ? capacity : level;
        last = now;
      }
    }

    boolean holds(long cost) {
      return Fraction.of(cost).compareTo(level) <= 0;
    }

    void set(long levelUnits, long at) {
      keptLevel =
          new Fraction(
              BigInteger.valueOf(levelUnits), BigInteger.valueOf(limit.scale().unitsPerToken()));
      keptLast = at;
      keptPulledBack = 0;
    }

    void take(long cost) {
      keptLevel = level.minus(Fraction.of(cost));
      keptLast = last;
      keptPulledBack = pulledBack;
    }

    long waitFor(BigInteger tokens) {
      Fraction missing = new Fraction(tokens, BigInteger.ONE).minus(level);
      return missing.numerator().signum() <= 0
          ? 0
          : bounded(missing.dividedBy(tokensPerMicro).ceil().add(BigInteger.valueOf(last - now)));
    }

    private static long bounded(BigInteger micros) {
      return micros.min(BigInteger.valueOf(TokenBucket.MAX_WAIT_MICROS)).longValue();
    }
  }

  /** A fraction with a positive denominator, not in lowest terms. */
  private record Fraction(BigInteger numerator, BigInteger denominator)
      implements Comparable<Fraction> {
    Fraction {
      BigInteger gcd = numerator.gcd(denominator).max(BigInteger.ONE);
      numerator = numerator.divide(gcd);
      denominator = denominator.divide(gcd);
    }

    static Fraction of(long value) {
      return new Fraction(BigInteger.valueOf(value), BigInteger.ONE);
    }

    Fraction plus(Fraction other) {
      return new Fraction(
          numerator.multiply(other.denominator).add(other.numerator.multiply(denominator)),
          denominator.multiply(other.denominator));
    }

    Fraction minus(Fraction other) {
      return plus(new Fraction(other.numerator.negate(), other.denominator));
    }

    Fraction times(Fraction other) {
      return new Fraction(
          numerator.multiply(other.numerator), denominator.multiply(other.denominator));
    }

    Fraction dividedBy(Fraction other) {
      return new Fraction(
          numerator.multiply(other.denominator), denominator.multiply(other.numerator));
    }

    BigInteger floor() {
      return numerator.divide(denominator);
    }

    BigInteger ceil() {
      return numerator.add(denominator).subtract(BigInteger.ONE).divide(denominator);
    }

    @Override
    public int compareTo(Fraction other) {
      return numerator.multiply(other.denominator).compareTo(other.numerator.multiply(denominator));
    }
  }
}
