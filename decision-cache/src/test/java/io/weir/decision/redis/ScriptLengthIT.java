// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.Await;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.Test;

/**
 * Tests that the number of buckets bounds the run time of a script call, however many buckets each
 * check has (issue 12, item 15).
 */
class ScriptLengthIT {
  private static final int CALLERS = 96;

  private static Check check(int caller, int buckets) {
    TokenBucketLimit limit = new TokenBucketLimit(1_000, 1, 3_600_000_000L);
    List<BucketRequest> requests = new ArrayList<>();
    for (int i = 0; i < buckets; i++) {
      requests.add(new BucketRequest("caller-" + caller + "-" + i, limit, true));
    }
    return new Check(requests, 1);
  }

  /**
   * Returns the number of script calls for one check per caller, if all checks wait when the first
   * call is sent.
   */
  private static double scriptCalls(int buckets) throws Exception {
    ExecutorService callers = Executors.newFixedThreadPool(CALLERS);
    try (TestRedis redis = TestRedis.start();
        RedisDecisionCache cache =
            RedisDecisionCache.start(PatientConfig.of(redis).withQueue(4_096, 64, 1))) {
      Await.until("a decision", () -> cache.take(check(0, 1)) instanceof Decision.Allowed);
      CacheStatistics statistics = cache.statistics();
      double calls = statistics.scriptCalls.count();
      redis.pause();
      List<CompletableFuture<Decision>> decisions = new ArrayList<>();
      decisions.add(CompletableFuture.supplyAsync(() -> cache.take(check(0, 1)), callers));
      Await.until("the first to be sent", () -> statistics.scriptCalls.count() == calls + 1);
      for (int i = 1; i < CALLERS; i++) {
        int caller = i;
        decisions.add(
            CompletableFuture.supplyAsync(() -> cache.take(check(caller, buckets)), callers));
      }
      Await.until("all others to wait", () -> cache.checksWaiting() == CALLERS - 1);
      redis.resume();
      for (CompletableFuture<Decision> decision : decisions) {
        assertInstanceOf(Decision.Allowed.class, decision.get());
      }
      return statistics.scriptCalls.count() - calls - 1;
    } finally {
      callers.shutdownNow();
    }
  }

  @Test
  void checksOfSixteenBuckets_shareAScriptCallFourAtATime() throws Exception {
    double calls = scriptCalls(Check.MAX_BUCKETS);

    assertTrue(calls >= Math.floorDiv(CALLERS - 1, 4), () -> calls + " script calls");
  }

  @Test
  void checksOfOneBucket_shareAScriptCallSixtyFourAtATime() throws Exception {
    assertEquals(2, scriptCalls(1));
  }
}
