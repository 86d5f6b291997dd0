// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Checks that a changed limit has the same effect on a bucket in the cache and in the records. */
final class LimitChangeTest {
  private static final int HISTORIES = 20_000;
  private static final long T_MICROS = 1_700_000_000_000_000L;
  private static final List<Long> PERIODS =
      List.of(1_000L, 333_333L, 1_000_000L, 1_500_000L, 60_000_000L, 3_600_000_000L);

  @Test
  void randomChanges_cacheAndRecords_agreeWithinATickAndAToken() {
    Random random = new Random(12);
    for (int i = 0; i < HISTORIES; i++) {
      TokenBucketLimit before = limit(random);
      TokenBucketLimit after = limit(random);
      String change = before + " to " + after;
      TokenBucket then = TokenBucket.of(before);
      BucketState full = then.refill(null, T_MICROS);
      long cost = 1 + random.nextLong(before.capacityTokens());
      BucketState charged = then.charge(full, cost, T_MICROS);
      long fullAt = T_MICROS + then.resetMicros(charged, T_MICROS);

      TokenBucket now = TokenBucket.of(after);
      BucketState changed = now.refill(charged, T_MICROS);
      long cacheMissing = now.resetMicros(changed, T_MICROS);
      long recordsMissing =
          Objects.requireNonNull(LimitChange.of(before, after, T_MICROS)).fullAtMicros(fullAt)
              - T_MICROS;

      double token = (double) after.refillPeriodMicros() / after.refillTokens();
      double rounding = token + after.scale().tickMicros() + 1;
      assertEquals((double) cacheMissing, (double) recordsMissing, rounding, change);
      // the change back adds at most the tokens of one microsecond
      long back =
          Objects.requireNonNull(LimitChange.of(after, before, T_MICROS))
              .fullAtMicros(T_MICROS + recordsMissing);
      double microsecond = (double) before.refillPeriodMicros() / before.refillTokens() / token;
      assertTrue(back >= fullAt - microsecond - 1, change);
    }
  }

  /** Regression: such a time was close to the maximum of a long, and the next sum overflowed. */
  @Test
  void sameTokensMicros_timeStretchedByASlowerLimit_isBounded() {
    TokenBucketLimit fast = new TokenBucketLimit(100, 100, 1_000);
    TokenBucketLimit slow = new TokenBucketLimit(100, 1, 3_600_000_000L);
    LimitChange change = Objects.requireNonNull(LimitChange.of(fast, slow, T_MICROS));

    assertEquals(Numbers.MAX, change.sameTokensMicros(Numbers.MAX));
    assertEquals(-Numbers.MAX, change.sameTokensMicros(-Numbers.MAX));
    assertEquals(0, change.sameTokensMicros(0));
  }

  private static TokenBucketLimit limit(Random random) {
    return new TokenBucketLimit(
        1 + random.nextInt(2_000),
        1 + random.nextInt(50),
        PERIODS.get(random.nextInt(PERIODS.size())));
  }
}
