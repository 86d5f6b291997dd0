// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

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
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * A process that is kept from its own work does not take that for a server that does not answer
 * (issue 12, item 14). Here the thread that reads the connection is held; the server is well.
 */
class BusyProcessIT {
  private static final Duration DEADLINE = Duration.ofMillis(500);
  private static final Duration STALL = Duration.ofMillis(750);

  /** Longer than both. */
  private static final Duration HELD = Duration.ofMillis(1_500);

  private final ExecutorService callers = Executors.newCachedThreadPool();
  private final CountDownLatch released = new CountDownLatch(1);

  @AfterEach
  void end() {
    released.countDown();
    callers.shutdownNow();
  }

  private static RedisCacheConfig config(TestRedis redis, Duration patience) {
    return RedisCacheConfig.of(redis.uri())
        .withDeadline(DEADLINE)
        .withConnectionTimeouts(STALL, Duration.ofMinutes(1))
        .withPatience(patience);
  }

  private static Check check(String bucket) {
    TokenBucketLimit limit = new TokenBucketLimit(1_000, 1, 3_600_000_000L);
    return new Check(List.of(new BucketRequest(bucket, limit, true)), 1);
  }

  /** Keeps the thread that reads the connection from reading, until released. */
  private void holdReader(RedisDecisionCache cache) throws InterruptedException {
    CountDownLatch held = new CountDownLatch(1);
    cache
        .link()
        .reader()
        .execute(
            () -> {
              held.countDown();
              try {
                released.await();
              } catch (InterruptedException closing) {
                Thread.currentThread().interrupt();
              }
            });
    held.await();
  }

  private CompletableFuture<Decision> take(RedisDecisionCache cache, String bucket) {
    return CompletableFuture.supplyAsync(() -> cache.take(check(bucket)), callers);
  }

  @Test
  void take_answerReadAfterDeadlineAndStallTimeout_isStillDecided() throws Exception {
    try (TestRedis redis = TestRedis.borrow();
        RedisDecisionCache cache =
            RedisDecisionCache.start(config(redis, Await.PATIENCE.multipliedBy(2)))) {
      Await.until("a decision", () -> cache.take(check("probe")) instanceof Decision.Allowed);
      CacheStatistics statistics = cache.statistics();
      double sent = statistics.scriptCalls.count();
      holdReader(cache);
      long heldNanos = System.nanoTime();
      CompletableFuture<Decision> decision = take(cache, "a");
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
  void take_checkNotSentInTime_isRejectedAndChargesNothing() throws Exception {
    try (TestRedis redis = TestRedis.borrow();
        RedisDecisionCache cache =
            RedisDecisionCache.start(config(redis, HELD).withQueue(64, 1, 1))) {
      Await.until("a decision", () -> cache.take(check("probe")) instanceof Decision.Allowed);
      CacheStatistics statistics = cache.statistics();
      double sent = statistics.scriptCalls.count();
      double notSent = statistics.checksNotSent.count();
      double late = statistics.repliesLate.count();
      holdReader(cache);
      CompletableFuture<Decision> first = take(cache, "a");
      Await.until("the first to be sent", () -> statistics.scriptCalls.count() > sent);
      List<CompletableFuture<Decision>> others = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        others.add(take(cache, "b"));
      }

      assertEquals(Cause.REJECTED, cause(first.get()));
      for (CompletableFuture<Decision> other : others) {
        assertEquals(Cause.REJECTED, cause(other.get()));
      }
      released.countDown();

      Await.until(
          "the unsent to be dropped",
          () -> statistics.checksNotSent.count() - notSent == others.size());
      try (RedisDecisionCache patient = RedisDecisionCache.start(PatientConfig.of(redis))) {
        Decision.Allowed next = assertInstanceOf(Decision.Allowed.class, patient.take(check("b")));
        assertEquals(1, next.buckets().get(0).chargedTokens());
      }
      assertEquals(0, statistics.undecided(Cause.TIMEOUT).count());
      assertEquals(0, statistics.undecided(Cause.UNAVAILABLE).count());
      assertEquals(1, statistics.repliesLate.count() - late);
    }
  }

  private static Cause cause(Decision decision) {
    return assertInstanceOf(Decision.Undecided.class, decision).cause();
  }
}
