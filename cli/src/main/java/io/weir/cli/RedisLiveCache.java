// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.aggregator.report.LiveCache;
import io.weir.decision.redis.RedisCache;
import io.weir.decision.redis.RedisCacheConfig;
import io.weir.limits.BucketLimit;
import io.weir.limits.check.BucketReply;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Reads the buckets' tokens from Redis by peeks, which charge nothing. Thread-safe. */
final class RedisLiveCache implements LiveCache, AutoCloseable {
  private final RedisCache cache;

  private RedisLiveCache(RedisCache cache) {
    this.cache = cache;
  }

  /**
   * Creates an instance and connects to Redis, now if it is reachable, otherwise as soon as it is.
   */
  static RedisLiveCache start(RedisCacheConfig config) {
    return new RedisLiveCache(
        RedisCache.start(config.withDenyCacheAge(Duration.ZERO), new SimpleMeterRegistry()));
  }

  @Override
  public Map<String, Held> ask(Map<String, BucketLimit> buckets) {
    Map<String, Held> held = new HashMap<>();
    // requested as shadow buckets, for which a cold cache answers, too, from the state it has
    List<BucketRequest> requests = new ArrayList<>();
    buckets.forEach(
        (bucket, limit) -> requests.add(new BucketRequest(bucket, limit.alone(), false)));
    for (int from = 0; from < requests.size(); from += Check.MAX_BUCKETS) {
      List<BucketRequest> asked =
          requests.subList(from, Math.min(requests.size(), from + Check.MAX_BUCKETS));
      if (!(cache.peek(new Check(asked, 1)) instanceof Decision.Decided decided)) {
        return held;
      }
      for (int i = 0; i < asked.size(); i++) {
        BucketReply reply = decided.buckets().get(i);
        held.put(
            asked.get(i).bucket(),
            new Held(
                tokens(asked.get(i).limit(), reply),
                decided.decidedAtEpochMicros(),
                reply.epoch(),
                reply.chargedTokens()));
      }
    }
    return held;
  }

  /**
   * Returns the tokens of a bucket, negative if it is in debt. A reply does not contain the debt;
   * for a bucket that refills, it follows from the time until the bucket is full.
   */
  private static long tokens(BucketLimit limit, BucketReply reply) {
    return reply.remainingTokens() > 0 || !limit.refills()
        ? reply.remainingTokens()
        : limit.levelTokens(reply.resetMicros(), 0, 0);
  }

  @Override
  public void close() {
    cache.close();
  }
}
