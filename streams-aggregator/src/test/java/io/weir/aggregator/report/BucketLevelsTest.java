// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.topics.model.TokenBucketLimit;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class BucketLevelsTest {
  private static final TokenBucketLimit BURST = new TokenBucketLimit(100, 100, 60_000_000);

  @Test
  void level_whenFullAtHasPassed_isTheCapacity() {
    assertEquals(100, BucketLevels.level(BURST, 0, 1_000));
    assertEquals(100, BucketLevels.level(BURST, 1_000, 1_000));
  }

  @Test
  void level_atTokenBoundaries_isRoundedDown() {
    assertEquals(99, BucketLevels.level(BURST, 1_000_001, 1_000_000));
    assertEquals(99, BucketLevels.level(BURST, 1_600_000, 1_000_000));
    assertEquals(98, BucketLevels.level(BURST, 1_600_001, 1_000_000));
    assertEquals(0, BucketLevels.level(BURST, 61_000_000, 1_000_000));
  }

  @Test
  void level_inDebt_isNegative() {
    assertEquals(-1, BucketLevels.level(BURST, 60_600_000, 0));
    assertEquals(-2, BucketLevels.level(BURST, 60_600_001, 0));
  }

  @Test
  void level_ofLargestNumbers_isClamped() {
    TokenBucketLimit fast = new TokenBucketLimit(1_000, 1L << 50, 1);

    assertEquals(-TokenBucketLimit.EXACT_BELOW, BucketLevels.level(fast, Long.MAX_VALUE / 2, 0));
  }

  @Test
  void level_ofAnyBucket_isTheFormulaInFractions() {
    for (long seed = 0; seed < 2_000; seed++) {
      Random random = new Random(seed);
      TokenBucketLimit limit =
          new TokenBucketLimit(
              1 + random.nextInt(10_000),
              1 + random.nextInt(1_000),
              1_000L * (1 + random.nextInt(100_000)));
      long now = random.nextInt(1_000_000);
      long fullAt = now + random.nextInt(200_000_000) - 1_000_000;
      BigDecimal away = BigDecimal.valueOf(Math.max(0, fullAt - now));
      BigDecimal lacking =
          away.multiply(BigDecimal.valueOf(limit.refillTokens()))
              .divide(BigDecimal.valueOf(limit.refillPeriodMicros()), 0, RoundingMode.CEILING);

      assertEquals(
          limit.capacityTokens() - lacking.longValueExact(),
          BucketLevels.level(limit, fullAt, now),
          "seed " + seed);
    }
  }
}
