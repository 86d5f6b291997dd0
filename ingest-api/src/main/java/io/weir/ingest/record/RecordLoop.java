// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.clock.LocalClock;
import io.weir.ingest.record.journal.JournalException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The one thread behind a call log: takes turns; at the end it drains and says goodbye. */
final class RecordLoop {
  /** How long the last heartbeats are waited for; nothing depends on them but a window's speed. */
  private static final long DEPART_NANOS = 3_000_000_000L;

  private static final Logger LOG = LoggerFactory.getLogger(RecordLoop.class);

  private final RecordingEngine engine;
  private final RecordTurns turns;
  private final LocalClock clock;
  private final CountDownLatch introduced = new CountDownLatch(1);
  private final Thread thread = new Thread(this::run, "weir-record");

  private volatile boolean draining;
  private volatile long drainDeadlineNanos;
  private volatile String failure = "";

  RecordLoop(RecordingEngine engine, LocalClock clock) {
    this.engine = engine;
    this.turns = engine.turns();
    this.clock = clock;
  }

  void start() {
    thread.start();
  }

  /** Makes the loop look at once. */
  void wake() {
    LockSupport.unpark(thread);
  }

  /** Waits until every idle partition has had its first heartbeat. */
  void awaitIntroduction(Duration patience) throws InterruptedException {
    if (!introduced.await(patience.toNanos(), TimeUnit.NANOSECONDS)) {
      LOG.warn("first_heartbeats_pending waited_ms={}", patience.toMillis());
    }
  }

  /** What stopped the loop before its time; empty when nothing did. */
  String failure() {
    return failure;
  }

  /** Drains, says goodbye, ends. No line may be appended any more. */
  void stop(Duration patience) throws InterruptedException {
    drainDeadlineNanos = clock.nowNanos() + patience.toNanos();
    draining = true;
    wake();
    thread.join();
  }

  private void run() {
    try {
      while (!isOver()) {
        long pauseNanos = turns.turn(draining);
        if (introduced.getCount() > 0 && turns.isIntroduced()) {
          introduced.countDown();
        }
        if (!isOver()) {
          LockSupport.parkNanos(this, pauseNanos);
        }
      }
      depart();
    } catch (RuntimeException | Error broken) {
      failure = "the record loop stopped: " + broken;
      LOG.error("record_loop_stopped; calls are kept, but not sent until a restart", broken);
    } finally {
      turns.close();
    }
  }

  private boolean isOver() {
    return draining && (turns.isDrained() || clock.nowNanos() - drainDeadlineNanos >= 0);
  }

  private void depart() {
    long deadlineNanos = clock.nowNanos() + DEPART_NANOS;
    // the heartbeats under way first, since a partition has one at a time
    awaitHeartbeats(deadlineNanos);
    turns.sayGoodbye();
    awaitHeartbeats(deadlineNanos);
    engine.trim();
    if (turns.isDrained()) {
      LOG.info("drained");
    } else {
      LOG.warn(
          "not_drained held_lines={} held_bytes={}; a journal on disk is sent by the next process"
              + " over it",
          engine.statistics().heldLines(),
          engine.statistics().journalBytes());
    }
  }

  private void awaitHeartbeats(long deadlineNanos) {
    try {
      while (!turns.areHeartbeatsDone() && clock.nowNanos() - deadlineNanos < 0) {
        LockSupport.parkNanos(this, turns.tickNanos());
      }
    } catch (JournalException broken) {
      LOG.warn("journal_failed detail=\"{}\"", broken.getMessage());
    }
  }
}
