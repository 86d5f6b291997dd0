// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.weir.limits.QuotaLimit;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketReply;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.limits.check.Decision.Cause;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.Await;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.junit.jupiter.api.Test;

/**
 * Nodes of this version and of earlier versions use the same buckets (issue 12, item 18). The
 * test's resources contain the scripts of earlier versions as released, which write and read their
 * own formats.
 */
class RollingUpgradeIT {
  private static final int BUCKETS = 8;
  private static final int CAPACITY = 300;
  private static final TokenBucketLimit HOURLY = new TokenBucketLimit(CAPACITY, 1, 3_600_000_000L);
  private static final QuotaLimit PERIOD = new QuotaLimit(CAPACITY, 4_000_000_000_000_000L);

  /** The scripts of a release; its callers' side of the calls is the same as today's. */
  private static RedisScript released(String form) {
    return RedisScript.of(
        ServerKind.SINGLE,
        "released/" + form + "/bucket.lua",
        "released/" + form + "/take_tokens.lua");
  }

  private static Check check(int bucket) {
    return new Check(
        List.of(
            new BucketRequest("w1:{" + bucket + "}:hourly", HOURLY, true),
            new BucketRequest("w1:{" + bucket + "}:period", PERIOD, true)),
        1);
  }

  private static RedisDecisionCache node(TestRedis redis, RedisScript script) throws Exception {
    RedisDecisionCache cache = RedisDecisionCache.start(PatientConfig.of(redis), script);
    Await.until("a connection", () -> cache.check().ok());
    return cache;
  }

  /**
   * Calls each bucket over each node in turn until every bucket is exhausted; returns the admitted
   * calls.
   */
  private static int[] exhaust(List<RedisDecisionCache> nodes) {
    AtomicIntegerArray passed = new AtomicIntegerArray(BUCKETS);
    ExecutorService callers = Executors.newFixedThreadPool(BUCKETS);
    try {
      List<CompletableFuture<Void>> calling = new ArrayList<>();
      for (int i = 0; i < BUCKETS; i++) {
        int bucket = i;
        calling.add(CompletableFuture.runAsync(() -> exhaust(nodes, bucket, passed), callers));
      }
      calling.forEach(CompletableFuture::join);
    } finally {
      callers.shutdownNow();
    }
    int[] each = new int[BUCKETS];
    for (int i = 0; i < BUCKETS; i++) {
      each[i] = passed.get(i);
    }
    return each;
  }

  private static void exhaust(
      List<RedisDecisionCache> nodes, int bucket, AtomicIntegerArray passed) {
    int deniedInARow = 0;
    for (int n = 0; deniedInARow < nodes.size(); n++) {
      Decision decision = nodes.get(n % nodes.size()).take(check(bucket));
      if (decision instanceof Decision.Allowed) {
        passed.incrementAndGet(bucket);
        deniedInARow = 0;
      } else {
        assertInstanceOf(Decision.Denied.class, decision, decision::toString);
        deniedInARow++;
      }
    }
  }

  private static int[] all(int tokens) {
    int[] each = new int[BUCKETS];
    Arrays.fill(each, tokens);
    return each;
  }

  @Test
  void nodesOfThisAndTheLastVersion_sideBySide_admitExactlyTheCapacity() throws Exception {
    try (TestRedis redis = TestRedis.borrow();
        RedisDecisionCache last = node(redis, released("form-4-read"));
        RedisDecisionCache otherOfTheLast = node(redis, released("form-4-read"));
        RedisDecisionCache next = node(redis, RedisScript.takeTokens());
        RedisDecisionCache otherOfTheNext = node(redis, RedisScript.takeTokens())) {
      List<RedisDecisionCache> nodes = List.of(last, next, otherOfTheLast, otherOfTheNext);

      int[] passed = exhaust(nodes);

      assertEquals(List.of(), differences(all(CAPACITY), passed));
      for (RedisDecisionCache node : nodes) {
        assertEquals(0, node.statistics().undecided(Cause.CORRUPT).count());
      }
    }
  }

  /** The older form was never released, so its nodes need not read the newer form. */
  @Test
  void nodesOfThisVersion_continueBucketsStoredInForm2() throws Exception {
    int[] before = new int[BUCKETS];
    try (TestRedis redis = TestRedis.borrow();
        RedisDecisionCache last = node(redis, released("form-2"));
        RedisDecisionCache next = node(redis, RedisScript.takeTokens())) {
      for (int bucket = 0; bucket < BUCKETS; bucket++) {
        for (int i = 0; i < 100 + bucket; i++) {
          assertInstanceOf(Decision.Allowed.class, last.take(check(bucket)));
          before[bucket]++;
        }
      }
      Decision.Allowed lastOfTheOld =
          assertInstanceOf(Decision.Allowed.class, last.take(check(BUCKETS - 1)));
      before[BUCKETS - 1]++;

      Decision.Allowed first =
          assertInstanceOf(Decision.Allowed.class, next.take(check(BUCKETS - 1)));
      before[BUCKETS - 1]++;
      for (int i = 0; i < 2; i++) {
        assertEquals(lastOfTheOld.buckets().get(i).epoch(), first.buckets().get(i).epoch());
        assertEquals(
            lastOfTheOld.buckets().get(i).chargedTokens() + 1,
            first.buckets().get(i).chargedTokens());
      }
      int[] after = exhaust(List.of(next));

      for (int bucket = 0; bucket < BUCKETS; bucket++) {
        assertEquals(CAPACITY, before[bucket] + after[bucket], "bucket " + bucket);
      }
      assertEquals(0, next.statistics().undecided(Cause.CORRUPT).count());
    }
  }

  /** The version before reads the 28 bytes of this one, and writes its own 57. */
  @Test
  void bucketOf28Bytes_isContinuedByTheLastVersion() throws Exception {
    try (TestRedis redis = TestRedis.borrow();
        RedisDecisionCache last = node(redis, released("form-4-read"));
        RedisDecisionCache next = node(redis, RedisScript.takeTokens());
        RedisClient client = RedisClient.create(redis.uri());
        StatefulRedisConnection<String, String> connection = client.connect()) {
      assertInstanceOf(Decision.Allowed.class, next.take(check(0)));
      assertEquals(28, connection.sync().strlen("w1:{0}:hourly"));
      assertEquals(28, connection.sync().strlen("w1:{0}:period"));

      Decision.Allowed continued = assertInstanceOf(Decision.Allowed.class, last.take(check(0)));

      assertEquals(57, connection.sync().strlen("w1:{0}:hourly"));
      for (BucketReply reply : continued.buckets()) {
        assertEquals(2, reply.chargedTokens());
      }
    }
  }

  /** The memory per bucket: 96 bytes with the allocator of Redis' official image. */
  @Test
  void key_takesAtMost104BytesOfMemory() throws Exception {
    try (TestRedis redis = TestRedis.borrow();
        RedisDecisionCache cache = node(redis, RedisScript.takeTokens());
        RedisClient client = RedisClient.create(redis.uri());
        StatefulRedisConnection<String, String> connection = client.connect()) {
      assertInstanceOf(Decision.Allowed.class, cache.take(check(0)));

      long bytes = connection.sync().memoryUsage("w1:{0}:hourly");

      assertTrue(bytes <= 104, () -> bytes + " bytes");
    }
  }

  private static List<String> differences(int[] expected, int[] actual) {
    List<String> differences = new ArrayList<>();
    for (int i = 0; i < expected.length; i++) {
      if (expected[i] != actual[i]) {
        differences.add("bucket " + i + ": " + actual[i] + " passed, not " + expected[i]);
      }
    }
    return differences;
  }
}
