// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

final class TokenBucketLimitTest {
  private static final long MINUTE_MICROS = 60_000_000;
  private static final long DAY_MICROS = 86_400L * 1_000_000;

  @Test
  void scale_hundredAMinute_isInLowestTerms() {
    TokenBucketLimit.Scale scale = new TokenBucketLimit(20, 100, MINUTE_MICROS).scale();

    assertEquals(new TokenBucketLimit.Scale(1, 1, 600_000, 12_000_000), scale);
  }

  @Test
  void scale_fullBucketAboveTwoTo53InMicroseconds_ticksInMilliseconds() {
    TokenBucketLimit.Scale scale = new TokenBucketLimit(1_000_000, 7, DAY_MICROS).scale();

    assertEquals(1_000, scale.tickMicros());
    assertEquals(86_400_000, scale.unitsPerToken());
    assertTrue(scale.capacityUnits() + scale.unitsPerTick() < TokenBucketLimit.EXACT_BELOW);
  }

  @Test
  void limit_thatCannotBeCountedExactly_isRefusedWithAdvice() {
    IllegalArgumentException refused =
        assertThrows(
            IllegalArgumentException.class,
            () -> new TokenBucketLimit(1L << 50, 999_999_937, DAY_MICROS));

    assertTrue(String.valueOf(refused.getMessage()).contains("rounder numbers"));
  }

  @Test
  void limit_outOfRange_namesTheField() {
    assertTrue(message(-1, 1, 1).contains("capacity"));
    assertTrue(message(1, 0, 1).contains("refill_tokens"));
    assertTrue(message(1, 1, 0).contains("refill_period"));
    assertTrue(message(1, 1, TokenBucketLimit.MAX_PERIOD_MICROS + 1).contains("refill_period"));
  }

  private static String message(long capacity, long refill, long period) {
    return String.valueOf(
        assertThrows(
                IllegalArgumentException.class,
                () -> new TokenBucketLimit(capacity, refill, period))
            .getMessage());
  }
}
