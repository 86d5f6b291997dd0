// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class TokenBucketLevelTest {
  private static final TokenBucketLimit BURST = new TokenBucketLimit(100, 100, 60_000_000);

  @Test
  void level_whenFullAtHasPassed_isTheCapacity() {
    assertEquals(100, BURST.levelTokens(0, 0, 1_000));
    assertEquals(100, BURST.levelTokens(1_000, 0, 1_000));
  }

  @Test
  void level_atTokenBoundaries_isRoundedDown() {
    assertEquals(99, BURST.levelTokens(1_000_001, 0, 1_000_000));
    assertEquals(99, BURST.levelTokens(1_600_000, 0, 1_000_000));
    assertEquals(98, BURST.levelTokens(1_600_001, 0, 1_000_000));
    assertEquals(0, BURST.levelTokens(61_000_000, 0, 1_000_000));
  }

  @Test
  void level_inDebt_isNegative() {
    assertEquals(-1, BURST.levelTokens(60_600_000, 0, 0));
    assertEquals(-2, BURST.levelTokens(60_600_001, 0, 0));
  }

  @Test
  void level_ofLargestNumbers_isClamped() {
    TokenBucketLimit fast = new TokenBucketLimit(1_000, 1L << 50, 1);

    assertEquals(-TokenBucketLimit.EXACT_BELOW, fast.levelTokens(Long.MAX_VALUE / 2, 0, 0));
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
          limit.levelTokens(fullAt, 0, now),
          "seed " + seed);
    }
  }
}
