// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import io.weir.aggregator.report.LiveCache;
import io.weir.decision.redis.RedisCacheConfig;
import io.weir.decision.redis.RedisDecisionCache;
import io.weir.limits.BucketLimit;
import io.weir.limits.QuotaLimit;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.Await;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** The buckets that reports read from a real Redis. */
final class RedisLiveCacheIT {
  private static final TokenBucketLimit HOURLY =
      new TokenBucketLimit(100, 1, Duration.ofHours(1).toNanos() / 1_000);

  private static final QuotaLimit QUOTA =
      new QuotaLimit(50, (System.currentTimeMillis() + 3_600_000) * 1_000);

  private static RedisCacheConfig config(TestRedis redis) {
    return RedisCacheConfig.of(redis.uri())
        .withDeadline(Duration.ofMinutes(1))
        .withConnectionTimeouts(Duration.ofMinutes(2), Duration.ofMinutes(1));
  }

  private static Map<String, BucketLimit> buckets(int more) {
    Map<String, BucketLimit> buckets = new LinkedHashMap<>();
    buckets.put("live:burst", HOURLY);
    buckets.put("live:quota", QUOTA);
    for (int i = 0; i < more; i++) {
      buckets.put("live:more" + i, HOURLY);
    }
    return buckets;
  }

  private static Map<String, Long> tokens(Map<String, LiveCache.Held> held) {
    Map<String, Long> tokens = new TreeMap<>();
    held.forEach((bucket, one) -> tokens.put(bucket, one.remainingTokens()));
    return tokens;
  }

  private static LiveCache.Held held(LiveCache live, BucketLimit limit) {
    LiveCache.Held held = live.ask(Map.of("live:burst", limit)).get("live:burst");
    if (held == null) {
      throw new AssertionError("Redis did not tell");
    }
    return held;
  }

  @Test
  void ask_moreBucketsThanACheckHolds_returnsWhatRedisHolds() throws Exception {
    try (TestRedis redis = TestRedis.borrow();
        RedisDecisionCache writer = RedisDecisionCache.start(config(redis));
        RedisLiveCache live = RedisLiveCache.start(config(redis))) {
      assertInstanceOf(
          Decision.Allowed.class,
          writer.take(
              new Check(
                  List.of(
                      new BucketRequest("live:burst", HOURLY, true),
                      new BucketRequest("live:quota", QUOTA, true)),
                  40)));

      Map<String, Long> remaining = tokens(live.ask(buckets(40)));

      assertEquals(42, remaining.size());
      assertEquals(60, remaining.get("live:burst"));
      assertEquals(10, remaining.get("live:quota"));
      assertEquals(100, remaining.get("live:more39"));
      assertEquals(remaining, tokens(live.ask(buckets(40))), "a look changes nothing");
      assertEquals(40, held(live, HOURLY).chargedTokens());
      TokenBucketLimit lowered = new TokenBucketLimit(10, 1, HOURLY.refillPeriodMicros());
      assertEquals(10, held(live, lowered).remainingTokens());
    }
  }

  @Test
  void ask_redisGone_returnsNothing() throws Exception {
    try (TestRedis redis = TestRedis.start();
        RedisLiveCache live =
            RedisLiveCache.start(
                RedisCacheConfig.of(redis.uri()).withDeadline(Duration.ofMillis(250)))) {
      Await.until("Redis to answer", () -> live.ask(buckets(0)).size() == 2);
      redis.kill();

      Await.until("no bucket", () -> live.ask(buckets(0)).isEmpty());
    }
  }
}
