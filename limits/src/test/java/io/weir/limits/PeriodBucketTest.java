// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Checks the edge cases of a quota's arithmetic with numbers. */
class PeriodBucketTest {
  private static final long T0 = 1_800_000_000_000_000L;
  private static final long HOUR = 3_600_000_000L;
  private static final long MOST = TokenBucketLimit.EXACT_BELOW - 1;

  private static BucketArithmetic quota(long capacityTokens) {
    return new QuotaLimit(capacityTokens, T0 + HOUR).arithmetic();
  }

  private static BucketState used(long tokens) {
    return new BucketState(-tokens, 0, T0, T0, 0, 0, tokens);
  }

  @Test
  void refill_noStoredState_isFullWithoutEpoch() {
    BucketState full = quota(10).refill(null, T0);

    assertEquals(10, quota(10).remainingTokens(full));
    assertEquals(0, full.epoch());
    assertEquals(HOUR, quota(10).resetMicros(full, T0));
  }

  @Test
  void refill_atAnyTime_addsNothing() {
    for (long now : new long[] {1, T0 - HOUR, T0 + HOUR - 1, T0 + HOUR, T0 + 9 * HOUR}) {
      assertEquals(used(7), quota(10).refill(used(7), now));
    }
  }

  @Test
  void capacityChanges_whileThePeriodRuns_countsWhatWasUsed() {
    assertEquals(50, quota(120).remainingTokens(quota(120).refill(used(70), T0)));
    BucketArithmetic smaller = quota(60);
    BucketState owing = smaller.refill(used(70), T0);
    assertEquals(-10, smaller.levelUnits(owing));
    assertEquals(0, smaller.remainingTokens(owing));
    assertFalse(smaller.holds(owing, 1));
  }

  @Test
  void capacityChanges_largestNumbers_doesNotOverflow() {
    assertEquals(0, quota(MOST).levelUnits(quota(MOST).refill(used(MOST), T0)));
    assertEquals(1 - MOST, quota(1).levelUnits(quota(1).refill(used(MOST), T0)));
  }

  @Test
  void charge_oneShort_isRefused() {
    assertThrows(IllegalArgumentException.class, () -> quota(10).charge(used(7), 4, T0));
  }

  @Test
  void retryAfter_shortQuota_isTheEndOfThePeriod() {
    assertEquals(HOUR - 5, quota(10).retryAfterMicros(used(8), 3, T0 + 5));
    assertEquals(0, quota(10).retryAfterMicros(used(8), 2, T0));
    assertEquals(-1, quota(10).retryAfterMicros(used(0), 11, T0));
  }

  @Test
  void waits_afterThePeriodsEnd_areNeverZero() {
    assertEquals(1, quota(10).retryAfterMicros(used(8), 3, T0 + HOUR));
    assertEquals(1, quota(10).resetMicros(used(8), T0 + 2 * HOUR));
    assertEquals(10_001, quota(10).ttlMillis(used(8), T0 + 2 * HOUR));
  }

  @Test
  void ttl_runningPeriod_isItsEndAndTheMargin() {
    assertEquals(3_610_000, quota(10).ttlMillis(used(1), T0));
    BucketArithmetic far = new QuotaLimit(10, MOST).arithmetic();
    assertEquals(BucketArithmetic.MAX_WAIT_MICROS, far.resetMicros(used(1), 1));
  }

  @Test
  void refill_stateOfAnotherAlgorithm_isTreatedAsNoState() {
    TokenBucketLimit limit = new TokenBucketLimit(10, 1, HOUR);
    BucketState ofBucket = new BucketState(3, 1, T0, T0, T0, 5, 7);

    assertEquals(0, quota(10).refill(ofBucket, T0).epoch());
    assertEquals(10, quota(10).remainingTokens(quota(10).refill(ofBucket, T0)));
    assertTrue(TokenBucket.of(limit).holds(TokenBucket.of(limit).refill(used(9), T0), 10));
  }
}
