// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.policy.CacheFailureMode;
import io.weir.limits.policy.KeyPart;
import io.weir.limits.policy.LeaseTerms;
import io.weir.limits.policy.Policy;
import io.weir.limits.policy.PolicyMatch;
import io.weir.limits.policy.PolicyMode;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class LeakyBucketTest {
  private static final int SEEDS = 500;
  private static final long SECOND = 1_000_000;

  /**
   * Calls that wait for their delays leave as from a queue with one server at the bucket's rate.
   */
  @Test
  void delays_areThoseOfAQueue() {
    int waited = 0;
    for (long seed = 1; seed <= SEEDS; seed++) {
      Random random = new Random(seed);
      long microsPerToken = 1_000L * random.nextInt(1, 500);
      long capacity = random.nextInt(1, 30);
      TokenBucketLimit mirror = new TokenBucketLimit(capacity, 1, microsPerToken);
      BucketArithmetic arithmetic = mirror.arithmetic();
      BucketState state = null;
      long now = 1_800_000_000L * SECOND;
      long emptyAt = 0;
      for (int i = 0; i < 100; i++) {
        now += random.nextInt(4) == 0 ? 0 : random.nextLong(2 * microsPerToken);
        long cost = random.nextInt(1, 4);
        BucketState refilled = arithmetic.refill(state, now);
        if (!arithmetic.holds(refilled, cost)) {
          continue;
        }
        state = arithmetic.charge(refilled, cost, now);
        long leavesAt = Math.max(now, emptyAt);
        emptyAt = leavesAt + cost * microsPerToken;
        long delay = LeakyBucket.delayMicros(mirror, cost, arithmetic.resetMicros(state, now));
        long tick = mirror.scale().tickMicros();
        assertTrue(
            Math.abs(delay - (leavesAt - now)) <= tick,
            "seed " + seed + ": " + delay + " call " + i);
        waited += delay > 0 ? 1 : 0;
      }
    }
    assertTrue(waited > SEEDS, "too few to tell: " + waited);
  }

  @Test
  void emptyBucket_neverMakesACallWait() {
    TokenBucketLimit mirror = new TokenBucketLimit(20, 10, SECOND);
    BucketArithmetic arithmetic = mirror.arithmetic();
    BucketState first = arithmetic.charge(arithmetic.refill(null, SECOND), 3, SECOND);

    assertEquals(0, LeakyBucket.delayMicros(mirror, 3, arithmetic.resetMicros(first, SECOND)));
    BucketState second = arithmetic.charge(first, 1, SECOND);
    assertEquals(
        300_000, LeakyBucket.delayMicros(mirror, 1, arithmetic.resetMicros(second, SECOND)));
  }

  /** Regression: if a token was not a whole number of ticks, an empty queue gave a call a delay. */
  @Test
  void emptyBucket_ofAnyRate_neverMakesACallWait() {
    for (long[] rate :
        new long[][] {
          {20, 3, SECOND}, {20, 7, 60 * SECOND}, {5_000_000_000L, 1_000_007, 3_600 * SECOND}
        }) {
      TokenBucketLimit mirror = new TokenBucketLimit(rate[0], rate[1], rate[2]);
      BucketArithmetic arithmetic = mirror.arithmetic();
      long now = 1_800_000_000L * SECOND;
      BucketState first = arithmetic.charge(arithmetic.refill(null, now), 1, now);

      assertEquals(0, LeakyBucket.delayMicros(mirror, 1, arithmetic.resetMicros(first, now)));
      assertEquals(
          arithmetic.resetMicros(first, now),
          LeakyBucket.delayMicros(mirror, 0, arithmetic.resetMicros(first, now)));
    }
  }

  @Test
  void isCountedAsTheTokenBucketOfItsNumbers() {
    TokenBucketLimit mirror = new TokenBucketLimit(20, 10, SECOND);
    LeakyBucket queue = new LeakyBucket(mirror, true);

    assertEquals(mirror, queue.ofBucket(null));
    assertTrue(queue.isNoWiderThan(mirror));
    assertTrue(mirror.isNoWiderThan(queue));
    assertTrue(queue.isNoWiderThan(new LeakyBucket(new TokenBucketLimit(21, 10, SECOND), false)));
    assertEquals("queue of 20, 10 leak per PT1S", queue.describe());
    assertThrows(
        IllegalArgumentException.class,
        () ->
            new Policy(
                    "q",
                    PolicyMatch.ANY,
                    List.of(KeyPart.CLIENT),
                    queue,
                    PolicyMode.ENFORCE,
                    CacheFailureMode.LOCAL)
                .toBuilder().debtCapTokens(0).lease(new LeaseTerms(2, SECOND)).build());
  }
}
