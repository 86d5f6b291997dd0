// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.lettuce.core.AclSetuserArgs;
import io.lettuce.core.SetArgs;
import io.lettuce.core.protocol.CommandType;
import io.weir.decision.correction.CacheLife;
import io.weir.decision.correction.CacheLife.Warmth;
import io.weir.decision.correction.CacheUnavailableException;
import io.weir.limits.QuotaLimit;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.limits.check.Decision.Cause;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.Await;
import io.weir.topics.model.CacheRestored;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests the detection and the restoration of a cold cache with Redis. */
class RedisCacheLifeIT {
  private static final int PARTITIONS = 3;
  private static final long HOUR_MICROS = 3_600_000_000L;

  private TestRedis redis;
  private RedisDecisionCache cache;
  private CacheLife life;

  @BeforeEach
  void start() {
    start(TestRedis.borrow());
  }

  private void start(TestRedis server) {
    redis = server;
    cache = node(server);
    life = RedisCacheLife.of(cache);
  }

  /** Starts a separate server for a test that disturbs it. */
  private void startOverAServerOfItsOwn() {
    stop();
    start(TestRedis.start());
  }

  @AfterEach
  void stop() {
    life.close();
    cache.close();
    redis.close();
  }

  private static RedisDecisionCache node(TestRedis redis) {
    return RedisDecisionCache.start(PatientConfig.of(redis));
  }

  /** Queries the cache until it replies. Without a reply, the result is unknown. */
  private static Warmth warmth(CacheLife life) throws Exception {
    AtomicReference<Warmth> seen = new AtomicReference<>(Warmth.UNKNOWN);
    Await.until(
        "an answer of the cache",
        () -> {
          seen.set(life.look());
          return seen.get() != Warmth.UNKNOWN;
        });
    return Objects.requireNonNull(seen.get());
  }

  private static String begin(CacheLife life) throws CacheUnavailableException {
    return Objects.requireNonNull(life.beginRestoration(), "not elected");
  }

  private static boolean note(CacheLife life, String generation, int partition)
      throws CacheUnavailableException {
    return life.noteRestored(new CacheRestored(generation, partition, PARTITIONS, 1, 1));
  }

  /** Restores all partitions. */
  private static void restore(CacheLife life) throws CacheUnavailableException {
    String generation = begin(life);
    for (int partition = 0; partition < PARTITIONS; partition++) {
      assertEquals(partition == PARTITIONS - 1, note(life, generation, partition));
    }
  }

  private static Check plain() {
    TokenBucketLimit limit = new TokenBucketLimit(1_000, 1, HOUR_MICROS);
    return new Check(List.of(new BucketRequest("plain", limit, true)), 1);
  }

  private static Check held() {
    QuotaLimit limit = new QuotaLimit(1_000, System.currentTimeMillis() * 1_000 + HOUR_MICROS);
    return new Check(List.of(new BucketRequest("held", limit, true, true)), 1);
  }

  private static void assertDecides(RedisDecisionCache cache, Check check) {
    assertInstanceOf(Decision.Allowed.class, cache.take(check));
  }

  private static void assertCold(RedisDecisionCache cache, Check check) {
    assertEquals(Cause.COLD, assertInstanceOf(Decision.Undecided.class, cache.take(check)).cause());
  }

  private void flush() {
    try (ScriptRunner runner = new ScriptRunner(redis.uri())) {
      runner.redis().flushall();
    }
  }

  private void assertEveryKeyHasATtl() {
    try (ScriptRunner runner = new ScriptRunner(redis.uri())) {
      for (byte[] key : runner.redis().keys("*")) {
        String name = new String(key, StandardCharsets.UTF_8);
        assertTrue(runner.redis().pttl(key) > 0, () -> name + " never expires");
      }
    }
  }

  @Test
  void freshServer_isColdUntilAllPartitionsAreRestored() throws Exception {
    assertEquals(Warmth.COLD, warmth(life));
    assertCold(cache, held());
    assertDecides(cache, plain());

    String generation = begin(life);
    assertFalse(note(life, generation, 0));
    assertFalse(note(life, generation, 2));
    assertFalse(note(life, generation, 2));
    assertEquals(Warmth.COLD, warmth(life));
    assertCold(cache, held());
    assertEveryKeyHasATtl();
    assertTrue(note(life, generation, 1));
    assertEquals(Warmth.WARM, warmth(life));
    assertDecides(cache, held());
    assertTrue(note(life, generation, 1));
    assertEveryKeyHasATtl();
    try (ScriptRunner runner = new ScriptRunner(redis.uri())) {
      assertEquals(3, runner.redis().dbsize(), "a marker and two buckets");
    }
    assertEquals(1, cache.statistics().undecided(Cause.COLD).count() - 1);
  }

