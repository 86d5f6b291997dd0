// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.clock.LocalClock;
import io.weir.ingest.record.journal.BatchManifest;
import io.weir.ingest.record.journal.Journal;
import io.weir.ingest.record.journal.JournalException;
import io.weir.topics.model.BatchHeader;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends sealed batches in order, some of each partition at a time, for as long as it takes. Of the
 * record loop's thread; only the outlet's answers come from others, through a queue.
 */
final class RecordSender {
  /** Bytes with the Kafka client at once; the rest waits in the journal. */
  static final long MAX_UNDER_WAY_BYTES = 32L * 1024 * 1024;

  /**
   * Pause after a failure, doubled with each that follows, up to 1.6 s: one batch is tried by then,
   * and windows wait for it. The client itself retries quickly whatever can be retried.
   */
  private static final long RETRY_NANOS = 200_000_000;

  private static final int MOST_DOUBLINGS = 3;

  /** Pause after the journal could not give a batch; the other partitions are sent meanwhile. */
  private static final long UNREADABLE_NANOS = 10_000_000_000L;

  private static final Logger LOG = LoggerFactory.getLogger(RecordSender.class);

  private static final byte[] NO_LINES = {};

  private final Journal journal;
  private final List<Lane> lanes;
  private final Sealer sealer;
  private final RecordStatistics statistics;
  private final OutletConnector connector;
  private final Runnable wakeLoop;
  private final LocalClock clock;
  private final Queue<Answer> answers = new ConcurrentLinkedQueue<>();
  private long underWayBytes;
  private int firstLane;

  RecordSender(
      Journal journal,
      List<Lane> lanes,
      Sealer sealer,
      RecordStatistics statistics,
      OutletConnector connector,
      Runnable wakeLoop,
      LocalClock clock) {
    this.journal = journal;
    this.lanes = lanes;
    this.sealer = sealer;
    this.statistics = statistics;
    this.connector = connector;
    this.wakeLoop = wakeLoop;
    this.clock = clock;
  }

  /**
   * What became of a batch.
   *
   * @param outlet what it was given to
   * @param batch null for a heartbeat
   * @param bytes its size, which is no longer under way
   * @param failure null when Kafka has it
   */
  private record Answer(
      Outlet outlet,
      Lane lane,
      @Nullable SealedBatch batch,
      int bytes,
      Outlet.@Nullable Failure failure) {}

  /** Begins to connect when that is due, or takes what was opened; whatever fails behind it. */
  void connect() {
    Outlet unused = connector.outlet();
  }

  /** Takes note of all answers that have come. */
  void settle() throws JournalException {
    List<BatchManifest> acked = new ArrayList<>();
    boolean isAnySettled = false;
    for (Answer answer = answers.poll(); answer != null; answer = answers.poll()) {
      if (answer.outlet() != connector.current()) {
        continue; // given up with its outlet; it is sent again
      }
      underWayBytes -= answer.bytes();
      Outlet.Failure failure = answer.failure();
      if (failure != null) {
        failed(answer, failure);
        continue;
      }
      SealedBatch batch = answer.batch();
      if (batch == null) {
        answer.lane().heartbeatAcked();
        statistics.heartbeat();
      } else if (answer.lane().acked(batch)) {
        sealer.released(batch);
        statistics.acked(batch.seal());
        acked.add(batch.seal());
      } else {
        statistics.retried();
      }
      isAnySettled = true;
    }
    if (isAnySettled
        && connector.isInTrouble()
        && lanes.stream().allMatch(lane -> lane.failuresInARow() == 0)) {
      connector.recovered();
    }
    if (!acked.isEmpty()) {
      journal.acknowledge(acked);
    }
  }

  /** Gives up the outlet with all that is under way; it is sent again by another. */
  void startOver(String why) {
    for (Lane lane : lanes) {
      for (int i = 0; i < lane.underWay(); i++) {
        statistics.retried();
      }
      lane.startOver();
    }
    underWayBytes = 0;
    connector.replace(why);
  }

  private void failed(Answer answer, Outlet.Failure failure) {
    if (failure.outletIsBroken()) {
      answer.lane().brokeTheOutlet();
      startOver(failure.detail());
      return;
    }
    connector.complain(failure.detail());
    Lane lane = answer.lane();
    if (answer.batch() == null) {
      lane.heartbeatFailed();
    } else {
      lane.failed();
      statistics.retried();
    }
    int doublings = Math.min(lane.failuresInARow() - 1, MOST_DOUBLINGS);
    lane.notBefore(clock.nowNanos() + (RETRY_NANOS << doublings));
  }

