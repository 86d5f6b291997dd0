// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.weir.limits.QuotaLimit;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.Await;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The size of a bucket in Redis. */
class BucketBytesIT {
  private static final TokenBucketLimit HOURLY = new TokenBucketLimit(300, 1, 3_600_000_000L);
  private static final QuotaLimit PERIOD = new QuotaLimit(300, 4_000_000_000_000_000L);

  /** The memory per bucket: 96 bytes with the allocator of Redis' official image. */
  @Test
  void uncorrectedBucket_has28Bytes_andTakesAtMost104BytesOfMemory() throws Exception {
    try (TestRedis redis = TestRedis.borrow();
        RedisDecisionCache cache = RedisDecisionCache.start(PatientConfig.of(redis));
        RedisClient client = RedisClient.create(redis.uri());
        StatefulRedisConnection<String, String> connection = client.connect()) {
      Await.until("a connection", () -> cache.check().ok());
      Check check =
          new Check(
              List.of(
                  new BucketRequest("w1:{0}:hourly", HOURLY, true),
                  new BucketRequest("w1:{0}:period", PERIOD, true)),
              1);
      assertInstanceOf(Decision.Allowed.class, cache.take(check));

      assertEquals(28, connection.sync().strlen("w1:{0}:hourly"));
      assertEquals(28, connection.sync().strlen("w1:{0}:period"));
      long bytes = connection.sync().memoryUsage("w1:{0}:hourly");
      assertTrue(bytes <= 104, () -> bytes + " bytes");
    }
  }
}
