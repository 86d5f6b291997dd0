// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.weir.topics.problem.ProblemReason;
import io.weir.topics.process.FairTurns;
import java.time.Duration;

/**
 * The fair scheduler of reports. Reports use at most half of the processors, so that the other
 * processors are free for counting. Callers get turns in rotation, so that no caller delays the
 * others for long. A report that reads many rows needs several turns. Thread-safe.
 */
final class ReportTurns {
  /** Maximum number of rows that a report reads in one turn. A turn takes a few milliseconds. */
  static final int ROWS_OF_A_TURN = 10_000;

  /** Maximum number of waiting reports per caller. Each waiting report blocks a thread. */
  static final int MAX_WAITING_OF_A_CALLER = 32;

  /** Maximum number of waiting reports. This maximum is less than the number of Jetty's threads. */
  static final int MAX_WAITING = 128;

  private static final Duration MAX_WAIT = Duration.ofSeconds(30);

  private final FairTurns turns;
  private final Counter cancelled;
  private final Counter refused;

  ReportTurns(int turns, MeterRegistry registry) {
    this.turns = new FairTurns(turns, Math.max(1, turns - 1));
    this.cancelled =
        Counter.builder("weir.reports.cancelled")
            .description(
                "reports cancelled because the client closed the connection before the response")
            .register(registry);
    this.refused =
        Counter.builder("weir.reports.refused")
            .description(
                "reports refused with 503 because too many reports were waiting or the wait timed out")
            .register(registry);
    Gauge.builder("weir.reports.waiting", this.turns, FairTurns::waiting)
        .description("reports waiting for their turn")
        .register(registry);
  }

  /** Creates a scheduler with turns for half of the processors. */
  static ReportTurns ofHalfTheProcessors(MeterRegistry registry) {
    return new ReportTurns(Math.max(1, Runtime.getRuntime().availableProcessors() / 2), registry);
  }

  /**
   * Waits for a turn. The caller must close the turn.
   *
   * @throws ProblemException if too many reports wait, no turn was free in time, or the client has
   *     closed the connection
   */
  Turn begin(ReportCaller caller) throws InterruptedException {
    // a caller gets at most half of the free places, so that places remain for other callers
    int left = MAX_WAITING - turns.waiting();
    int most = Math.min(MAX_WAITING_OF_A_CALLER, (left + 1) / 2);
    if (turns.waiting(caller.name()) >= most) {
      throw refused("too many reports are waiting");
    }
    Turn turn = new Turn(caller);
    turn.acquire();
    return turn;
  }

  private ProblemException refused(String why) {
    refused.increment();
    return new ProblemException(ProblemReason.BUSY, why + "; try again after 1 s");
  }

  /** The turns of one report. Not thread-safe. */
  final class Turn implements AutoCloseable {
    private final ReportCaller caller;
    private boolean isHeld;
    private int rows;

    private Turn(ReportCaller caller) {
      this.caller = caller;
    }

    private void acquire() throws InterruptedException {
      isHeld = turns.acquire(caller.name(), MAX_WAIT.toNanos(), caller.isGone());
      if (caller.isGone().getAsBoolean()) {
        close();
        cancelled.increment();
        throw new ProblemException(ProblemReason.BUSY, "the client has closed the connection");
      }
      if (!isHeld) {
        throw refused("the report waited longer than " + MAX_WAIT.toSeconds() + " s");
      }
    }

    /**
     * Counts a row that the report has read. After {@link #ROWS_OF_A_TURN} rows, waits for the next
     * turn.
     *
     * @throws ProblemException in the same cases as {@link ReportTurns#begin}
     */
    void readRow() {
      if (++rows < ROWS_OF_A_TURN) {
        return;
      }
      rows = 0;
      close();
      try {
        acquire();
      } catch (InterruptedException stopping) {
        Thread.currentThread().interrupt();
        throw new ProblemException(ProblemReason.NOT_READY, "the aggregator is stopping");
      }
    }

    @Override
    public void close() {
      if (isHeld) {
        isHeld = false;
        turns.release(caller.name());
      }
    }
  }
}
