// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import io.lettuce.core.AclSetuserArgs;
import io.lettuce.core.KillArgs;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.weir.decision.correction.CacheUnavailableException;
import io.weir.limits.BucketLimit;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketReply;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.limits.check.Decision.Allowed;
import io.weir.limits.check.Decision.Denied;
import io.weir.limits.check.Decision.StillDenied;
import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.Correction;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.Await;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Tests the deny cache with Redis: the calls that it denies, and the events that end a cached
 * denial.
 */
class RedisDenyCacheIT {
  /** A limit with one token per day, so that no bucket refills during a test. */
  private static final BucketLimit LIMIT = new TokenBucketLimit(5, 1, 86_400_000_000L);

  private TestRedis redis;
  private RedisDecisionCache cache;
  private RedisClient client;
  private RedisCommands<String, String> commands;

  @BeforeEach
  void start() {
    redis = TestRedis.borrow();
    cache = RedisDecisionCache.start(config(redis.uri()));
    client = RedisClient.create(redis.uri());
    StatefulRedisConnection<String, String> connection = client.connect();
    commands = connection.sync();
  }

  @AfterEach
  void close() {
    client.shutdown();
    cache.close();
    redis.close();
  }

  private RedisCacheConfig config(String uri) {
    return RedisCacheConfig.of(uri)
        .withDeadline(Duration.ofMinutes(1))
        .withConnectionTimeouts(Duration.ofMinutes(2), Duration.ofMinutes(1))
        .withDenyCacheAge(Duration.ofMinutes(1));
  }

  private static Check check(String bucket, BucketLimit limit, long cost) {
    return new Check(List.of(new BucketRequest(bucket, limit, true)), cost);
  }

  private static Check check(long cost) {
    return check("w1:{deny}:day", LIMIT, cost);
  }

  private BucketReply takeAll() {
    return assertInstanceOf(Allowed.class, cache.take(check(5))).buckets().get(0);
  }

  private double checksSent() {
    return cache.statistics().checksSent.count();
  }

  @Test
  void denied_isDeniedAgainWithoutAsking() {
    takeAll();
    assertInstanceOf(Denied.class, cache.take(check(1)));
    double sent = checksSent();

    for (int i = 0; i < 100; i++) {
      assertInstanceOf(StillDenied.class, cache.take(check(1 + i % 5)));
    }
    assertEquals(sent, checksSent());
    assertInstanceOf(Denied.class, cache.peek(check(1)), "a peek is asked");
    assertInstanceOf(Denied.class, cache.take(check(6)), "the cost is above the capacity");
  }

  /** The corrector belongs to another node, which reaches this cache only through Redis. */
  @Test
  void correctionThatGives_isHeardAtOnce() throws Exception {
    BucketReply charged = takeAll();
    assertInstanceOf(Denied.class, cache.take(check(1)));
    assertInstanceOf(StillDenied.class, cache.take(check(1)));

    try (RedisBucketCorrector corrector = RedisBucketCorrector.start(config(redis.uri()))) {
      corrector.apply(List.of(fullIn(charged, 1, 3)));
      Await.until("the tokens that were given back", () -> cache.take(check(1)) instanceof Allowed);
    }
  }

  @Test
  void correctionThatTakes_isNoReasonToAsk() throws CacheUnavailableException {
    BucketReply charged = takeAll();
    assertInstanceOf(Denied.class, cache.take(check(1)));
    try (RedisBucketCorrector corrector = RedisBucketCorrector.start(config(redis.uri()))) {
      corrector.apply(List.of(fullIn(charged, 1, 8)));
      // all published messages are read before the reply to this command
      assertInstanceOf(Denied.class, cache.peek(check(1)));

      assertInstanceOf(StillDenied.class, cache.take(check(1)));
    }
  }

  private static BoundedCorrection fullIn(BucketReply charged, long version, long days) {
    long nowMillis = System.currentTimeMillis();
    return new BoundedCorrection(
        new Correction(
            "w1:{deny}:day",
            LIMIT,
            charged.epoch(),
            version,
            charged.chargedTokens(),
            (nowMillis + days * 86_400_000L) * 1_000,
            charged.chargedTokens(),
            0,
            Correction.Cause.GAP,
            nowMillis,
            nowMillis,
            0),
        100);
  }

  @Test
  void connectionLost_isQueriedAgain() throws Exception {
    takeAll();
    assertInstanceOf(Denied.class, cache.take(check(1)));
    commands.del("w1:{deny}:day");
    assertInstanceOf(StillDenied.class, cache.take(check(1)));

    commands.clientKill(KillArgs.Builder.skipme());
    Await.until("the deleted bucket, full", () -> cache.take(check(5)) instanceof Allowed);
  }

  @Test
  void cacheThatLostItsState_isQueriedAgain() {
    String life = ServerInfo.of(commands.info("server")).life();
    commands.set(new String(LifeKeys.marker(), StandardCharsets.UTF_8), life);
    takeAll();
    assertInstanceOf(Denied.class, cache.take(check(1)));
    commands.flushall();

    assertInstanceOf(Allowed.class, cache.take(check("w1:{other}:day", LIMIT, 1)), "sees it cold");
    assertInstanceOf(Allowed.class, cache.take(check(1)));
  }

  @Test
  void raisedLimit_queriesTheServer() {
    takeAll();
    assertInstanceOf(Denied.class, cache.take(check(1)));
    BucketLimit raised = new TokenBucketLimit(9, 9, 1_000_000);

    assertInstanceOf(Denied.class, cache.take(check("w1:{deny}:day", raised, 9)));
  }

  /** A Redis user that may use all keys and commands, but no channel. */
  @Test
  void withoutChannels_everyCheckIsSent() {
    commands.aclSetuser(
        "weir",
        AclSetuserArgs.Builder.on().addPassword("secret").allKeys().allCommands().resetChannels());
    RedisURI uri = RedisURI.create(redis.uri());
    String asUser = "redis://weir:secret@" + uri.getHost() + ":" + uri.getPort();
    try (RedisDecisionCache other = RedisDecisionCache.start(config(asUser))) {
      assertInstanceOf(Allowed.class, other.take(check(5)));
      assertInstanceOf(Denied.class, other.take(check(1)));
      Decision again = other.take(check(1));
      assertInstanceOf(Denied.class, again);
    } finally {
      commands.aclDeluser("weir");
    }
  }
}
