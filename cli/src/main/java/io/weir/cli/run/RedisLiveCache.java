// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.run;

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

/** Reads the tokens of buckets from Redis with peeks, which charge nothing. Thread-safe. */
final class RedisLiveCache implements LiveCache, AutoCloseable {
  private final RedisCache cache;

  private RedisLiveCache(RedisCache cache) {
    this.cache = cache;
  }

  /** Creates an instance, which connects to Redis now, or as soon as Redis is reachable. */
  static RedisLiveCache start(RedisCacheConfig config) {
    return new RedisLiveCache(
        RedisCache.start(config.withDenyCacheAge(Duration.ZERO), new SimpleMeterRegistry()));
  }

  @Override
  public Map<String, Held> ask(Map<String, BucketLimit> buckets) {
    Map<String, Held> held = new HashMap<>();
    // for shadow buckets, Redis replies even if it is not restored
    List<BucketRequest> requests = new ArrayList<>();
    buckets.forEach(
        (bucket, limit) -> requests.add(new BucketRequest(bucket, limit.alone(), false)));
    for (int from = 0; from < requests.size(); from += Check.MAX_BUCKETS) {
      List<BucketRequest> batch =
          requests.subList(from, Math.min(requests.size(), from + Check.MAX_BUCKETS));
      if (!(cache.peek(new Check(batch, 1)) instanceof Decision.Decided decided)) {
        return held;
      }
      for (int i = 0; i < batch.size(); i++) {
        BucketReply reply = decided.buckets().get(i);
        held.put(
            batch.get(i).bucket(),
            new Held(
                tokens(batch.get(i).limit(), reply),
                decided.decidedAtEpochMicros(),
                reply.epoch(),
                reply.chargedTokens()));
      }
    }
    return held;
  }

  /**
   * Returns the tokens of a bucket, negative if it is in debt. A reply does not contain the debt.
   * For a bucket that refills, this method computes the debt from the time until the bucket is
   * full.
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
