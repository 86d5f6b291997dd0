// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.limits.check.Decision.Cause;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.Await;
import io.weir.testing.CoreSuite;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Tests decisions while Redis is unavailable or slow, rejects calls, or has lost its state. */
@CoreSuite
class RedisOutageIT {
  private static final Duration DEADLINE = Duration.ofMillis(100);

  /** Number of attempts, more than ever needed. Each attempt has up to eight timeouts. */
  private static final int MAX_ROUNDS = 50;

  private static final Duration STALL = Duration.ofMillis(500);

  /** A timeout that is longer than every test, so that it never elapses. */
  private static final Duration NEVER = Duration.ofHours(1);

  /** Settings with a short deadline and a short stall timeout. */
  private static RedisCacheConfig hasty(TestRedis redis) {
    return PatientConfig.of(redis)
        .withDeadline(DEADLINE)
        .withConnectionTimeouts(STALL, Duration.ofMinutes(1));
  }

  /** Settings with a short deadline and no stall timeout in practice. */
  private static RedisCacheConfig unnoticing(TestRedis redis) {
    return hasty(redis).withConnectionTimeouts(NEVER, Duration.ofMinutes(1));
  }

  private static Check check(String bucket) {
    TokenBucketLimit limit = new TokenBucketLimit(1_000_000, 1, 3_600_000_000L);
    return new Check(List.of(new BucketRequest(bucket, limit, true)), 1);
  }

  private static boolean decides(RedisDecisionCache cache) {
    return cache.take(check("probe")) instanceof Decision.Decided;
  }

  private static void withServer(String name, String value, TestRedis redis) {
    administer(redis, connection -> connection.sync().configSet(name, value));
  }

  private static void administer(
      TestRedis redis, Consumer<StatefulRedisConnection<String, String>> action) {
    RedisClient client = RedisClient.create(redis.uri());
    try (StatefulRedisConnection<String, String> connection = client.connect()) {
      action.accept(connection);
    } finally {
      client.shutdown();
    }
  }

  private static Cause cause(Decision decision) {
    return assertInstanceOf(Decision.Undecided.class, decision).cause();
  }

  /** Callers that run until they are stopped, and their decisions. */
  private static final class Load implements AutoCloseable {
    private final AtomicBoolean stop = new AtomicBoolean();
    private final List<Thread> threads = new ArrayList<>();
    private final ConcurrentLinkedQueue<Decision> seen = new ConcurrentLinkedQueue<>();
    private final ConcurrentLinkedQueue<Throwable> thrown = new ConcurrentLinkedQueue<>();
    private final AtomicLongArray answers;

    Load(RedisDecisionCache cache, int callers) {
      answers = new AtomicLongArray(callers);
      for (int i = 0; i < callers; i++) {
        int caller = i;
        Thread thread = new Thread(() -> call(cache, caller), "load-" + i);
        thread.setUncaughtExceptionHandler((t, error) -> thrown.add(error));
        threads.add(thread);
        thread.start();
      }
    }

    private void call(RedisDecisionCache cache, int caller) {
      while (!stop.get()) {
        Decision decision = cache.take(check(Thread.currentThread().getName()));
        if (decision instanceof Decision.Undecided) {
          seen.add(decision);
          // callers with immediate decisions must not take the processor from the restarting server
          LockSupport.parkNanos(1_000_000);
        }
        answers.incrementAndGet(caller);
      }
    }

    /**
     * Waits until every caller has received the given number of further decisions. Then no earlier
     * call is pending.
     */
    void awaitAnswers(int more) throws Exception {
      for (int i = 0; i < answers.length(); i++) {
        int caller = i;
        long before = answers.get(caller);
        Await.until("answers", () -> answers.get(caller) >= before + more);
      }
    }

    @Override
    public void close() {
      stop.set(true);
      for (Thread thread : threads) {
        try {
          thread.join(Await.TIMEOUT.toMillis());
        } catch (InterruptedException interrupted) {
          Thread.currentThread().interrupt();
        }
        assertFalse(thread.isAlive(), "a caller hangs");
      }
      assertTrue(thrown.isEmpty(), () -> "callers saw " + thrown);
    }
  }

