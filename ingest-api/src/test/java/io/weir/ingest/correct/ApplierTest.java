// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.Correction;
import io.weir.limits.correction.CorrectionOutcome.Kind;
import io.weir.topics.model.CacheRestored;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Steps, pauses and figures of the applier, in virtual time. */
final class ApplierTest {
  private static final CacheRestored RESTORED = new CacheRestored("g", 0, 2, 1, 5);

  private final HandClock clock = new HandClock();
  private final FakeCorrector corrector = new FakeCorrector();
  private final FakeLife life = new FakeLife();
  private final CorrectionStatistics statistics =
      new CorrectionStatistics(new SimpleMeterRegistry());
  private final CorrectionStatus status = new CorrectionStatus();
  private final CorrectionBacklog backlog = new CorrectionBacklog();
  private final Applier applier = applier(1_000);

  private Applier applier(int perSecond) {
    return new Applier(corrector, life, perSecond, statistics, status, clock.clock());
  }

  @Test
  void step_emptyBacklog_doesNotAskTheCache() {
    applier.step(backlog);

    assertEquals(List.of(), corrector.calls());
  }

  @Test
  void step_correctionsThenARestoredMessage_keepsTheOrder() {
    backlog.add(TestCorrections.correction(0, 0, "a", 1));
    backlog.add(new CorrectionBacklog.RestoredMessage(0, 1, RESTORED));
    backlog.add(TestCorrections.correction(0, 2, "b", 1));

    applier.step(backlog);
    assertEquals(1, corrector.changed().size());
    assertEquals(List.of(), life.noted());
    clock.advanceMillis(100);
    applier.step(backlog);
    assertEquals(List.of(RESTORED), life.noted());
    assertEquals(1, corrector.changed().size());
    clock.advanceMillis(100);
    applier.step(backlog);

    assertEquals(2, corrector.changed().size());
    assertTrue(backlog.isEmpty());
    assertEquals(1, statistics.restoredMessages.count());
  }

  @Test
  void step_cacheDoesNotAnswer_keepsTheBacklog_andTriesAgainAfterGrowingPauses() {
    corrector.setAvailable(false);
    backlog.add(TestCorrections.correction(0, 0, "a", 1));
    long waitedMillis = 0;
    for (int attempt = 1; attempt <= 10; attempt++) {
      applier.step(backlog);
      applier.step(backlog); // not before the pause is over
      assertEquals(attempt, corrector.refusals());
      waitedMillis = Math.max(1, applier.waitNanos() / 1_000_000);
      clock.advanceNanos(applier.waitNanos());
    }

    assertEquals(2_000, waitedMillis);
    assertEquals(1, backlog.size());
    assertEquals(10, statistics.retries.count());
    assertFalse(status.isWell());

    corrector.setAvailable(true);
    applier.step(backlog);

    assertTrue(backlog.isEmpty());
    assertEquals(1, statistics.outcomes(Kind.CREATED).count());
    assertTrue(status.isWell());
  }

  @Test
  void step_oneServerDoesNotAnswer_othersAreApplied_andItsAreTriedAgainAfterAPause() {
    corrector.setAway(TestCorrections.bucket("a"));
    for (String client : List.of("a", "b", "c")) {
      backlog.add(TestCorrections.correction(0, 0, client, 1));
    }
    applier.step(backlog);
    assertEquals(2, corrector.changed().size());
    assertEquals(1, backlog.size());
    assertFalse(status.isWell());

    backlog.add(TestCorrections.correction(0, 1, "d", 1));
    clock.advanceMillis(20);
    applier.step(backlog);
    assertEquals(3, corrector.changed().size());
    assertFalse(status.isWell());
    applier.step(backlog);
    assertEquals(2, corrector.calls().size(), "not before the pause is over");

    corrector.setAway("");
    clock.advanceMillis(2_000);
    applier.step(backlog);
    assertEquals(4, corrector.changed().size());
    assertTrue(backlog.isEmpty());
    assertTrue(status.isWell());
  }

  /** Regression: the thread spun, and the other servers' corrections waited behind the message. */
  @Test
  void step_restoredMessageBehindADeferredCorrection_waits_andCorrectionsBehindItDoNot() {
    corrector.setAway(TestCorrections.bucket("a"));
    backlog.add(TestCorrections.correction(0, 0, "a", 1));
    backlog.add(new CorrectionBacklog.RestoredMessage(0, 1, RESTORED));
    backlog.add(TestCorrections.correction(0, 2, "b", 1));
    for (int i = 0; i < 4; i++) {
      applier.step(backlog);
      clock.advanceMillis(20);
    }
    assertEquals(1, corrector.changed().size());
    assertEquals(List.of(), life.noted());
    assertTrue(backlog.isIdle());

    corrector.setAway("");
    for (int i = 0; i < 4; i++) {
      clock.advanceMillis(2_000);
      applier.step(backlog);
    }
    assertEquals(List.of(RESTORED), life.noted());
    assertTrue(backlog.isEmpty());
    assertTrue(status.isWell());
  }

  @Test
  void step_restoredMessageNotNoted_staysAtTheHead() {
    life.setAvailable(false);
    backlog.add(new CorrectionBacklog.RestoredMessage(0, 1, RESTORED));

    applier.step(backlog);
    assertEquals(1, backlog.size());
    assertEquals(0, statistics.restoredMessages.count());
    life.setAvailable(true);
    clock.advanceMillis(3_000);
    applier.step(backlog);

    assertTrue(backlog.isEmpty());
    assertEquals(List.of(RESTORED), life.noted());
  }

  @Test
  void steps_storm_keepsTheRate() {
    for (int i = 0; i < 5_000; i++) {
      backlog.add(TestCorrections.correction(0, i, "c" + i, 1));
    }
    long startNanos = clock.nanos();
    while (!backlog.isEmpty()) {
      clock.advanceNanos(Math.max(0, applier.waitNanos()));
      applier.step(backlog);
    }

    double seconds = (clock.nanos() - startNanos) / 1e9;
    assertTrue(seconds > 4.85 && seconds < 5.05, "5,000 at 1,000 a second took " + seconds);
    assertTrue(corrector.calls().stream().allMatch(call -> call.corrections().size() == 20));
  }

  @Test
  void step_outcomesAreCounted_andTheAgeOfEachChangeIsRecordedOnce() {
    long nowMillis = clock.clock().nowEpochMillis();
    Correction gap = TestCorrections.correction("a", 1, 1, nowMillis - 900, nowMillis - 50);
    backlog.add(new CorrectionBacklog.WaitingCorrection(0, 0, new BoundedCorrection(gap, 100)));
    applier.step(backlog);
    clock.advanceMillis(1_000);
    backlog.add(new CorrectionBacklog.WaitingCorrection(0, 0, new BoundedCorrection(gap, 100)));
    applier.step(backlog);

    assertEquals(1, statistics.outcomes(Kind.CREATED).count());
    assertEquals(1, statistics.outcomes(Kind.STALE).count());
    assertEquals(3, statistics.tokensTaken.count());
    assertEquals(0, statistics.tokensGiven.count());
    assertEquals(1, statistics.sinceDisturbed.count());
    assertEquals(900, statistics.sinceDisturbed.totalTime(TimeUnit.MILLISECONDS));
    assertEquals(1, statistics.sinceComputed.count());
    assertEquals(50, statistics.sinceComputed.totalTime(TimeUnit.MILLISECONDS));
  }
}
