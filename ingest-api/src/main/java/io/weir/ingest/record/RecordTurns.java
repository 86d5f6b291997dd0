// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.clock.LocalClock;
import io.weir.ingest.record.journal.Journal;
import io.weir.ingest.record.journal.JournalException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What is done behind the callers, a turn at a time: takes Kafka's answers, seals what is due,
 * sends, beats, gives room back. Of one thread, or of whoever takes its place; never waits.
 */
final class RecordTurns {
  /** Pause after the journal failed. */
  private static final long FAILURE_NANOS = 200_000_000;

  /** A lasting failure, backlog or drain is logged this often. */
  private static final long LOG_NANOS = 10_000_000_000L;

  /** A backlog older than this is worth a warning. */
  private static final long BACKLOG_NANOS = 10_000_000_000L;

  private static final long TRIM_NANOS = 1_000_000_000;

  private static final Logger LOG = LoggerFactory.getLogger(RecordTurns.class);

  private final Journal journal;
  private final List<Lane> lanes;
  private final LowWatermark watermark;
  private final Sealer sealer;
  private final RecordSender sender;
  private final RecordStatistics statistics;
  private final EngineThreads.FaultHandler faults;
  private final LocalClock clock;
  private final long tickNanos;
  private final long heartbeatNanos;
  private long nextHeartbeatNanos;
  private long nextTrimNanos;
  private final LogPace logPace;
  private boolean isSenderBroken;
  private boolean introducing;
  private boolean introduced;
  private volatile boolean resting;

  RecordTurns(
      Journal journal,
      List<Lane> lanes,
      LowWatermark watermark,
      Sealer sealer,
      RecordSender sender,
      RecordStatistics statistics,
      EngineThreads.FaultHandler faults,
      RecordConfig config,
      LocalClock clock) {
    this.journal = journal;
    this.lanes = lanes;
    this.watermark = watermark;
    this.sealer = sealer;
    this.sender = sender;
    this.statistics = statistics;
    this.faults = faults;
    this.clock = clock;
    // looks twice in a linger, so that lines wait at most half as long again
    this.tickNanos = Math.min(config.linger().toNanos(), config.heartbeatInterval().toNanos()) / 2;
    this.heartbeatNanos = config.heartbeatInterval().toNanos();
    this.nextHeartbeatNanos = clock.nowNanos();
    this.nextTrimNanos = nextHeartbeatNanos + TRIM_NANOS;
    this.logPace = new LogPace(clock, LOG_NANOS);
  }

  /** The usual pause between two turns. */
  long tickNanos() {
    return tickNanos;
  }

  /**
   * Does what is due.
   *
   * @param draining true when no line is appended any more, so that all pending ones are due
   * @return for how long to pause then
   */
  long turn(boolean draining) {
    resting = false;
    try {
      if (isSenderBroken) {
        isSenderBroken = false;
        sender.startOver("after a fault");
      }
      sender.connect();
      sender.settle();
      JournalException unsealed = seal(draining);
      sender.sendBatches();
      long nowNanos = clock.nowNanos();
      if (nowNanos - nextHeartbeatNanos >= 0 && sender.isConnected()) {
        nextHeartbeatNanos = nowNanos + heartbeatNanos;
        sender.sendHeartbeats(watermark.promise(), false);
        introducing = true;
      } else if (introducing && sender.isConnected() && sender.areHeartbeatsDone()) {
        introduced = true;
      }
      if (nowNanos - nextTrimNanos >= 0) {
        nextTrimNanos = nowNanos + TRIM_NANOS;
        journal.trim();
      }
      watch(draining, nowNanos);
      if (unsealed != null) {
        throw unsealed;
      }
      return draining ? tickNanos : pauseNanos(nowNanos);
    } catch (JournalException broken) {
      if (logPace.isDue()) {
        LOG.error("journal_failed detail=\"{}\"; it is tried again", broken.getMessage(), broken);
      }
      return FAILURE_NANOS;
    } catch (RuntimeException | Error fault) {
      // what was under way may never be answered: it is given up, and sent again
      isSenderBroken = true;
      faults.take("the record loop", fault);
      return FAILURE_NANOS;
    }
  }

  /**
   * Seals what is due; returns why that failed, since what is sealed already is sent all the same.
   */
  private @Nullable JournalException seal(boolean draining) {
    try {
      sealer.seal(draining);
      return null;
    } catch (JournalException full) {
      return full;
    }
  }

  /**
   * Whether the next turn may be long in coming, since nothing waited at the last one: whoever adds
   * a line asks afterwards, and asks for a turn then.
   */
  boolean isResting() {
    return resting;
  }

  private long pauseNanos(long nowNanos) {
    // said before it is looked: a line added meanwhile is seen here, or its caller sees this
    resting = true;
    if (introduced && sender.isConnected() && sender.areHeartbeatsDone() && isDrained()) {
      return Math.max(tickNanos, Math.min(nextHeartbeatNanos - nowNanos, nextTrimNanos - nowNanos));
    }
    resting = false;
    return tickNanos;
  }

  /** Whether every idle partition has had its first heartbeat. */
  boolean isIntroduced() {
    return introduced;
  }

  /** Whether Kafka has every line. */
  boolean isDrained() {
    return lanes.stream().allMatch(Lane::isDrained);
  }

  /** Sends the last heartbeats: nothing is held back any more. */
  void sayGoodbye() {
    sender.sendHeartbeats(watermark.promise(), true);
  }

  /** Takes Kafka's answers; says whether no heartbeat is on its way any more. */
  boolean areHeartbeatsDone() throws JournalException {
    sender.settle();
    return sender.areHeartbeatsDone();
  }

  void close() {
    sender.close();
  }

  private void watch(boolean draining, long nowNanos) {
    long oldestNanos = 0;
    for (Lane lane : lanes) {
      oldestNanos = Math.max(oldestNanos, lane.oldestUnackedNanos(nowNanos));
    }
    statistics.oldestUnacked(TimeUnit.NANOSECONDS.toMillis(oldestNanos));
    if ((draining || oldestNanos > BACKLOG_NANOS) && logPace.isDue()) {
      LOG.info(
          "{} held_lines={} held_bytes={} oldest_ms={}",
          draining ? "draining" : "backlog",
          statistics.heldLines(),
          statistics.journalBytes(),
          statistics.oldestUnackedMillis());
    }
  }
}
