// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one thread behind a call log: takes Kafka's answers, seals what is due, sends, beats, gives
 * room back; at the end it drains and says goodbye.
 */
final class RecordLoop {
  /** Pause after the journal failed. */
  private static final long FAILURE_NANOS = 200_000_000;

  /** A lasting failure, backlog or drain is logged this often. */
  private static final long LOG_NANOS = 10_000_000_000L;

  /** A backlog older than this is worth a warning. */
  private static final long BACKLOG_NANOS = 10_000_000_000L;

  private static final long TRIM_NANOS = 1_000_000_000;

  /** How long the last heartbeats are waited for; nothing depends on them but a window's speed. */
  private static final long DEPART_NANOS = 3_000_000_000L;

  private static final Logger LOG = LoggerFactory.getLogger(RecordLoop.class);

  private final Journal journal;
  private final List<Lane> lanes;
  private final LowWatermark watermark;
  private final Sealer sealer;
  private final RecordSender sender;
  private final RecordStatistics statistics;
  private final long tickNanos;
  private final long heartbeatNanos;
  private final CountDownLatch introduced = new CountDownLatch(1);
  private final Thread thread = new Thread(this::run, "weir-record");

  private volatile boolean draining;
  private volatile long drainDeadlineNanos;
  private volatile String failure = "";

  private long nextHeartbeatNanos;
  private long nextTrimNanos;
  private long loggedNanos = LocalClock.nanos() - LOG_NANOS;

  RecordLoop(
      Journal journal,
      List<Lane> lanes,
      LowWatermark watermark,
      Sealer sealer,
      RecordSender sender,
      RecordStatistics statistics,
      RecordConfig config) {
    this.journal = journal;
    this.lanes = lanes;
    this.watermark = watermark;
    this.sealer = sealer;
    this.sender = sender;
    this.statistics = statistics;
    // looks twice in a linger, so that lines wait at most half as long again
    this.tickNanos = Math.min(config.linger().toNanos(), config.heartbeatInterval().toNanos()) / 2;
    this.heartbeatNanos = config.heartbeatInterval().toNanos();
  }

  void start() {
    nextHeartbeatNanos = LocalClock.nanos();
    nextTrimNanos = nextHeartbeatNanos + TRIM_NANOS;
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
    drainDeadlineNanos = LocalClock.nanos() + patience.toNanos();
    draining = true;
    wake();
    thread.join();
  }

  private void run() {
    try {
      while (!isOver()) {
        turn();
      }
      depart();
    } catch (RuntimeException | Error broken) {
      failure = "the record loop stopped: " + broken;
      LOG.error("record_loop_stopped; calls are kept, but not sent until a restart", broken);
    } finally {
      sender.close();
    }
  }

  private boolean isOver() {
    return draining && (isDrained() || LocalClock.nanos() - drainDeadlineNanos >= 0);
  }

  private boolean isDrained() {
    return lanes.stream().allMatch(Lane::isDrained);
  }

  private void turn() {
    long pauseNanos = tickNanos;
    try {
      sender.settle();
      sealer.seal(draining);
      sender.sendBatches();
      long nowNanos = LocalClock.nanos();
      if (nowNanos - nextHeartbeatNanos >= 0 && sender.isConnected()) {
        nextHeartbeatNanos = nowNanos + heartbeatNanos;
        sender.sendHeartbeats(watermark.promise(), false);
      } else if (introduced.getCount() > 0 && sender.isConnected() && sender.areHeartbeatsDone()) {
        introduced.countDown();
      }
      if (nowNanos - nextTrimNanos >= 0) {
        nextTrimNanos = nowNanos + TRIM_NANOS;
        journal.trim();
      }
      watch(nowNanos);
    } catch (JournalException broken) {
      if (isTimeToLog()) {
        LOG.error("journal_failed detail=\"{}\"; it is tried again", broken.getMessage(), broken);
      }
      pauseNanos = FAILURE_NANOS;
    }
    if (!isOver()) {
      LockSupport.parkNanos(this, pauseNanos);
    }
  }

  private void watch(long nowNanos) {
    long oldestNanos = 0;
    for (Lane lane : lanes) {
      oldestNanos = Math.max(oldestNanos, lane.oldestUnackedNanos(nowNanos));
    }
    statistics.oldestUnacked(TimeUnit.NANOSECONDS.toMillis(oldestNanos));
    if ((draining || oldestNanos > BACKLOG_NANOS) && isTimeToLog()) {
      LOG.info(
          "{} held_lines={} held_bytes={} oldest_ms={}",
          draining ? "draining" : "backlog",
          statistics.heldLines(),
          statistics.journalBytes(),
          statistics.oldestUnackedMillis());
    }
  }

  private boolean isTimeToLog() {
    long nowNanos = LocalClock.nanos();
    boolean due = nowNanos - loggedNanos >= LOG_NANOS;
    if (due) {
      loggedNanos = nowNanos;
    }
    return due;
  }

  /** The last heartbeats: nothing is held back any more. */
  private void depart() {
    long deadlineNanos = LocalClock.nanos() + DEPART_NANOS;
    // the heartbeats under way first, since a partition has one at a time
    awaitHeartbeats(deadlineNanos);
    sender.sendHeartbeats(watermark.promise(), true);
    awaitHeartbeats(deadlineNanos);
    try {
      journal.trim();
    } catch (JournalException broken) {
      LOG.warn("journal_not_trimmed detail=\"{}\"", broken.getMessage());
    }
    if (isDrained()) {
      LOG.info("drained");
    } else {
      LOG.warn(
          "not_drained held_lines={} held_bytes={}; a journal on disk is sent by the next process"
              + " over it",
          statistics.heldLines(),
          statistics.journalBytes());
    }
  }

  private void awaitHeartbeats(long deadlineNanos) {
    try {
      sender.settle();
      while (!sender.areHeartbeatsDone() && LocalClock.nanos() - deadlineNanos < 0) {
        LockSupport.parkNanos(this, tickNanos);
        sender.settle();
      }
    } catch (JournalException broken) {
      LOG.warn("journal_failed detail=\"{}\"", broken.getMessage());
    }
  }
}
