// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.decision.correction.BucketCorrector;
import io.weir.decision.correction.PartlyUnavailableException;
import io.weir.limits.BucketKey;
import io.weir.limits.ClientCalendar;
import io.weir.limits.PeriodicLimit;
import io.weir.limits.QuotaLimit;
import io.weir.limits.SlidingWindow;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketReply;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.Correction;
import io.weir.limits.correction.CorrectionOutcome;
import io.weir.testing.Await;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Tests calls while slots are moved. Each call is charged at most once, on the server that holds
 * its bucket.
 */
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
                      assertTrue(Failures.isMoved(decision), decision::toString);
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

  /** A call of a client with buckets on both servers waits until they are on one server again. */
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

  /**
   * The next sub-window has no charges, so its key does not exist, and a server that moves the slot
   * rejects access to it. One command reads all sub-windows of a large window, so the server
   * rejects the command because of this key.
   */
  @Test
  void slidingWindowInASlotOnItsWay_isDecidedWhereItsOtherSubWindowsAre() throws Exception {
    Check one = slidingWindow(1);
    Check many = slidingWindow(4);
    fixture.cluster.beginMove(5, 0, 1);
    for (Check check : List.of(one, many)) {
      var decision = fixture.cache.submit(check);
      Await.until("a decision while no key has moved", decision::isDone);
      assertEquals(2, charged(decision.join()));
    }

    fixture.cluster.moveKey(one.buckets().get(0).bucket(), 0, 1);
    var waits = fixture.cache.submit(one);
    assertEquals(3, charged(fixture.cache.take(many)), "all of its sub-windows are still here");
    assertTrue(!waits.isDone(), "its current sub-window is elsewhere");
    while (fixture.cluster.moveKeys(5, 0, 1, 10) > 0) {
      // until all are moved
    }
    fixture.cluster.endMove(5, 0, 1);
    assertEquals(3, charged(waits.join()));
    assertEquals(4, charged(fixture.cache.take(many)), "behind the move");
  }

  /** Takes a token from each sub-window of a window. Returns the check of the newest sub-window. */
  private Check slidingWindow(int subWindows) {
    SlidingWindow window = new SlidingWindow(MANY, 3_600, subWindows);
    String base = ClusterFixture.key(ClusterFixture.clientIn(5)) + subWindows;
    long now = System.currentTimeMillis();
    Check check = null;
    for (int back = subWindows; back >= 0; back--) {
      PeriodicLimit.Span span =
          window.at(now - back * window.subWindowSeconds() * 1_000, ClientCalendar.OF_POLICY);
      String bucket = BucketKey.inPeriod(base, span);
      check = new Check(List.of(new BucketRequest(bucket, window.in(span), true)), 1);
      assertInstanceOf(Decision.Allowed.class, fixture.cache.take(check));
    }
    return Objects.requireNonNull(check);
  }

  private static long charged(Decision decision) {
    return assertInstanceOf(Decision.Allowed.class, decision).buckets().get(0).chargedTokens();
  }

  /** Regression: while a slot was being moved, no correction in the same call was applied. */
  @Test
  void movingSlot_itsCorrectionWaits_othersDoNot() throws Exception {
    fixture.cluster.beginMove(100, 0, 1);
    while (fixture.cluster.moveKeys(100, 0, 1, 10) > 0) {
      // until all are moved
    }
    List<BoundedCorrection> corrections = List.of(correction(100), correction(50), correction(60));
    try (BucketCorrector corrector = fixture.cache.startCorrector()) {
      PartlyUnavailableException some =
          assertThrows(PartlyUnavailableException.class, () -> corrector.apply(corrections));
      assertNull(some.outcomes().get(0));
      assertEquals(CorrectionOutcome.Kind.CREATED, some.outcomes().get(1).kind());
      assertEquals(CorrectionOutcome.Kind.CREATED, some.outcomes().get(2).kind());

      fixture.cluster.endMove(100, 0, 1);
      Await.until(
          "the slot to be found",
          () ->
              fixture.cache.topology().routes().holder(corrections.get(0).correction().bucket())
                  != fixture
                      .cache
                      .topology()
                      .routes()
                      .holder(corrections.get(1).correction().bucket()));
      List<CorrectionOutcome> all = corrector.apply(corrections);
      assertEquals(CorrectionOutcome.Kind.CREATED, all.get(0).kind());
      assertEquals(CorrectionOutcome.Kind.STALE, all.get(1).kind());
    }
  }

  private static BoundedCorrection correction(int slot) {
    long epoch = System.currentTimeMillis() * 1_000;
    Correction correction =
        new Correction(
            ClusterFixture.key(ClusterFixture.clientIn(slot)),
            new QuotaLimit(MANY, 4_000_000_000_000_000L),
            epoch,
            1,
            5,
            4_000_000_000_000_000L,
            5,
            5,
            Correction.Cause.GAP,
            1,
            1,
            0);
    return new BoundedCorrection(correction, 0);
  }
}