  /** The deadline is one minute, so the deadline cannot have caused a decision. */
  @Test
  void redisKilledUnderLoad_callersDoNotWaitForItAndItRecovers() throws Exception {
    try (TestRedis redis = TestRedis.start();
        RedisDecisionCache cache = RedisDecisionCache.start(PatientConfig.of(redis))) {
      Await.until("the first decision", () -> decides(cache));

      try (Load load = new Load(cache, 16)) {
        double before = cache.statistics().allowed.count();
        Await.until("load", () -> cache.statistics().allowed.count() > before + 1_000);
        redis.kill();
        Await.until("the loss to be known", () -> cache.link().current() == null);
        assertFalse(cache.check().ok());
        // no call is sent, queued or pending, so these decisions were immediate
        load.awaitAnswers(2);
        assertAnsweredWithoutAsking(cache);
        Await.until("the callers to tell", () -> load.seen.size() > 1_000);
        redis.restart();
        double after = cache.statistics().allowed.count();
        Await.until(
            "decisions after the restart",
            () -> cache.statistics().allowed.count() > after + 1_000);
      }
      assertEquals(0, cache.statistics().undecided(Cause.TIMEOUT).count());
      Await.until(() -> cache.check().detail(), () -> cache.check().ok());
      assertTrue(cache.statistics().connections.count() >= 2);
      assertEquation(cache);
    }
  }

  /**
   * While the server is unavailable, calls get decisions immediately, and no call is sent or waits.
   * Earlier checks may leave the queue during this time.
   */
  private static void assertAnsweredWithoutAsking(RedisDecisionCache cache) throws Exception {
    CacheStatistics statistics = cache.statistics();
    double sent = statistics.checksSent.count();
    double timedOut = statistics.undecided(Cause.TIMEOUT).count();

    Await.until(
        "a thousand answers while nothing that waited is dropped",
        () -> {
          double before = statistics.undecided(Cause.UNAVAILABLE).count();
          double dropped = statistics.checksNotSent.count();
          Await.until(
              "answers", () -> statistics.undecided(Cause.UNAVAILABLE).count() > before + 1_000);
          return statistics.checksNotSent.count() == dropped;
        });
    assertEquals(sent, statistics.checksSent.count());
    assertEquals(timedOut, statistics.undecided(Cause.TIMEOUT).count());
  }

  private static void assertEquation(RedisDecisionCache cache) {
    CacheStatistics statistics = cache.statistics();
    double undecided = 0;
    for (Cause cause : Cause.values()) {
      undecided += statistics.undecided(cause).count();
    }
    assertEquals(
        statistics.asked.count(),
        statistics.allowed.count() + statistics.denied.count() + undecided);
  }

  /**
   * If a round begins late, the stall is detected before a deadline elapses. Another round then
   * follows.
   */
  @Test
  void redisStopped_callersGetTimeoutAtTheDeadlineAndItRecovers() throws Exception {
    try (TestRedis redis = TestRedis.start();
        RedisDecisionCache cache = RedisDecisionCache.start(hasty(redis))) {
      CacheStatistics statistics = cache.statistics();
      for (int round = 0; statistics.undecided(Cause.TIMEOUT).count() < 16; round++) {
        assertTrue(
            round < MAX_ROUNDS, () -> "time-outs: " + statistics.undecided(Cause.TIMEOUT).count());
        Await.until("decisions", () -> decides(cache));
        double stalls = statistics.stalls.count();
        redis.pause();
        try (Load load = new Load(cache, 8)) {
          Await.until(
              "the connection to be given up",
              () -> statistics.stalls.count() > stalls && cache.link().current() == null);
          load.awaitAnswers(2);
          assertAnsweredWithoutAsking(cache);
        } finally {
          redis.resume();
        }
      }
      Await.until("decisions after the pause", () -> decides(cache));
      assertEquation(cache);
    }
  }

  /**
   * The stall timeout is one hour, so only the deadline can have ended these calls. Waiting calls
   * end at the deadline, and later calls end immediately.
   */
  @Test
  void redisStopped_deadlineAloneEndsTheWait() throws Exception {
    try (TestRedis redis = TestRedis.start();
        RedisDecisionCache cache = RedisDecisionCache.start(unnoticing(redis))) {
      Await.until("the first decision", () -> decides(cache));
      redis.pause();
      try (Load load = new Load(cache, 8)) {
        // more than the calls in flight and in the queue, because callers call repeatedly
        Await.until("timeouts", () -> cache.statistics().undecided(Cause.TIMEOUT).count() >= 40);
        Await.until("the callers to tell", () -> load.seen.size() >= 32);
        assertEquals(0, cache.statistics().stalls.count());
        assertEquals(0, cache.statistics().undecided(Cause.UNAVAILABLE).count());
      } finally {
        redis.resume();
      }
      Await.until("decisions after the pause", () -> decides(cache));
      assertEquation(cache);
    }
  }

