// SPDX-License-Identifier: Apache-2.0
import io.weir.decision.DecisionCache;
import io.weir.decision.redis.RedisCacheConfig;
import io.weir.decision.redis.RedisDecisionCache;
import io.weir.limits.BucketKey;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import java.util.List;

/**
 * A program that limits calls by a bucket in Redis, without a node of Weir, Kafka and bills.
 *
 * <p>All programs with the same policy name, limit and Redis share the bucket of a client.
 */
@SuppressWarnings("DefaultPackage") // a single file, to be copied
public final class EmbeddedLimiter {
  private EmbeddedLimiter() {}

  /** Takes tokens for seven calls of a client. Arguments: the URI of Redis, and the client. */
  public static void main(String[] arguments) {
    String redis = arguments[0];
    String client = arguments[1];
    TokenBucketLimit fivePerHour = new TokenBucketLimit(5, 5, 3_600_000_000L); // microseconds
    try (DecisionCache cache = RedisDecisionCache.start(RedisCacheConfig.of(redis))) {
      String bucket = BucketKey.of("five-per-hour", client).text();
      Check check = new Check(List.of(new BucketRequest(bucket, fivePerHour, true)), 1);
      for (int call = 1; call <= 7; call++) {
        Decision decision = cache.take(check); // Undecided if Redis is unavailable
        System.out.println(call + " " + decision.getClass().getSimpleName());
      }
    }
  }
}
