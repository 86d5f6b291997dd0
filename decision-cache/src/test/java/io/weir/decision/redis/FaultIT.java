// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.lettuce.core.metrics.CommandLatencyRecorder;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.limits.check.Decision.Cause;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.Await;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/**
 * Tests that long-lived threads survive unexpected exceptions and report them (issue 12, item 19).
 */
class FaultIT {
  private static Decision take(RedisDecisionCache cache) throws Exception {
    Check check =
        new Check(
            List.of(new BucketRequest("a", new TokenBucketLimit(10, 1, 3_600_000_000L), true)), 1);
    return CompletableFuture.supplyAsync(() -> cache.take(check))
        .get(Await.TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
  }

  /** The client library throws its own exception for a script without a digest. */
  @Test
  void sendingThrows_eachCallIsShedAtOnce_andNoPermitIsLost() throws Exception {
    RedisScript nameless = new RedisScript(RedisScript.takeTokens().body(), "", ServerKind.SINGLE);
    try (TestRedis redis = TestRedis.borrow();
        RedisDecisionCache cache =
            RedisDecisionCache.start(
                PatientConfig.of(redis).withCallerTimeout(Await.TIMEOUT.multipliedBy(2)),
                nameless)) {
      int calls = 10;
      for (int i = 0; i < calls; i++) {
        Decision.Undecided none = assertInstanceOf(Decision.Undecided.class, take(cache));
        assertEquals(Cause.REJECTED, none.cause());
      }
      assertEquals(calls, cache.statistics().faults.count());
      assertFalse(cache.check().ok());
      assertTrue(cache.check().detail().contains("failed"), cache.check()::detail);
    }
  }

  @Test
  void connectingThrows_isTriedAgain() throws Exception {
    AtomicInteger tries = new AtomicInteger();
    AtomicInteger counted = new AtomicInteger();
    ThreadFaults faults = new ThreadFaults(counted::incrementAndGet);
    try (TestRedis redis = TestRedis.borrow();
        RedisLink link =
            new RedisLink(
                PatientConfig.of(redis),
                LinkTarget.of(PatientConfig.of(redis)),
                RedisScript.takeTokens(),
                () -> {
                  if (tries.incrementAndGet() <= 2) {
                    throw new IllegalStateException("nothing expected this");
                  }
                },
                null,
                faults,
                CommandLatencyRecorder.disabled())) {
      link.start();

      Await.until(link::reason, () -> link.current() != null);
      assertEquals(2, counted.get());
      assertTrue(faults.recent().contains("nothing expected this"), faults::recent);
    }
  }

  /** Regression: the link connected again, but never closed the old connection. */
  @Test
  void linkInterruptedWithoutClose_keepsItsConnection() throws Exception {
    AtomicInteger counted = new AtomicInteger();
    AtomicInteger tries = new AtomicInteger();
    try (TestRedis redis = TestRedis.borrow();
        RedisLink link =
            new RedisLink(
                PatientConfig.of(redis),
                LinkTarget.of(PatientConfig.of(redis)),
                RedisScript.takeTokens(),
                tries::incrementAndGet,
                null,
                new ThreadFaults(counted::incrementAndGet),
                CommandLatencyRecorder.disabled())) {
      link.start();
      Await.until(link::reason, () -> link.current() != null);
      Thread thread = linkThread();
      Await.until("the link to wait", () -> thread.getState() == Thread.State.WAITING);
      thread.interrupt();

      Await.until("the interrupt to be counted", () -> counted.get() == 1);
      Await.until("the link to wait again", () -> thread.getState() == Thread.State.WAITING);
      assertEquals(1, tries.get());
      assertNotNull(link.current(), link::reason);
    }
  }

  private static Thread linkThread() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().equals("weir-redis-link"))
        .findAny()
        .orElseThrow();
  }
}
