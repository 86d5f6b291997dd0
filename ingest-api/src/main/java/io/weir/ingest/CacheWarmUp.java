// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import io.weir.decision.redis.RedisCache;
import io.weir.ingest.record.DecisionClock;
import io.weir.limits.BucketKey;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import java.time.Duration;
import java.util.List;

/**
 * Sends peeks to the decision cache of a starting node until the JVM has loaded the code that
 * decides calls. Without these peeks, the first callers would wait tens of milliseconds. Peeks
 * write nothing. The replies also set the decision clock, so that the first low watermark follows
 * the cache's clock.
 */
final class CacheWarmUp {
  /** Number of consecutive decisions after which the warm-up ends. */
  private static final int DECISIONS = 200;

  /** Number of consecutive requests without a reply after which the cache counts as unreachable. */
  private static final int TRIES = 3;

  private static final Duration LIMIT = Duration.ofSeconds(2);

  private CacheWarmUp() {}

  /** Sends the peeks. Ends early if the cache is unreachable or the peeks take longer than 2 s. */
  static void run(RedisCache cache, DecisionClock clock) {
    Check check =
        new Check(
            List.of(
                new BucketRequest(
                    BucketKey.of("warm-up", "warm-up").text(),
                    new TokenBucketLimit(1, 1, 1),
                    true)),
            1);
    long end = System.nanoTime() + LIMIT.toNanos();
    int decided = 0;
    int undecided = 0;
    while (decided < DECISIONS && undecided < TRIES && System.nanoTime() < end) {
      Decision decision = cache.peek(check);
      if (decision instanceof Decision.Decided reply) {
        clock.observe(reply.decidedAtEpochMicros() / 1_000);
        decided++;
        undecided = 0;
      } else {
        decided = 0;
        boolean wasSent =
            decision instanceof Decision.Undecided none && none.cause() != Decision.Cause.REJECTED;
        undecided += wasSent ? 1 : 0;
      }
    }
  }
}
