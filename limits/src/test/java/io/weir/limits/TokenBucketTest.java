// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Checks the edge cases of the bucket's arithmetic with numbers. */
class TokenBucketTest {
  private static final long T0 = 1_800_000_000_000_000L;
  private static final long SECOND = 1_000_000;

  /** A limit with capacity 10 and one token per 100 ms. */
  private static final TokenBucketLimit TEN_PER_SECOND = new TokenBucketLimit(10, 10, SECOND);

  /**
   * A limit that is so large that its tick is 1 ms: 999,983 tokens per day, in bursts of one
   * million.
   */
  private static final TokenBucketLimit COARSE =
      new TokenBucketLimit(1_000_000, 999_983, 86_400 * SECOND);

  private final TokenBucket bucket = TokenBucket.of(TEN_PER_SECOND);

  /** Returns a bucket of TEN_PER_SECOND with the given tokens at T0. */
  private static BucketState holding(long tokens) {
    return new BucketState(tokens * 100_000, 100_000, T0, T0, 0, 0, 99);
  }

  @Test
  void refill_noStoredState_isFullWithoutEpoch() {
    BucketState full = bucket.refill(null, T0);

    assertEquals(new BucketState(1_000_000, 100_000, T0, 0, 0, 0, 0), full);
    assertEquals(10, bucket.remainingTokens(full));
    assertEquals(0, bucket.resetMicros(full, T0));
  }

  @Test
  void retryAfter_exampleOfTheDocumentation_is200Millis() {
    BucketState four = holding(4);

    assertFalse(bucket.holds(four, 6));
    assertEquals(200_000, bucket.retryAfterMicros(four, 6, T0));
    assertFalse(bucket.holds(bucket.refill(four, T0 + 199_999), 6));
    assertTrue(bucket.holds(bucket.refill(four, T0 + 200_000), 6));
  }

  @Test
  void charge_exactFit_leavesNothing() {
    BucketState after = bucket.charge(holding(4), 4, T0);

    assertEquals(new BucketState(0, 100_000, T0, T0, 0, 0, 103), after);
    assertEquals(SECOND, bucket.resetMicros(after, T0));
  }

  @Test
  void charge_oneShort_isRefused() {
    IllegalArgumentException refusal =
        assertThrows(IllegalArgumentException.class, () -> bucket.charge(holding(4), 5, T0));

    assertTrue(refusal.toString().contains("has too few tokens for the cost 5"), refusal::toString);
  }

  @Test
  void charge_firstOfAnEpoch_stampsTheEpoch() {
    BucketState after = bucket.charge(bucket.refill(null, T0), 3, T0);

    assertEquals(new BucketState(700_000, 100_000, T0, T0, 0, 0, 3), after);
  }

  @Test
  void charge_cumulativeChargeReaches2To53_beginsANewEpoch() {
    long most = TokenBucketLimit.EXACT_BELOW - 1;
    BucketState before = new BucketState(1_000_000, 100_000, T0, T0, 0, 0, most - 2);

    BucketState last = bucket.charge(before, 2, T0);
    assertEquals(most, last.chargedTokens());
    assertEquals(T0, last.epoch());
    BucketState next = bucket.charge(last, 3, T0);
    assertEquals(3, next.chargedTokens());
    assertEquals(T0 + 1, next.epoch());
  }

  @Test
  void refill_partOfAToken_isKept() {
    BucketState state = holding(0);
    for (int i = 1; i <= 10; i++) {
      state = bucket.refill(state, T0 + i * 10_000L);
    }

    assertEquals(1, bucket.remainingTokens(state));
  }

  @Test
  void refill_partOfATick_isKept() {
    TokenBucket coarse = TokenBucket.of(COARSE);
    assertEquals(1_000, COARSE.scale().tickMicros());
    BucketState empty = coarse.charge(coarse.refill(null, T0), 1_000_000, T0);
    BucketState often = empty;
    for (int i = 1; i <= 3_000; i++) {
      often = coarse.refill(often, T0 + i * 700L);
    }

    assertEquals(coarse.refill(empty, T0 + 2_100_000), often);
    assertEquals(24, coarse.remainingTokens(often));
  }

