// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.weir.servers.testing.TestRedis;
import java.time.Duration;

/**
 * Settings of a cache whose caller waits as long as a machine with much other work may take; the
 * time limits themselves have tests of their own.
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
