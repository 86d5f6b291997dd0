// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigInteger;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class LimitShareTest {
  private static final long YEAR = TokenBucketLimit.MAX_PERIOD_MICROS;

  @Test
  void of_oneNode_isTheWholeLimit() {
    TokenBucketLimit limit = new TokenBucketLimit(100, 7, 60_000_000);

    assertEquals(limit, limit.shareOf(1));
  }

  @Test
  void of_fourNodes_isAQuarterOfCapacityAndRate() {
    assertEquals(
        new TokenBucketLimit(25, 10, 4_000_000),
        new TokenBucketLimit(100, 10, 1_000_000).shareOf(4));
  }

  @Test
  void of_capacityBelowTheNumberOfNodes_isOneToken() {
    assertEquals(
        new TokenBucketLimit(1, 3, 10_000_000), new TokenBucketLimit(3, 3, 1_000_000).shareOf(10));
  }

  @Test
  void of_periodWouldBeTooLong_reducesTheRefillTokensInstead() {
    long day = 86_400_000_000L;

    // 100 per day for 500 nodes: each node gets 73.2 in 366 days
    assertEquals(
        new TokenBucketLimit(1, 73, YEAR), new TokenBucketLimit(100, 100, day).shareOf(500));
    assertEquals(new TokenBucketLimit(1, 1, YEAR), new TokenBucketLimit(5, 1, YEAR).shareOf(9));
  }

  @Test
  void of_quota_isAnEqualPartOfItsCapacity() {
    assertEquals(new QuotaLimit(333, 5_000), new QuotaLimit(1_000, 5_000).shareOf(3));
    assertEquals(new QuotaLimit(1, 5_000), new QuotaLimit(2, 5_000).shareOf(3));
  }

  @Test
  void of_randomLimits_sharesTogetherStayWithinTheLimit() {
    for (long seed = 0; seed < 20_000; seed++) {
      Random random = new Random(seed);
      int nodes = 1 + random.nextInt(1_000);
      TokenBucketLimit limit = randomLimit(random);
      if (limit == null) {
        continue;
      }
      TokenBucketLimit share = limit.shareOf(nodes);

      String replay = "seed " + seed + " " + limit + " among " + nodes + " is " + share;
      assertTrue(
          share.capacityTokens() == 1 || share.capacityTokens() * nodes <= limit.capacityTokens(),
          replay);
      // nodes × rate of the share <= rate of the limit, cross-multiplied; or one token in the
      // longest period
      BigInteger all =
          BigInteger.valueOf(share.refillTokens())
              .multiply(BigInteger.valueOf(nodes))
              .multiply(BigInteger.valueOf(limit.refillPeriodMicros()));
      BigInteger whole =
          BigInteger.valueOf(limit.refillTokens())
              .multiply(BigInteger.valueOf(share.refillPeriodMicros()));
      assertTrue(
          all.compareTo(whole) <= 0
              || (share.refillTokens() == 1 && share.refillPeriodMicros() == YEAR),
          replay);
    }
  }

  private static @Nullable TokenBucketLimit randomLimit(Random random) {
    try {
      return new TokenBucketLimit(
          edge(random, 53), edge(random, 53), Math.min(YEAR, edge(random, 45)));
    } catch (IllegalArgumentException notCountable) {
      return null;
    }
  }

  private static long edge(Random random, int maxBits) {
    long bound = 1L << (1 + random.nextInt(maxBits));
    return Math.max(1, Math.min((1L << maxBits) - 1, bound - random.nextLong(0, bound)));
  }
}