  @Test
  void retryAfter_partOfATickHasPassed_isShorterByIt() {
    TokenBucket coarse = TokenBucket.of(COARSE);
    BucketState empty = coarse.charge(coarse.refill(null, T0), 1_000_000, T0);

    // a token takes 86,400,000 / 999,983 = 86.4 ticks
    assertEquals(87_000, coarse.retryAfterMicros(empty, 1, T0));
    assertEquals(86_001, coarse.retryAfterMicros(coarse.refill(empty, T0 + 999), 1, T0 + 999));
    assertEquals(86_000, coarse.retryAfterMicros(coarse.refill(empty, T0 + 1_000), 1, T0 + 1_000));
  }

  @Test
  void charge_bucketNearlyFull_dropsThePartOfATickItCannotHold() {
    TokenBucket coarse = TokenBucket.of(COARSE);
    BucketState full = new BucketState(COARSE.scale().capacityUnits(), 86_400_000, T0, T0, 0, 0, 1);

    BucketState after = coarse.charge(coarse.refill(full, T0 + 999), 1, T0 + 999);
    assertEquals(T0 + 999, after.lastEpochMicros());
  }

  @Test
  void refill_idleForYears_isFullAndNotMore() {
    BucketState refilled = bucket.refill(holding(0), T0 + 100L * 365 * 86_400 * SECOND);

    assertEquals(10, bucket.remainingTokens(refilled));
    assertEquals(1_000_000, refilled.units());
  }

  @Test
  void refill_clockSteppedBack_addsNothingUntilTheClockCatchesUp() {
    BucketState back = bucket.refill(holding(4), T0 - 500_000);

    assertEquals(holding(4), back);
    assertEquals(600_000, bucket.retryAfterMicros(back, 5, T0 - 500_000));
    assertEquals(5, bucket.remainingTokens(bucket.refill(back, T0 + 100_000)));
  }

  @Test
  void charge_clockSteppedBack_keepsTheLastRefillTime() {
    BucketState after = bucket.charge(bucket.refill(holding(10), T0 - 5), 1, T0 - 5);

    assertEquals(T0, after.lastEpochMicros());
  }

  @Test
  void refill_lastRefillTimeAheadByExactlyOneFill_isKept() {
    assertEquals(holding(4), bucket.refill(holding(4), T0 - SECOND));
  }

  @Test
  void refill_lastRefillTimeAheadByMoreThanOneFill_isSetToNow() {
    BucketState pulled = bucket.refill(holding(4), T0 - SECOND - 1);

    assertEquals(T0 - SECOND - 1, pulled.lastEpochMicros());
    assertEquals(4, bucket.remainingTokens(pulled));
  }

  @Test
  void retryAfter_costAboveCapacity_isNever() {
    assertFalse(bucket.canHold(11));
    assertEquals(-1, bucket.retryAfterMicros(holding(10), 11, T0));
    assertEquals(-1, bucket.retryAfterMicros(holding(10), Long.MAX_VALUE, T0));
    assertFalse(bucket.holds(holding(10), Long.MAX_VALUE));
  }

  @Test
  void refill_capacityHasShrunk_dropsTheTokensAboveIt() {
    TokenBucket smaller = TokenBucket.of(new TokenBucketLimit(3, 10, SECOND));

    assertEquals(3, smaller.remainingTokens(smaller.refill(holding(9), T0)));
  }

  @Test
  void refill_capacityHasGrown_keepsTheTokens() {
    TokenBucket larger = TokenBucket.of(new TokenBucketLimit(1_000, 10, SECOND));

    assertEquals(9, larger.remainingTokens(larger.refill(holding(9), T0)));
  }

