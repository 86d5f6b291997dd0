// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import io.weir.decision.DecisionCache;
import io.weir.decision.DecisionCacheContract;
import io.weir.limits.BucketState;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.Await;
import io.weir.testing.CoreSuite;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests the contract of decision caches with Redis. */
@CoreSuite
class RedisDecisionCacheIT extends DecisionCacheContract {
  private static TestRedis redis;
  private RedisDecisionCache cache;

  @BeforeAll
  static void borrowRedis() {
    redis = TestRedis.borrow();
  }

  @AfterAll
  static void giveRedisBack() {
    redis.close();
  }

  @BeforeEach
  void startCache() {
    cache = RedisDecisionCache.start(PatientConfig.of(redis));
  }

  @AfterEach
  void closeCache() {
    cache.close();
  }

  @Override
  protected void setWarm(boolean warm) {
    try (ScriptRunner runner = new ScriptRunner(redis.uri())) {
      if (warm) {
        runner.redis().set(LifeKeys.marker(), ScriptRunner.bytes(cache.link().life()));
      } else {
        runner.redis().del(LifeKeys.marker());
      }
    }
  }

  @Override
  protected long nowEpochMicros() {
    return System.currentTimeMillis() * 1_000;
  }

  @Override
  protected DecisionCache cache() {
    return cache;
  }

  /**
   * A server reads a bucket written by a server with a clock two hours ahead, as after a failover
   * or a step back of its own clock (issue 37, A2).
   */
  @Test
  void emptyBucket_writtenByAClockThatIsAhead_refillsAtItsRate() throws Exception {
    TokenBucketLimit fiftyTokens = new TokenBucketLimit(50, 10, 1_000_000);
    Check one = new Check(List.of(new BucketRequest("ahead", fiftyTokens, true)), 1);
    long ahead = nowEpochMicros() + 7_200_000_000L;
    try (ScriptRunner runner = new ScriptRunner(redis.uri())) {
      runner.put("ahead", new BucketState(0, 100_000, ahead, ahead, 0, 0, 50));
    }

    Decision.Denied denied = assertInstanceOf(Decision.Denied.class, cache.take(one));
    assertEquals(100_000, denied.buckets().get(0).retryAfterMicros());
    assertEquals(5_000_000, denied.buckets().get(0).resetMicros());
    Await.until("a call to be allowed", () -> cache.take(one) instanceof Decision.Allowed);
  }
}