  /**
   * A caller that arrives after the deadline of the first calls gets its decision immediately,
   * without waiting in the queue. If callers begin so late, another round follows.
   */
  @Test
  void redisStopped_callsSentAreBounded_andExpiredOnesAreNeverSent() throws Exception {
    try (TestRedis redis = TestRedis.start();
        RedisDecisionCache cache =
            RedisDecisionCache.start(unnoticing(redis).withQueue(256, 4, 2))) {
      CacheStatistics statistics = cache.statistics();
      for (int round = 0; statistics.checksNotSent.count() < 32 - 8; round++) {
        assertTrue(round < MAX_ROUNDS, () -> statistics.checksNotSent.count() + " not sent");
        Await.until("a decision", () -> decides(cache));
        assertSentAreBounded(redis, cache);
      }
      Await.until("decisions after the pause", () -> decides(cache));
    }
  }

  private static void assertSentAreBounded(TestRedis redis, RedisDecisionCache cache)
      throws Exception {
    CacheStatistics statistics = cache.statistics();
    double sentBefore = statistics.checksSent.count();
    double timeoutsBefore = statistics.undecided(Cause.TIMEOUT).count();
    redis.pause();
    try {
      try (Load load = new Load(cache, 32)) {
        // more than the maximum in flight, so the other checks wait in the queue until their
        // timeout
        Await.until(
            "timeouts", () -> statistics.undecided(Cause.TIMEOUT).count() - timeoutsBefore >= 64);
        Await.until("the callers to tell", () -> load.seen.size() >= 64);
      }
      // no caller is waiting, and no reply has arrived
      assertTrue(
          statistics.checksSent.count() - sentBefore <= 2 * 4,
          () -> statistics.checksSent.count() - sentBefore + " sent");
    } finally {
      redis.resume();
    }
  }

  /** The deadline is one minute, so the queue becomes full before the server counts as silent. */
  @Test
  void queueIsFull_nextCallIsRejectedAtOnce() throws Exception {
    try (TestRedis redis = TestRedis.start();
        RedisDecisionCache cache =
            RedisDecisionCache.start(PatientConfig.of(redis).withQueue(2, 1, 1))) {
      Await.until("the first decision", () -> decides(cache));
      redis.pause();
      try (Load load = new Load(cache, 16)) {
        try {
          Await.until(
              "rejections",
              () -> load.seen.stream().anyMatch(answer -> cause(answer) == Cause.REJECTED));
          assertEquals(0, cache.statistics().undecided(Cause.TIMEOUT).count());
        } finally {
          redis.resume();
        }
      }
      Await.until("decisions after the pause", () -> decides(cache));
    }
  }

  @Test
  void start_redisIsDown_answersUnavailableAndConnectsLater() throws Exception {
    try (TestRedis redis = TestRedis.start()) {
      redis.kill();
      try (RedisDecisionCache cache = RedisDecisionCache.start(PatientConfig.of(redis))) {
        assertEquals(Cause.UNAVAILABLE, cause(cache.take(check("a"))));
        assertFalse(cache.check().ok());
        redis.restart();
        Await.until("decisions", () -> decides(cache));
        Await.until(() -> cache.check().detail(), () -> cache.check().ok());
      }
    }
  }

  @Test
  void take_scriptsFlushed_reloadsTheScriptAndDecides() throws Exception {
    try (TestRedis redis = TestRedis.borrow();
        RedisDecisionCache cache = RedisDecisionCache.start(PatientConfig.of(redis))) {
      Await.until("the first decision", () -> decides(cache));
      administer(redis, connection -> connection.sync().scriptFlush());

      assertInstanceOf(Decision.Allowed.class, cache.take(check("a")));
      assertEquals(1, cache.statistics().scriptLoads.count());
    }
  }