  @Test
  void refill_rateHasChanged_carriesWholeTokens() {
    TokenBucket slower = TokenBucket.of(new TokenBucketLimit(20, 7, 86_400 * SECOND));
    BucketState kept = new BucketState(999_999, 100_000, T0, T0, 0, 0, 5);

    BucketState refilled = slower.refill(kept, T0);
    assertEquals(9, slower.remainingTokens(refilled));
    assertEquals(9 * refilled.unitsPerToken(), refilled.units());
    assertEquals(5, refilled.chargedTokens());
  }

  @Test
  void refill_rateHasChangedAndStoredLevelIsHuge_isFullWithoutOverflow() {
    TokenBucket slower = TokenBucket.of(new TokenBucketLimit(20, 7, 86_400 * SECOND));
    BucketState kept = new BucketState(TokenBucketLimit.EXACT_BELOW - 1, 1, T0, T0, 0, 0, 5);

    assertEquals(20, slower.remainingTokens(slower.refill(kept, T0)));
  }

  @Test
  void ttl_anyCharge_isTimeToFullRoundedUpAndTheMargin() {
    TokenBucket fast = TokenBucket.of(new TokenBucketLimit(1, 1, 1));
    BucketState charged = fast.charge(fast.refill(null, T0), 1, T0);

    assertEquals(1, fast.resetMicros(charged, T0));
    assertEquals(10_001, fast.ttlMillis(charged, T0));
    assertEquals(11_000, bucket.ttlMillis(holding(0), T0));
  }

  @Test
  void waits_bucketThatFillsInThousandsOfYears_areBounded() {
    TokenBucketLimit slow =
        new TokenBucketLimit(100_000_000, 1, TokenBucketLimit.MAX_PERIOD_MICROS);
    TokenBucket arithmetic = TokenBucket.of(slow);
    BucketState empty = arithmetic.charge(arithmetic.refill(null, T0), 100_000_000, T0);

    assertEquals(TokenBucket.MAX_WAIT_MICROS, arithmetic.resetMicros(empty, T0));
    assertEquals(TokenBucket.MAX_WAIT_MICROS, arithmetic.retryAfterMicros(empty, 100_000_000, T0));
    assertEquals(TokenBucketLimit.MAX_PERIOD_MICROS, arithmetic.retryAfterMicros(empty, 1, T0));
  }

  @Test
  void state_numberOutOfRange_isRefusedWithValueAndRule() {
    IllegalArgumentException refusal =
        assertThrows(
            IllegalArgumentException.class, () -> new BucketState(1L << 53, 1, T0, T0, 0, 0, 1));

    assertEquals(
        "units must be between -9007199254740991 and 2^53 − 1, but is 9007199254740992",
        refusal.getMessage());
  }

  @Test
  void refillMicros_isTheTimeByWhichTheseTokensPutOffFull_orATickLess() {
    SplittableRandom random = new SplittableRandom(1);
    for (int i = 0; i < 20_000; i++) {
      TokenBucketLimit limit =
          new TokenBucketLimit(
              random.nextLong(2, 1L << random.nextInt(2, 20)),
              random.nextLong(1, 1L << random.nextInt(1, 15)),
              random.nextLong(1, 60 * SECOND));
      TokenBucket of = TokenBucket.of(limit);
      long first = random.nextLong(1, limit.capacityTokens());
      long second = random.nextLong(1, limit.capacityTokens() - first + 1);
      BucketState before = of.charge(of.refill(null, T0), first, T0);
      BucketState after = of.charge(before, second, T0);
      long later = of.resetMicros(after, T0) - of.resetMicros(before, T0);

      long told = of.refillMicros(second);

      boolean isCut = of.resetMicros(after, T0) == BucketArithmetic.MAX_WAIT_MICROS;
      assertTrue(isCut || told <= later, limit + ": " + told + " for " + second + ", is " + later);
      assertTrue(
          isCut || told >= later - of.parameters().tickMicros(),
          limit + ": " + told + " for " + second + ", is " + later);
    }
    assertEquals(0, new PeriodBucket(10, T0).refillMicros(5));
  }
}