  /** Sends the oldest sealed batches of every partition, in turn, that are not under way. */
  void sendBatches() {
    Outlet outlet = connector.outlet();
    if (outlet == null) {
      return;
    }
    // begins with another lane each time, so that none starves when there is little room
    firstLane = (firstLane + 1) % lanes.size();
    boolean isAnySent = true;
    while (isAnySent) {
      isAnySent = false;
      for (int i = 0; i < lanes.size(); i++) {
        if (sendNext(outlet, lanes.get((firstLane + i) % lanes.size()))) {
          isAnySent = true;
          if (hasFailed()) {
            return; // at once, as when the topic is not known yet: the next must not overtake it
          }
        }
      }
    }
  }

  private boolean hasFailed() {
    for (Answer answer : answers) {
      if (answer.failure() != null) {
        return true;
      }
    }
    return false;
  }

  private boolean sendNext(Outlet outlet, Lane lane) {
    SealedBatch batch = lane.next();
    if (batch == null || isTooEarly(lane)) {
      return false;
    }
    int bytes = batch.seal().bytes();
    if (underWayBytes > 0 && underWayBytes + bytes > MAX_UNDER_WAY_BYTES) {
      return false;
    }
    if (batch.seal().count() == 0 && !lane.isGreeted(batch.seal())) {
      if (lane.isHeartbeatUnderWay()) {
        return false;
      }
      sayHello(outlet, lane, batch.seal());
      return true;
    }
    byte[] lines = batch.lines();
    if (lines == null) {
      try {
        lines = journal.read(batch.seal());
      } catch (JournalException unreadable) {
        lane.nextIsUnreadable();
        lane.notBefore(clock.nowNanos() + UNREADABLE_NANOS);
        connector.isHindered("partition " + lane.partition() + ": " + unreadable.getMessage());
        LOG.error(
            "journal_failed partition={} detail=\"{}\"; it is tried again",
            lane.partition(),
            unreadable.getMessage(),
            unreadable);
        return false;
      }
    }
    lane.handedOver();
    send(outlet, lane, batch, batch.seal().header(journal.identity().node()), lines);
    return true;
  }

  /**
   * Says that a new epoch has begun, before the goodbye of an old one: from then on the promise of
   * the new one is waited for, which holds what is still to be sent. The goodbye waits until Kafka
   * has it.
   */
  private void sayHello(Outlet outlet, Lane lane, BatchManifest goodbye) {
    lane.greeting(goodbye, clock.nowNanos());
    BatchHeader hello =
        new BatchHeader(
            journal.identity().node(),
            lane.epoch(),
            goodbye.batchSequence() - 1,
            0,
            goodbye.lowWatermarkEpochMillis(),
            lane.linesBeforeEpoch(),
            lane.linesBeforeEpoch(),
            false);
    send(outlet, lane, null, hello, NO_LINES);
  }

  /**
   * Sends a heartbeat to every partition of which Kafka has every line and that has no heartbeat
   * under way.
   *
   * @param promiseEpochMillis computed before this call: lines it does not cover may be pending,
   *     and then there is no heartbeat
   * @param departing true on the last one
   */
  void sendHeartbeats(long promiseEpochMillis, boolean departing) {
    Outlet outlet = connector.outlet();
    if (outlet == null) {
      return;
    }
    for (Lane lane : lanes) {
      if (!lane.isDrained() || lane.isHeartbeatUnderWay() || isTooEarly(lane)) {
        continue;
      }
      lane.promise(Math.max(promiseEpochMillis, lane.promiseEpochMillis()));
      lane.beating(clock.nowNanos());
      statistics.promised(lane.partition(), lane.promiseEpochMillis());
      BatchHeader header =
          new BatchHeader(
              journal.identity().node(),
              lane.epoch(),
              lane.sealedBatches(),
              0,
              lane.promiseEpochMillis(),
              lane.sealedLines(),
              lane.linesBeforeEpoch(),
              departing);
      send(outlet, lane, null, header, NO_LINES);
    }
  }

  private boolean isTooEarly(Lane lane) {
    return clock.nowNanos() - lane.notBeforeNanos() < 0;
  }

  private void send(
      Outlet outlet, Lane lane, @Nullable SealedBatch batch, BatchHeader header, byte[] lines) {
    underWayBytes += lines.length;
    outlet.send(
        lane.partition(),
        header,
        lines,
        failure -> {
          answers.add(new Answer(outlet, lane, batch, lines.length, failure));
          wakeLoop.run();
        });
  }

  boolean isConnected() {
    return connector.outlet() != null;
  }

  /** True when no heartbeat is on its way. */
  boolean areHeartbeatsDone() {
    return lanes.stream().noneMatch(Lane::isHeartbeatUnderWay);
  }

  void close() {
    connector.close();
  }
}
