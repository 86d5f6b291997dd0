// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import io.github.bucket4j.BucketConfiguration;
import io.github.bucket4j.distributed.proxy.ProxyManager;
import io.github.bucket4j.redis.lettuce.Bucket4jLettuce;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.codec.RedisCodec;
import io.lettuce.core.codec.StringCodec;
import io.weir.servers.RedisServer;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * Compares Weir and bucket4j after a FLUSHALL under the same load. Measures how many more tokens
 * each limiter admits than a limiter that loses no data.
 */
final class FlushComparison {
  private static final int CLIENTS = 1_000;
  private static final double CALLS_PER_SECOND = 1_000;
  private static final long COST = 4;
  private static final long CAPACITY = 20;
  private static final Duration BEFORE = Duration.ofSeconds(15);
  private static final Duration AFTER = Duration.ofSeconds(15);
  private static final String POLICIES =
      """
      policies:
        - {name: burst, debt_cap: 100, limit: {algorithm: token-bucket, capacity: 20, refill_tokens: 1, refill_period: PT1S}}
      """;

  private final PrintStream out;

  FlushComparison(PrintStream out) {
    this.out = out;
  }

  /** Returns whether a limiter admits a call. */
  private interface Limiter {
    boolean admits(int client);
  }

  void run(Path folder) throws Exception {
    out.printf(
        "FLUSHALL after %d s: %d clients, %.0f calls/s of cost %d, capacity %d, 1 token/s%n",
        BEFORE.toSeconds(), CLIENTS, CALLS_PER_SECOND, COST, CAPACITY);
    weir(folder.resolve("flush"));
    bucket4j(folder.resolve("bucket4j"));
  }

  private void weir(Path folder) throws Exception {
    try (HealFleet fleet = HealFleet.start(folder, POLICIES)) {
      HttpChecks checks = new HttpChecks(fleet.nodeUrls());
      measure("weir", fleet.redisUri(), client -> checks.isAllowed(client, COST));
    }
  }

  private void bucket4j(Path folder) throws Exception {
    try (RedisServer redis = RedisServer.start(folder, 0)) {
      RedisClient client = RedisClient.create(redis.uri());
      try (StatefulRedisConnection<String, byte[]> connection =
          client.connect(RedisCodec.of(StringCodec.UTF8, ByteArrayCodec.INSTANCE))) {
        ProxyManager<String> manager = Bucket4jLettuce.casBasedBuilder(connection).build();
        BucketConfiguration configuration =
            BucketConfiguration.builder()
                .addLimit(limit -> limit.capacity(CAPACITY).refillGreedy(1, Duration.ofSeconds(1)))
                .build();
        measure(
            "bucket4j 8.19",
            redis.uri(),
            number ->
                manager.builder().build("b4j-" + number, () -> configuration).tryConsume(COST));
      } finally {
        client.shutdown();
      }
    }
  }

  private void measure(String name, String redisUri, Limiter limiter) throws InterruptedException {
    IdealLimiter ideal = new IdealLimiter(CLIENTS, CAPACITY, 1);
    RedisClient client = RedisClient.create(redisUri);
    try (StatefulRedisConnection<String, String> connection = client.connect();
        PacedCalls calls =
            PacedCalls.start(
                CALLS_PER_SECOND,
                n -> {
                  int number = (int) (n * 7 % CLIENTS);
                  ideal.compare(number, COST, limiter.admits(number));
                })) {
      TimeUnit.NANOSECONDS.sleep(BEFORE.toNanos());
      long before = ideal.surplusTokens();
      ideal.markPeak();
      connection.sync().flushall();
      TimeUnit.NANOSECONDS.sleep(AFTER.toNanos());
      out.printf(
          "%-14s surplus at most %,6d tokens, %,6d after %d s   (before: %,d; calls %,d,"
              + " not answered %d)%n",
          name,
          ideal.peakTokens() - before,
          ideal.surplusTokens() - before,
          AFTER.toSeconds(),
          before,
          calls.begun(),
          calls.failed());
    } finally {
      client.shutdown();
    }
  }
}
