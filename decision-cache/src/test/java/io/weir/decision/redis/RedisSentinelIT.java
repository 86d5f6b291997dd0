// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.decision.correction.CacheLife;
import io.weir.decision.correction.CacheLife.Warmth;
import io.weir.limits.QuotaLimit;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.limits.check.Decision.Cause;
import io.weir.servers.testing.TestRedis;
import io.weir.servers.testing.TestSentinels;
import io.weir.testing.Await;
import io.weir.topics.model.CacheRestored;
import java.net.URI;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** Tests a server that is found through sentinels, and its replica after a failover. */
class RedisSentinelIT {
  private static final Check HELD =
      new Check(
          List.of(
              new BucketRequest("held", new QuotaLimit(10, 4_000_000_000_000_000L), true, true)),
          1);

  private static RedisCacheConfig config(TestSentinels sentinels, String password) {
    return PatientConfig.of(sentinels.uri())
        .withAccess(new RedisAccess(null, null, null, "", password));
  }

  private static TestRedis replicaOf(TestRedis primary) {
    URI address = URI.create(primary.uri());
    return TestRedis.startProcess(
        "--repl-diskless-sync-delay",
        "0",
        "--replicaof",
        address.getHost(),
        Integer.toString(address.getPort()));
  }

  @Test
  void primaryIsKilled_replicaIsUsed_andColdUntilItIsRestored() throws Exception {
    try (TestRedis primary = TestRedis.startProcess()) {
      try (TestRedis replica = replicaOf(primary);
          TestSentinels sentinels = TestSentinels.watch(primary);
          RedisDecisionCache cache =
              RedisDecisionCache.start(config(sentinels, TestSentinels.PASSWORD));
          CacheLife life = cache.life()) {
        assertNotNull(replica);
        Await.until(cache.check()::detail, () -> life.look() == Warmth.COLD);
        restore(life);
        assertInstanceOf(Decision.Allowed.class, cache.take(HELD));
        String before = cache.link().life();

        primary.kill();

        Await.until("the replica", () -> life.look() == Warmth.COLD);
        assertFalse(before.equals(cache.link().life()));
        Decision.Undecided none = assertInstanceOf(Decision.Undecided.class, cache.take(HELD));
        assertEquals(Cause.COLD, none.cause());
        restore(life);
        assertInstanceOf(Decision.Allowed.class, cache.take(HELD));
      }
    }
  }

  private static void restore(CacheLife life) throws Exception {
    String generation = Objects.requireNonNull(life.beginRestoration());
    assertTrue(life.noteRestored(new CacheRestored(generation, 0, 1, 1, 1)));
  }

  @Test
  void sentinelsPasswordIsWrong_isUnavailable_andTheReasonDoesNotShowIt() throws Exception {
    try (TestRedis primary = TestRedis.startProcess()) {
      try (TestRedis replica = replicaOf(primary);
          TestSentinels sentinels = TestSentinels.watch(primary);
          RedisDecisionCache cache =
              RedisDecisionCache.start(config(sentinels, "not-the-password"))) {
        assertNotNull(replica);
        assertInstanceOf(Decision.Undecided.class, cache.take(HELD));
        assertFalse(cache.check().ok());
        assertFalse(cache.check().detail().contains("not-the-password"), cache.check()::detail);
      }
    }
  }
}
