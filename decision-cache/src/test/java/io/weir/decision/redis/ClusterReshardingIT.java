// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.QuotaLimit;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketReply;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.testing.Await;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Calls while slots move: each is charged once, where its bucket is, or not at all. */
class ClusterReshardingIT {
  private static final int SLOTS = 24;
  private static final int THREADS = 8;
  private static final int ROUNDS = 2;
  private static final long MANY = 1_000_000;

  private ClusterFixture fixture;

  @BeforeEach
  void start() throws Exception {
    fixture = new ClusterFixture(false);
    fixture.restore();
  }

  @AfterEach
  void stop() {
    fixture.close();
  }

  private static Check check(int slot) {
    return ClusterFixture.quota(ClusterFixture.clientIn(slot), MANY, false);
  }

  @Test
  void slotsMoveUnderLoad_everyAllowedCallIsChargedOnce_andNoOther() throws Exception {
    AtomicLongArray allowed = new AtomicLongArray(SLOTS);
    AtomicLong undecided = new AtomicLong();
    AtomicBoolean ended = new AtomicBoolean();
    ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    try {
      List<Future<?>> callers = new ArrayList<>();
      for (int thread = 0; thread < THREADS; thread++) {
        int first = thread;
        callers.add(
            threads.submit(
                () -> {
                  for (int slot = first; !ended.get(); slot = (slot + 1) % SLOTS) {
                    Decision decision = fixture.cache.take(check(slot));
                    if (decision instanceof Decision.Allowed) {
                      allowed.incrementAndGet(slot);
                    } else {
                      assertInstanceOf(Decision.Undecided.class, decision);
                      assertTrue(decision == Failures.MOVED, decision::toString);
                      undecided.incrementAndGet();
                    }
                  }
                }));
      }
      for (int round = 0; round < ROUNDS; round++) {
        for (int slot = 0; slot < SLOTS; slot++) {
          fixture.cluster.move(slot, round, round + 1);
        }
        long before = allowed.get(0);
        Await.until("calls of a slot that has moved", () -> allowed.get(0) > before);
      }
      ended.set(true);
      for (Future<?> caller : callers) {
        caller.get();
      }
    } finally {
      ended.set(true);
      threads.shutdown();
    }

    assertEquals(0, undecided.get(), "the deadline is a minute, and a move takes milliseconds");
    for (int slot = 0; slot < SLOTS; slot++) {
      Decision.Decided now =
          assertInstanceOf(Decision.Decided.class, fixture.cache.peek(check(slot)));
      BucketReply reply = now.buckets().get(0);
      assertEquals(allowed.get(slot), reply.chargedTokens(), "slot " + slot);
      assertEquals(MANY - allowed.get(slot), reply.remainingTokens(), "slot " + slot);
    }
    assertEquals(2, fixture.cluster.holder(0));
  }

  /** A client with a bucket on either side is decided by neither until they are together again. */
  @Test
  void bucketsOfAClientAreApart_callWaits_andOthersDoNot() throws Exception {
    String client = ClusterFixture.clientIn(5);
    Check both =
        new Check(
            List.of(
                new BucketRequest(
                    ClusterFixture.key(client), new QuotaLimit(MANY, 4_000_000_000_000_000L), true),
                new BucketRequest(
                    "w1:{" + client + "}:burst",
                    new TokenBucketLimit(10, 1, 3_600_000_000L),
                    true)),
            1);
    assertInstanceOf(Decision.Allowed.class, fixture.cache.take(both));
    fixture.cluster.beginMove(5, 0, 1);
    fixture.cluster.moveKey(ClusterFixture.key(client), 0, 1);

    var waits = fixture.cache.submit(both);
    for (int i = 0; i < 50; i++) {
      assertInstanceOf(Decision.Allowed.class, fixture.cache.take(check(6)), "in the same batches");
    }
    assertTrue(!waits.isDone(), "some of its keys are elsewhere");
    while (fixture.cluster.moveKeys(5, 0, 1, 10) > 0) {
      // until all are moved
    }
    fixture.cluster.endMove(5, 0, 1);

    Decision.Allowed allowed = assertInstanceOf(Decision.Allowed.class, waits.join());
    assertEquals(2, allowed.buckets().get(0).chargedTokens());
    assertEquals(2, allowed.buckets().get(1).chargedTokens());
  }
}