  @Test
  void flushAll_isCold_andOnlyHeldBucketsAreUndecided() throws Exception {
    restore(life);
    assertDecides(cache, held());

    flush();
    assertCold(cache, held());
    assertDecides(cache, plain());
    assertEquals(Warmth.COLD, warmth(life));
    restore(life);
    assertDecides(cache, held());
  }

  @Test
  void restartFromItsFile_isColdAlthoughItsDataAreThere() throws Exception {
    startOverAServerOfItsOwn();
    restore(life);
    assertDecides(cache, held());

    // an orderly stop, so that its file contains all keys, including the marker of the previous run
    // ID
    redis.kill();
    Await.until("the loss to be seen", () -> life.look() == Warmth.UNKNOWN);
    redis.restart();
    Await.until("a connection", () -> life.look() != Warmth.UNKNOWN);
    assertEquals(Warmth.COLD, warmth(life));
    assertCold(cache, held());
    restore(life);
    assertDecides(cache, held());
  }

  @Test
  void restartWhileRestoring_previousGenerationIsIgnored() throws Exception {
    startOverAServerOfItsOwn();
    String before = begin(life);
    note(life, before, 0);
    note(life, before, 1);
    redis.kill();
    redis.restart();
    Await.until("a connection", () -> life.look() == Warmth.COLD);

    assertFalse(note(life, before, 2));
    String after = begin(life);
    assertNotEquals(before, after);
    assertFalse(note(life, before, 2));
    assertFalse(note(life, after, 0));
    assertFalse(note(life, after, 1));
    assertTrue(note(life, after, 2));
  }

  @Test
  void twoNodes_oneBeginsTheRestoration_andBothMayNotePartitions() throws Exception {
    try (RedisDecisionCache other = node(redis);
        CacheLife otherLife = RedisCacheLife.of(other)) {
      String generation = begin(life);
      assertNull(otherLife.beginRestoration());
      assertNull(life.beginRestoration());

      assertFalse(note(life, generation, 0));
      assertFalse(note(otherLife, generation, 1));
      assertTrue(note(otherLife, generation, 2));
      assertEquals(Warmth.WARM, warmth(life));
      assertNull(life.beginRestoration());
      assertDecides(cache, held());
      assertDecides(other, held());
    }
  }

  @Test
  void abandon_announcementFailed_anotherNodeMayBegin() throws Exception {
    String given = begin(life);
    note(life, given, 0);
    life.abandonRestoration(given);

    String next = begin(life);
    life.abandonRestoration(given);
    assertNull(life.beginRestoration(), "abandoning another generation changes nothing");
    assertFalse(note(life, given, 1));
    assertFalse(note(life, given, 2));
    assertFalse(note(life, next, 1));
    assertFalse(note(life, next, 2));
    assertTrue(note(life, next, 0));
  }

  @Test
  void flushWhileRestoring_previousGenerationIsIgnored() throws Exception {
    String before = begin(life);
    note(life, before, 0);
    flush();
    String after = begin(life);

    assertFalse(note(life, before, 1));
    assertFalse(note(life, before, 2));
    assertFalse(note(life, before, 0));
    assertFalse(note(life, after, 0));
    assertEquals(Warmth.COLD, warmth(life));
  }

  @Test
  void awaitColdSignal_cacheTurnsCold_wakesOnce() throws Exception {
    restore(life);
    assertDecides(cache, plain());
    assertTrue(millisOfWait(Duration.ofMillis(200)) >= 190, "nothing happened");

    flush();
    assertDecides(cache, plain());
    assertTrue(millisOfWait(Await.TIMEOUT) < Await.TIMEOUT.toMillis(), "not woken");
    assertDecides(cache, plain());
    assertTrue(millisOfWait(Duration.ofMillis(200)) >= 190, "woken again");
    restore(life);
    flush();
    assertDecides(cache, plain());
    assertTrue(
        millisOfWait(Await.TIMEOUT) < Await.TIMEOUT.toMillis(), "not woken after the restoration");
  }

  private long millisOfWait(Duration atMost) throws InterruptedException {
    long beganNanos = System.nanoTime();
    life.awaitColdSignal(atMost);
    return (System.nanoTime() - beganNanos) / 1_000_000;
  }

