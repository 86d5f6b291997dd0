// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.lettuce.core.AclSetuserArgs;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.protocol.CommandType;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.limits.check.Decision.Cause;
import io.weir.servers.RedisServer;
import io.weir.testing.Await;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests a server in cluster mode, which rejects a script with buckets of several clients. The cache
 * does not use the server, and does not report its errors as corrupt values. This must hold if the
 * server starts in cluster mode, restarts in cluster mode, or does not report its mode (issue 12,
 * item 16).
 */
class ClusterModeIT {
  private static final int SLOTS = 16_384;

  @TempDir private Path folder;

  private static RedisCacheConfig config(RedisServer server) {
    return RedisCacheConfig.of(server.uri())
        .withDeadline(Duration.ofMinutes(1))
        .withConnectionTimeouts(Duration.ofMinutes(2), Duration.ofMinutes(1));
  }

  private RedisServer cluster(int port) throws Exception {
    RedisServer server =
        RedisServer.start(folder.resolve("cluster"), port, "--cluster-enabled", "yes");
    administer(server, redis -> redis.sync().clusterAddSlots(slots()));
    Await.until(
        "a cluster that serves",
        () -> {
          boolean[] serves = new boolean[1];
          administer(
              server, redis -> serves[0] = redis.sync().clusterInfo().contains("cluster_state:ok"));
          return serves[0];
        });
    return server;
  }

  private static int[] slots() {
    int[] slots = new int[SLOTS];
    for (int i = 0; i < SLOTS; i++) {
      slots[i] = i;
    }
    return slots;
  }

  private static void administer(
      RedisServer server, Consumer<StatefulRedisConnection<String, String>> action) {
    RedisClient client = RedisClient.create(server.uri());
    try (StatefulRedisConnection<String, String> connection = client.connect()) {
      action.accept(connection);
    } finally {
      client.shutdown();
    }
  }

  private static Decision take(RedisDecisionCache cache) {
    TokenBucketLimit limit = new TokenBucketLimit(1_000, 1, 3_600_000_000L);
    return cache.take(
        new Check(
            List.of(
                new BucketRequest("{a}one", limit, true), new BucketRequest("{b}two", limit, true)),
            1));
  }

  private static void assertRefused(RedisDecisionCache cache) {
    Decision.Undecided none = assertInstanceOf(Decision.Undecided.class, take(cache));
    assertEquals(Cause.UNAVAILABLE, none.cause());
    assertTrue(none.detail().contains("cluster mode"), none::detail);
    assertFalse(cache.check().ok());
    assertTrue(cache.check().detail().contains("cluster mode"), cache.check()::detail);
  }

  @Test
  void serverInClusterMode_isRefusedFromTheStart() throws Exception {
    try (RedisServer server = cluster(0);
        RedisDecisionCache cache = RedisDecisionCache.start(config(server))) {
      assertRefused(cache);
      Await.until("the refusal", () -> cache.refusal().contains("cluster mode"));
    }
  }

  /** Regression: the reason was the error of a script whose key is on another server. */
  @Test
  void serverInClusterModeWithoutSlots_isRefusedFromTheStart() throws Exception {
    try (RedisServer server =
            RedisServer.start(folder.resolve("cluster"), 0, "--cluster-enabled", "yes");
        RedisDecisionCache cache = RedisDecisionCache.start(config(server))) {
      Await.until("the refusal", () -> cache.refusal().contains("cluster mode"));
    }
  }

  @Test
  void singleServer_namedAsACluster_isRefusedFromTheStart() throws Exception {
    try (RedisServer server = RedisServer.start(folder.resolve("single"), 0);
        ClusterDecisionCache cache =
            ClusterDecisionCache.start(
                RedisCacheConfig.of("redis-cluster://127.0.0.1:" + server.port()))) {
      Await.until("the refusal", () -> cache.refusal().contains("not in cluster mode"));
      assertFalse(cache.check().ok());
    }
  }

  @Test
  void serverReturnsInClusterMode_isRefusedUntilItIsStandaloneAgain() throws Exception {
    RedisServer single = RedisServer.start(folder.resolve("single"), 0);
    int port = single.port();
    try (RedisDecisionCache cache = RedisDecisionCache.start(config(single))) {
      Await.until("a decision", () -> take(cache) instanceof Decision.Allowed);
      assertEquals("", cache.refusal());
      single.close();
      RedisServer server = cluster(port);
      try {
        Await.until("the refusal", () -> cache.check().detail().contains("cluster mode"));
        assertRefused(cache);
      } finally {
        server.close();
      }
      single = RedisServer.start(folder.resolve("single"), port);
      Await.until("a decision", () -> take(cache) instanceof Decision.Allowed);
      assertEquals("", cache.refusal());
    } finally {
      single.close();
    }
  }

  @Test
  void serverHidesItsClusterMode_isUnavailable_notCorrupt() throws Exception {
    try (RedisServer server = cluster(0)) {
      administer(
          server,
          redis ->
              redis
                  .sync()
                  .aclSetuser("default", AclSetuserArgs.Builder.removeCommand(CommandType.INFO)));
      try (RedisDecisionCache cache = RedisDecisionCache.start(config(server))) {
        Await.until(
            "the error to be seen",
            () ->
                take(cache) instanceof Decision.Undecided none
                    && none.detail().contains("cluster mode"));
        assertEquals(0, cache.statistics().undecided(Cause.CORRUPT).count());
      }
    }
  }
}
