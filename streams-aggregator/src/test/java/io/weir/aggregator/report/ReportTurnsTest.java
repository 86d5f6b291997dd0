// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.testing.Await;
import io.weir.topics.problem.ProblemReason;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** Tests in which order callers compute their reports. */
final class ReportTurnsTest {
  private static final ReportCaller OTHER = new ReportCaller("other", null, false, () -> false);

  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final ReportTurns turns = new ReportTurns(1, registry);
  private final BlockingQueue<String> computed = new LinkedBlockingQueue<>();
  private final List<Thread> threads = new ArrayList<>();

  private void start(ReportCaller caller, int rows) throws Exception {
    double before = waitingOrDone();
    Thread thread =
        new Thread(
            () -> {
              try (ReportTurns.Turn turn = turns.begin(caller)) {
                for (int row = 0; row < rows; row++) {
                  turn.readRow();
                }
                computed.add(caller.name());
              } catch (InterruptedException | ProblemException refused) {
                computed.add(caller.name() + " refused");
              }
            });
    thread.start();
    threads.add(thread);
    Await.until("it waits, or is refused", () -> waitingOrDone() > before);
  }

  private double waitingOrDone() {
    return computed.size() + registry.get("weir.reports.waiting").gauge().value();
  }

  private List<String> finish() throws InterruptedException {
    for (Thread thread : threads) {
      thread.join();
    }
    return List.copyOf(computed);
  }

  /** Regression: one token's reports delayed all other reports. */
  @Test
  void reportsOfOneCaller_letAnotherCallerPass_afterOneTurn() throws Exception {
    ReportCaller heavy = new ReportCaller("heavy", null, false, () -> false);
    ReportTurns.Turn first = turns.begin(heavy);
    for (int report = 0; report < 5; report++) {
      start(heavy, 10 * ReportTurns.ROWS_OF_A_TURN);
    }
    start(OTHER, 1);

    first.close();

    List<String> order = finish();
    assertEquals(6, order.size());
    assertEquals("other", order.get(0), "a report of many turns lets others pass in between");
  }

  @Test
  void tooManyWaitingReportsOfACaller_areRefused_andOthersAreNot() throws Exception {
    AtomicBoolean isGone = new AtomicBoolean();
    ReportCaller heavy = new ReportCaller("heavy", null, false, isGone::get);
    ReportTurns.Turn first = turns.begin(heavy);
    for (int report = 0; report < ReportTurns.MAX_WAITING_OF_A_CALLER; report++) {
      start(heavy, 1);
    }

    ProblemException refused = assertThrows(ProblemException.class, () -> turns.begin(heavy));
    assertEquals(ProblemReason.BUSY, refused.problem().reason());
    start(OTHER, 1);
    isGone.set(true);
    first.close();
    assertEquals(1, finish().stream().filter("other"::equals).count());
  }

  /** Regression: four tokens took all places, and each other caller was refused. */
  @Test
  void tooManyWaitingReportsOfFourCallers_leaveAPlaceForAnother() throws Exception {
    AtomicBoolean isGone = new AtomicBoolean();
    ReportTurns.Turn first = turns.begin(OTHER);
    for (int caller = 0; caller < 4; caller++) {
      ReportCaller heavy = new ReportCaller("heavy" + caller, null, false, isGone::get);
      for (int report = 0; report < ReportTurns.MAX_WAITING_OF_A_CALLER; report++) {
        start(heavy, 1);
      }
    }

    start(OTHER, 1);
    isGone.set(true);
    first.close();
    assertEquals(1, finish().stream().filter("other"::equals).count());
  }

  @Test
  void waitingReport_whoseCallerIsGone_isCancelled() throws Exception {
    AtomicBoolean isGone = new AtomicBoolean();
    CountDownLatch origin = new CountDownLatch(1);
    ReportCaller leaving =
        new ReportCaller(
            "leaving",
            null,
            false,
            () -> {
              origin.countDown();
              return isGone.get();
            });
    try (ReportTurns.Turn held = turns.begin(OTHER)) {
      start(leaving, 1);
      origin.await();
      isGone.set(true);

      assertEquals(List.of("leaving refused"), finish());
      held.readRow();
    }
    assertEquals(1, registry.get("weir.reports.cancelled").counter().count());
  }

  @Test
  void report_whoseCallerGoes_endsAtItsNextTurn() throws Exception {
    AtomicBoolean isGone = new AtomicBoolean();
    try (ReportTurns.Turn turn =
        turns.begin(new ReportCaller("leaving", null, false, isGone::get))) {
      isGone.set(true);
      for (int row = 1; row < ReportTurns.ROWS_OF_A_TURN; row++) {
        turn.readRow();
      }

      assertThrows(ProblemException.class, turn::readRow);
    }
    try (ReportTurns.Turn free = turns.begin(OTHER)) {
      free.readRow();
    }
  }
}
