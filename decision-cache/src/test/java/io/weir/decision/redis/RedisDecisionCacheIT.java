// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.weir.decision.DecisionCache;
import io.weir.decision.DecisionCacheContract;
import io.weir.servers.testing.TestRedis;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;

/** The contract over a real Redis. */
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
}