  @Test
  void readOnlyReplica_isUnavailableUntilItIsAMasterAgain() throws Exception {
    try (TestRedis redis = TestRedis.start();
        RedisDecisionCache cache = RedisDecisionCache.start(PatientConfig.of(redis))) {
      Await.until("the first decision", () -> decides(cache));
      administer(redis, connection -> connection.sync().replicaof("127.0.0.1", 1));

      Decision.Undecided decision =
          assertInstanceOf(Decision.Undecided.class, cache.take(check("a")));
      assertEquals(Cause.UNAVAILABLE, decision.cause());
      assertTrue(decision.detail().contains("READONLY"), decision::detail);
      administer(redis, connection -> connection.sync().replicaofNoOne());
      Await.until("decisions", () -> decides(cache));
    }
  }

  @Test
  void outOfMemory_isUnavailableAndNothingIsCharged() throws Exception {
    try (TestRedis redis = TestRedis.start();
        RedisDecisionCache cache = RedisDecisionCache.start(PatientConfig.of(redis))) {
      Await.until("the first decision", () -> decides(cache));
      withServer("maxmemory", "1", redis);

      Decision.Undecided decision =
          assertInstanceOf(Decision.Undecided.class, cache.take(check("a")));
      assertEquals(Cause.UNAVAILABLE, decision.cause());
      assertTrue(decision.detail().contains("OOM"), decision::detail);
      withServer("maxmemory", "0", redis);
      Decision.Allowed later = assertInstanceOf(Decision.Allowed.class, cache.take(check("a")));
      assertEquals(1, later.buckets().get(0).chargedTokens());
    }
  }

  @Test
  void serverThatMayEvict_isRefusedOrWarnedAboutBySetting() throws Exception {
    try (TestRedis redis = TestRedis.start()) {
      withServer("maxmemory", "100mb", redis);
      withServer("maxmemory-policy", "allkeys-lru", redis);
      try (RedisDecisionCache refusing = RedisDecisionCache.start(PatientConfig.of(redis))) {
        assertEquals(EvictionCheck.Result.MAY_EVICT, refusing.evictionCheck().result());
        assertEquals(Cause.UNAVAILABLE, cause(refusing.take(check("a"))));
        assertTrue(refusing.check().detail().contains("allkeys-lru"), refusing.check()::detail);
        withServer("maxmemory-policy", "noeviction", redis);
        Await.until("decisions once the policy is safe", () -> decides(refusing));
        assertEquals(EvictionCheck.Result.SAFE, refusing.evictionCheck().result());
      }
      withServer("maxmemory-policy", "volatile-ttl", redis);
      try (RedisDecisionCache warning =
          RedisDecisionCache.start(
              PatientConfig.of(redis).withOnEviction(RedisCacheConfig.OnEviction.WARN))) {
        assertEquals(EvictionCheck.Result.MAY_EVICT, warning.evictionCheck().result());
        Await.until("decisions", () -> decides(warning));
      }
    }
  }

  @Test
  void close_callersWait_areAnsweredUnavailableAndNoThreadIsLeft() throws Exception {
    Set<String> before = threadNames();
    try (TestRedis redis = TestRedis.start()) {
      RedisDecisionCache cache = RedisDecisionCache.start(PatientConfig.of(redis));
      Await.until("the first decision", () -> decides(cache));
      double calls = cache.statistics().scriptCalls.count();
      redis.pause();
      ConcurrentLinkedQueue<Decision> answers = new ConcurrentLinkedQueue<>();
      CountDownLatch answered = new CountDownLatch(20);
      for (int i = 0; i < 20; i++) {
        new Thread(
                () -> {
                  answers.add(cache.take(check("a")));
                  answered.countDown();
                },
                "closing-caller")
            .start();
      }
      Await.until("a call under way", () -> cache.statistics().scriptCalls.count() > calls);
      cache.close();
      redis.resume();

      Await.until("all callers to be answered", () -> answered.getCount() == 0);
      answers.forEach(answer -> assertEquals(Cause.UNAVAILABLE, cause(answer)));
      assertEquals(Cause.UNAVAILABLE, cause(cache.take(check("a"))));
    }
    Await.until(() -> "threads to end: " + threadNames(), () -> before.containsAll(threadNames()));
  }

  /** Returns the names of the threads that this module or its client library may have started. */
  private static Set<String> threadNames() {
    return Thread.getAllStackTraces().keySet().stream()
        .map(Thread::getName)
        .filter(name -> name.startsWith("weir-") || name.startsWith("lettuce-"))
        .collect(Collectors.toCollection(TreeSet::new));
  }
}
