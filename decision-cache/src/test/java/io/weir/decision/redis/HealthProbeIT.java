// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.Await;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Tests that health checks do not delay decisions (issue 12, item 17). */
class HealthProbeIT {
  private static final int QUESTIONS = 20_000;
  private static final Pattern PINGS = Pattern.compile("cmdstat_ping:calls=(\\d+)");

  private static long pings(TestRedis redis) {
    RedisClient client = RedisClient.create(redis.uri());
    try (StatefulRedisConnection<String, String> connection = client.connect()) {
      Matcher calls = PINGS.matcher(connection.sync().info("commandstats"));
      return calls.find() ? Long.parseLong(calls.group(1)) : 0;
    } finally {
      client.shutdown();
    }
  }

  @Test
  void check_calledVeryOften_pingsTheServerOnceASecond() throws Exception {
    try (TestRedis redis = TestRedis.borrow();
        RedisDecisionCache cache = RedisDecisionCache.start(PatientConfig.of(redis))) {
      Await.until(() -> cache.check().detail(), () -> cache.check().ok());
      long begun = System.nanoTime();
      long before = pings(redis);

      for (int i = 0; i < QUESTIONS; i++) {
        assertTrue(cache.check().ok());
      }

      long asked = pings(redis) - before;
      long seconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begun);
      assertTrue(asked <= seconds + 2, () -> asked + " questions in " + seconds + " s");
    }
  }

  @Test
  void serverTime_isReported_withoutHealthChecks() throws Exception {
    try (TestRedis redis = TestRedis.borrow();
        RedisDecisionCache cache = RedisDecisionCache.start(PatientConfig.of(redis))) {
      AtomicLong toldMicros = new AtomicLong();
      long before = System.currentTimeMillis();

      cache.onServerTime((server, micros) -> toldMicros.set(micros));

      Await.until("a time after the first", () -> toldMicros.get() / 1_000 > before);
      assertTrue(toldMicros.get() / 1_000 <= System.currentTimeMillis(), toldMicros::toString);
    }
  }

  @Test
  void check_serverPaused_isUnhealthyWithoutWaitingForIt() throws Exception {
    try (TestRedis redis = TestRedis.start();
        RedisDecisionCache cache = RedisDecisionCache.start(RedisCacheConfig.of(redis.uri()))) {
      Await.until(() -> cache.check().detail(), () -> cache.check().ok());
      redis.pause();
      try {
        // without calls, only the probe detects that the server does not reply
        Await.until("the silence to be reported", () -> !cache.check().ok());
        CompletableFuture.runAsync(
                () -> {
                  for (int i = 0; i < QUESTIONS; i++) {
                    assertFalse(cache.check().ok());
                  }
                })
            .get(Await.TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
      } finally {
        redis.resume();
      }
      Await.until(() -> cache.check().detail(), () -> cache.check().ok());
    }
  }
}
