// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.util.concurrent.EventExecutor;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.limits.check.Decision.Cause;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.Await;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Tests that a delay of this process is not reported as a server that does not reply (issue 12,
 * item 14). The test blocks the thread that reads the connection, and the server works.
 */
class BusyProcessIT {
  private static final Duration DEADLINE = Duration.ofMillis(500);
  private static final Duration STALL = Duration.ofMillis(750);

  /** A time that is longer than both timeouts. */
  private static final Duration HELD = Duration.ofMillis(1_500);

  private final CountDownLatch released = new CountDownLatch(1);

  @AfterEach
  void end() {
    released.countDown();
  }

  private static RedisCacheConfig config(TestRedis redis, Duration patience) {
    return RedisCacheConfig.of(redis.uri())
        .withDeadline(DEADLINE)
        .withConnectionTimeouts(STALL, Duration.ofMinutes(1))
        .withCallerTimeout(patience);
  }

  private static Check check(String bucket) {
    TokenBucketLimit limit = new TokenBucketLimit(1_000, 1, 3_600_000_000L);
    return new Check(List.of(new BucketRequest(bucket, limit, true)), 1);
  }

  private void hold() {
    try {
      released.await();
    } catch (InterruptedException closing) {
      Thread.currentThread().interrupt();
    }
  }

  /** Blocks the thread that reads the connection, until released. */
  private void holdReader(RedisDecisionCache cache) throws InterruptedException {
    CountDownLatch held = new CountDownLatch(1);
    cache
        .link()
        .reader()
        .execute(
            () -> {
              held.countDown();
              hold();
            });
    held.await();
  }

  /**
   * Submits a check, and blocks the thread that reads the connection after it has sent the check,
   * until released.
   */
  private CompletableFuture<Decision> takeAndHoldReader(RedisDecisionCache cache, String bucket)
      throws Exception {
    CompletableFuture<CompletableFuture<Decision>> submitted = new CompletableFuture<>();
    EventExecutor reader = cache.link().reader();
    reader.execute(
        () -> {
          submitted.complete(cache.submit(check(bucket)));
          // after the send, which was just queued, and before the next read
          reader.execute(this::hold);
        });
    return submitted.get();
  }

  @Test
  void take_answerReadAfterDeadlineAndStallTimeout_isStillDecided() throws Exception {
    try (TestRedis redis = TestRedis.borrow();
        RedisDecisionCache cache =
            RedisDecisionCache.start(config(redis, Await.TIMEOUT.multipliedBy(2)))) {
      Await.until("a decision", () -> cache.take(check("probe")) instanceof Decision.Allowed);
      CacheStatistics statistics = cache.statistics();
      double sent = statistics.scriptCalls.count();
      CompletableFuture<Decision> decision = takeAndHoldReader(cache, "a");
      long heldNanos = System.nanoTime();
      Await.until("the check to be sent", () -> statistics.scriptCalls.count() > sent);
      Await.until("the time", () -> System.nanoTime() - heldNanos > HELD.toNanos());

      released.countDown();

      assertInstanceOf(Decision.Allowed.class, decision.get());
      assertEquals(0, statistics.undecided(Cause.TIMEOUT).count());
      assertEquals(0, statistics.stalls.count());
      assertEquals(1, statistics.connections.count());
    }
  }

  @Test
  void take_answerNotReadInTime_isRejectedThoughCharged() throws Exception {
    try (TestRedis redis = TestRedis.borrow();
        RedisDecisionCache cache = RedisDecisionCache.start(config(redis, HELD))) {
      Await.until("a decision", () -> cache.take(check("probe")) instanceof Decision.Allowed);
      CacheStatistics statistics = cache.statistics();

      CompletableFuture<Decision> decision = takeAndHoldReader(cache, "a");
      assertRejected(decision, "read the server's reply");
      released.countDown();

      Await.until("the late answer", () -> statistics.repliesLate.count() == 1);
      assertEquals(2, charged(redis, "a"));
      assertEquals(0, statistics.undecided(Cause.TIMEOUT).count());
    }
  }

  @Test
  void take_checkNotSentInTime_isRejectedAndChargesNothing() throws Exception {
    try (TestRedis redis = TestRedis.borrow();
        RedisDecisionCache cache = RedisDecisionCache.start(config(redis, HELD))) {
      try {
        Await.until("a decision", () -> cache.take(check("probe")) instanceof Decision.Allowed);
        CacheStatistics statistics = cache.statistics();
        double notSent = statistics.checksNotSent.count();
        holdReader(cache);
        List<CompletableFuture<Decision>> held = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
          held.add(cache.submit(check("b")));
        }

        for (CompletableFuture<Decision> decision : held) {
          assertRejected(decision, "send the check to the server");
        }
        released.countDown();

        Await.until(
            "the unsent to be dropped",
            () -> statistics.checksNotSent.count() - notSent == held.size());
        assertEquals(1, charged(redis, "b"));
        assertEquals(0, statistics.undecided(Cause.TIMEOUT).count());
        assertEquals(0, statistics.undecided(Cause.UNAVAILABLE).count());
      } finally {
        released.countDown(); // otherwise the cache could not be closed
      }
    }
  }

  /**
   * Returns the number of tokens charged to a bucket, including one token that this method charges.
   */
  private static long charged(TestRedis redis, String bucket) {
    try (RedisDecisionCache patient = RedisDecisionCache.start(PatientConfig.of(redis))) {
      return assertInstanceOf(Decision.Allowed.class, patient.take(check(bucket)))
          .buckets()
          .get(0)
          .chargedTokens();
    }
  }

  private static void assertRejected(CompletableFuture<Decision> decision, String detail)
      throws Exception {
    Decision.Undecided none =
        assertInstanceOf(
            Decision.Undecided.class,
            decision.get(Await.TIMEOUT.toMillis(), TimeUnit.MILLISECONDS));
    assertEquals(Cause.REJECTED, none.cause());
    assertTrue(none.detail().contains(detail), none.detail());
  }
}