  @Test
  void serverDown_warmthIsUnknown_andRestorationCallsThrow() throws Exception {
    startOverAServerOfItsOwn();
    restore(life);
    redis.kill();

    Await.until("the loss to be seen", () -> life.look() == Warmth.UNKNOWN);
    assertThrows(CacheUnavailableException.class, life::beginRestoration);
    assertThrows(CacheUnavailableException.class, () -> note(life, "any", 0));
    assertThrows(CacheUnavailableException.class, () -> life.abandonRestoration("any"));
  }

  @Test
  void serverHangs_warmthIsUnknownAfterTheTimeout() throws Exception {
    startOverAServerOfItsOwn();
    restore(life);
    redis.pause();
    try {
      CacheLife hasty = RedisCacheLife.of(cache, Duration.ofSeconds(1));
      long beganNanos = System.nanoTime();
      assertEquals(Warmth.UNKNOWN, hasty.look());
      long millis = (System.nanoTime() - beganNanos) / 1_000_000;
      assertTrue(millis >= 900, () -> millis + " ms");
      // a pause of this process may be the cause, so only the watch of the connection decides
      assertNotNull(cache.link().current());
    } finally {
      redis.resume();
    }
    Await.until("the marker of the same life", () -> life.look() == Warmth.WARM);
  }

  @Test
  void serverHidesItsRunId_flushIsStillDetected() throws Exception {
    startOverAServerOfItsOwn();
    try (ScriptRunner runner = new ScriptRunner(redis.uri())) {
      runner.redis().aclSetuser("default", AclSetuserArgs.Builder.removeCommand(CommandType.INFO));
    }
    try (RedisDecisionCache blind = node(redis);
        CacheLife blindLife = RedisCacheLife.of(blind)) {
      assertEquals("unknown", blind.link().life());
      restore(blindLife);
      assertEquals(Warmth.WARM, warmth(blindLife));
      assertDecides(blind, held());
      flush();
      assertCold(blind, held());
      assertNotNull(blindLife.beginRestoration());
    }
  }

  @Test
  void evictionSwitchedOnAtRunTime_serverIsRefused_andItsStateIsRestoredAfterwards()
      throws Exception {
    startOverAServerOfItsOwn();
    restore(life);
    assertDecides(cache, held());

    try (ScriptRunner runner = new ScriptRunner(redis.uri())) {
      runner.redis().configSet("maxmemory-policy", "allkeys-random");
      runner.redis().configSet("maxmemory", "4mb");
      byte[] value = new byte[10_000];
      for (int i = 0; i < 1_000; i++) {
        runner
            .redis()
            .set(("other-" + i).getBytes(StandardCharsets.UTF_8), value, SetArgs.Builder.ex(600));
      }
      Await.until("the server to be refused", () -> life.look() == Warmth.UNKNOWN);
      assertTrue(cache.refusal().contains("allkeys-random"), cache.refusal());
      assertFalse(cache.check().ok());
      assertTrue(cache.statistics().evictions.count() > 0, "evictions are not counted");

      runner.redis().configSet("maxmemory-policy", "noeviction");
      runner.redis().configSet("maxmemory", "0");
    }
    Await.until("the server to be used", () -> life.look() != Warmth.UNKNOWN);
    assertEquals(Warmth.COLD, warmth(life));
    assertCold(cache, held());
    restore(life);
    assertDecides(cache, held());
    assertEquals(Warmth.WARM, warmth(life));
  }

  @Test
  void evictionIsAccepted_evictedKeysAreALossOfState() throws Exception {
    startOverAServerOfItsOwn();
    cache.close();
    cache =
        RedisDecisionCache.start(
            PatientConfig.of(redis).withOnEviction(RedisCacheConfig.OnEviction.WARN));
    life = RedisCacheLife.of(cache);
    restore(life);
    try (ScriptRunner runner = new ScriptRunner(redis.uri())) {
      runner.redis().configSet("maxmemory-policy", "volatile-ttl");
      runner.redis().configSet("maxmemory", "4mb");
      byte[] value = new byte[10_000];
      for (int i = 0; i < 1_000; i++) {
        // these keys have the shortest time to live, so they are evicted before the marker
        runner
            .redis()
            .set(("other-" + i).getBytes(StandardCharsets.UTF_8), value, SetArgs.Builder.ex(600));
      }
    }
    assertEquals(Warmth.COLD, warmth(life));
    assertCold(cache, held());
    restore(life);
    assertDecides(cache, held());
  }
}
