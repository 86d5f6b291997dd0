// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.servers.testing.TestRedis;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/**
 * Tests the documented bound with concurrent callers: in any interval T of the cache's clock, calls
 * take at most capacity + rate × T tokens.
 */
class AdmissionBoundIT {
  private static final int CACHES = 2;
  private static final int THREADS_PER_CACHE = 8;
  private static final int CALLS_PER_THREAD = 1_500;
  private static final long SEED = Long.getLong("weir.test.seed", 1);

  /** An admitted call. */
  private record Admission(long atEpochMicros, long cost, long chargedTokens) {}

  @Test
  void take_manyThreadsAndTwoNodes_admitsAtMostCapacityAndRate() throws Exception {
    TokenBucketLimit limit = new TokenBucketLimit(50, 7_001, 1_000_000);
    List<Admission> admissions = new ArrayList<>();
    ExecutorService threads = Executors.newFixedThreadPool(CACHES * THREADS_PER_CACHE);
    try (TestRedis redis = TestRedis.borrow();
        RedisDecisionCache one = start(redis);
        RedisDecisionCache other = start(redis)) {
      List<Future<List<Admission>>> runs = new ArrayList<>();
      for (int i = 0; i < CACHES * THREADS_PER_CACHE; i++) {
        RedisDecisionCache cache = i % CACHES == 0 ? one : other;
        long seed = SEED + i;
        runs.add(threads.submit(() -> call(cache, limit, new Random(seed))));
      }
      for (Future<List<Admission>> run : runs) {
        admissions.addAll(run.get());
      }
    } finally {
      threads.shutdownNow();
    }

    admissions.sort(Comparator.comparingLong(Admission::chargedTokens));
    assertStampsAreGapless(admissions);
    assertTrue(admissions.size() > 100, () -> admissions.size() + " admitted");
    assertBoundInEveryInterval(limit, admissions);
  }

  private static RedisDecisionCache start(TestRedis redis) {
    return RedisDecisionCache.start(PatientConfig.of(redis));
  }

  private static List<Admission> call(
      RedisDecisionCache cache, TokenBucketLimit limit, Random random) {
    List<Admission> admissions = new ArrayList<>();
    for (int i = 0; i < CALLS_PER_THREAD; i++) {
      long cost = 1L + random.nextInt(9);
      Check check = new Check(List.of(new BucketRequest("w1:{hot}:all", limit, true)), cost);
      Decision decision = cache.take(check);
      if (decision instanceof Decision.Allowed allowed) {
        admissions.add(
            new Admission(
                allowed.decidedAtEpochMicros(), cost, allowed.buckets().get(0).chargedTokens()));
      } else if (decision instanceof Decision.Undecided undecided) {
        throw new IllegalStateException("undecided: " + undecided);
      }
    }
    return admissions;
  }

  /** The stamps show that no admission is missing: each stamp continues the previous one. */
  private static void assertStampsAreGapless(List<Admission> admissions) {
    long charged = 0;
    for (Admission admission : admissions) {
      charged += admission.cost();
      assertEquals(charged, admission.chargedTokens());
    }
  }

  /**
   * Asserts that calls took at most capacity + rate × T tokens from every admission to every later
   * admission. The assertion must be linear in the number of admissions. Of all intervals that end
   * at an admission, it therefore examines only the worst interval. This interval starts where the
   * sum of the tokens, minus the refill until then, is smallest.
   */
  private static void assertBoundInEveryInterval(
      TokenBucketLimit limit, List<Admission> admissions) {
    BigInteger period = BigInteger.valueOf(limit.refillPeriodMicros());
    BigInteger capacity = BigInteger.valueOf(limit.capacityTokens()).multiply(period);
    BigInteger leastBefore = null;
    long admitted = 0;
    for (Admission admission : admissions) {
      BigInteger refilled =
          BigInteger.valueOf(limit.refillTokens())
              .multiply(BigInteger.valueOf(admission.atEpochMicros()));
      BigInteger before = BigInteger.valueOf(admitted).multiply(period).subtract(refilled);
      leastBefore = leastBefore == null ? before : leastBefore.min(before);
      admitted += admission.cost();
      BigInteger after = BigInteger.valueOf(admitted).multiply(period).subtract(refilled);
      assertTrue(
          after.subtract(leastBefore).compareTo(capacity) <= 0,
          () -> "too much until " + admission + ", seed " + SEED);
    }
  }
}
