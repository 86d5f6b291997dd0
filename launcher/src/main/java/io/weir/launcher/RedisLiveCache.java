// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher;

import io.weir.aggregator.report.LiveCache;
import io.weir.decision.redis.RedisCacheConfig;
import io.weir.decision.redis.RedisDecisionCache;
import io.weir.limits.BucketLimit;
import io.weir.limits.check.BucketReply;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Asks Redis for the buckets' tokens, by a look that charges nothing. Safe for threads. */
final class RedisLiveCache implements LiveCache, AutoCloseable {
  private final RedisDecisionCache cache;

  private RedisLiveCache(RedisDecisionCache cache) {
    this.cache = cache;
  }

  /** Connects, if Redis is there; else as soon as it is. */
  static RedisLiveCache start(RedisCacheConfig config) {
    return new RedisLiveCache(RedisDecisionCache.start(config));
  }

  @Override
  public Map<String, Held> ask(Map<String, BucketLimit> buckets) {
    Map<String, Held> held = new HashMap<>();
    // shadow buckets: a cold cache answers for them, too, by what it has
    List<BucketRequest> requests = new ArrayList<>();
    buckets.forEach((bucket, limit) -> requests.add(new BucketRequest(bucket, limit, false)));
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

  /** A reply tells no debt, but of a bucket that refills the time until it is full does. */
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
