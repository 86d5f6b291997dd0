// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.weir.servers.testing.TestRedis;
import java.time.Duration;

/**
 * Settings of a cache with timeouts long enough for a busy machine. Other tests cover the timeouts
 * themselves.
 */
final class PatientConfig {
  private static final Duration LONGEST_DEADLINE = Duration.ofMinutes(1);

  private PatientConfig() {}

  static RedisCacheConfig of(TestRedis redis) {
    return of(redis.uri());
  }

  static RedisCacheConfig of(String uri) {
    return RedisCacheConfig.of(uri)
        .withDeadline(LONGEST_DEADLINE)
        .withConnectionTimeouts(LONGEST_DEADLINE.multipliedBy(2), LONGEST_DEADLINE);
  }
}
