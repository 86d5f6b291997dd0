// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.clock.LocalClock;
import io.weir.ingest.gate.Recorded.Reason;
import io.weir.ingest.record.journal.Chunk;
import io.weir.ingest.record.journal.Journal;
import io.weir.ingest.record.journal.JournalException;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Brings the lines of all callers into the journal, as many as wait in one write. Safe for threads.
 *
 * <p>There is no thread for it: a caller puts its lines into the queue and tries for the turn. Who
 * has the turn writes for all who wait; who has not, parks until it is done or its turn. (Flat
 * combining: Hendler, Incze, Shavit, Tzafrir, SPAA 2010.)
 */
final class GroupCommit {
  private static final Append.Outcome UNFINISHED =
      new Append.NotKept(Reason.WRITE_FAILED, "the write did not end");

  /** Bounds one write, and with it how long the caller that makes it works for others. */
  private static final int MAX_GROUP_LINES = 1_000;

  private static final int MAX_GROUP_BYTES = 1024 * 1024;

  /**
   * How long a failed write makes the node unready: without calls, no write can show it is over.
   */
  static final long FAILURE_STANDS_NANOS = 10_000_000_000L;

  /** Every caller looks after itself this often, should a wake-up ever be lost. */
  private static final long LOOK_NANOS = 100_000_000;

  private static final Logger LOG = LoggerFactory.getLogger(GroupCommit.class);

  private final Journal journal;
  private final List<LaneGroup> lanes = new ArrayList<>();
  private final long maxHeldBytes;
  private final boolean waitForAcks;
  private final RecordStatistics statistics;
  private final EngineThreads threads;
  private final BooleanSupplier isResting;
  private final EngineThreads.FaultHandler faults;
  private final LocalClock clock;

  private final Queue<Append> queue = new ConcurrentLinkedQueue<>();
  private final ReentrantLock turn = new ReentrantLock();
  private final List<Append> group = new ArrayList<>();
  private final List<LaneGroup> touched = new ArrayList<>();
  private final List<Chunk> chunks = new ArrayList<>();
  private boolean closed;
  private volatile String writeFailure = "";
  private volatile long writeFailedNanos;

  /**
   * A commit over lanes.
   *
   * @param waitForAcks true when callers wait for Kafka
   * @param threads woken when a lane has a full batch, or when the record loop rests
   * @param isResting whether it rests
   * @param faults told of exceptions that nothing expected, when all callers have been told
   */
  GroupCommit(
      Journal journal,
      List<Lane> lanes,
      BatchCutter cutter,
      long maxHeldBytes,
      boolean waitForAcks,
      RecordStatistics statistics,
      EngineThreads threads,
      BooleanSupplier isResting,
      EngineThreads.FaultHandler faults,
      LocalClock clock) {
    this.journal = journal;
    for (Lane lane : lanes) {
      this.lanes.add(new LaneGroup(lane, cutter));
    }
    this.maxHeldBytes = maxHeldBytes;
    this.waitForAcks = waitForAcks;
    this.statistics = statistics;
    this.threads = threads;
    this.isResting = isResting;
    this.faults = faults;
    this.clock = clock;
  }

  /** Blocks until the journal has the lines or refuses them. */
  Append.Outcome commit(Append append) {
    queue.add(append);
    // lets callers that can run put their lines into the same write; often this returns when
    // another has written ours already, without a park and a wake-up (docs/decisions/0003)
    threads.giveWay().run();
    for (Append.Outcome outcome = append.outcome(); ; outcome = append.outcome()) {
      if (outcome != null) {
        return outcome;
      }
      if (turn.tryLock()) {
        try {
          while (append.outcome() == null) {
            commitGroup();
          }
        } finally {
          turn.unlock();
        }
        handOn();
      } else {
        LockSupport.parkNanos(this, LOOK_NANOS);
      }
    }
  }

  /**
   * What the last write failed with; empty when it did not, or when that is so long ago that a node
   * out of rotation should get calls again to try.
   */
  String writeFailure() {
    boolean recent = clock.nowNanos() - writeFailedNanos < FAILURE_STANDS_NANOS;
    return recent ? writeFailure : "";
  }

  /** Waits for the write under way; from now on all are refused. */
  void close() {
    turn.lock();
    try {
      closed = true;
    } finally {
      turn.unlock();
    }
    handOn();
  }

  /** A caller that parked while the turn was taken finds it free. */
  private void handOn() {
    Append waiting = queue.peek();
    if (waiting != null) {
      LockSupport.unpark(waiting.caller());
    }
  }

  private void commitGroup() {
    try {
      writeGroup();
    } catch (RuntimeException | Error fault) {
      tell(UNFINISHED);
      writeFailedNanos = clock.nowNanos();
      writeFailure = "writing to the journal failed: " + fault;
      faults.take("writing to the journal", fault);
    }
  }

  private void writeGroup() {
    long bytes = 0;
    int lines = 0;
    while (lines < MAX_GROUP_LINES && bytes < MAX_GROUP_BYTES) {
      Append append = queue.poll();
      if (append == null) {
        break;
      }
      if (closed) {
        append.complete(new Append.NotKept(Reason.CLOSING, "the node is stopping"));
      } else if (statistics.journalBytes() + bytes + append.bytes() > maxHeldBytes) {
        append.complete(
            new Append.NotKept(Reason.FULL, "the journal holds its " + maxHeldBytes + " bytes"));
      } else {
        group.add(append);
        place(append);
        bytes += append.bytes();
        lines += append.count();
      }
    }
    if (!group.isEmpty()) {
      write(lines, bytes);
    }
  }

  private void place(Append append) {
    if (waitForAcks) {
      append.awaitAcksOf(append.count());
    }
    for (int i = 0; i < append.count(); i++) {
      LaneGroup lane = lanes.get(append.partition(i));
      if (lane.isEmpty()) {
        touched.add(lane);
      }
      append.number(i, lane.add(append.line(i), append.begunAtEpochMillis()));
      if (waitForAcks) {
        lane.await(append.lineNumber(i), append);
      }
    }
  }

  private void write(int lines, long bytes) {
    for (LaneGroup lane : touched) {
      chunks.addAll(lane.chunks());
    }
    try {
      journal.append(chunks);
    } catch (JournalException failure) {
      tell(new Append.NotKept(Reason.WRITE_FAILED, logged(failure)));
      return;
    }
    writeFailure = "";
    statistics.appended(lines, bytes);
    handOver();
    tell(Append.Kept.KEPT);
  }

  /** Tells all whose lines are in the group what came of it, and begins the next. */
  private void tell(Append.Outcome outcome) {
    chunks.clear();
    touched.forEach(LaneGroup::clear);
    touched.clear();
    for (Append append : group) {
      append.complete(outcome);
    }
    group.clear();
  }

  private void handOver() {
    long nowNanos = clock.nowNanos();
    boolean full = false;
    for (LaneGroup lane : touched) {
      full |= lane.handOver(nowNanos);
    }
    if (full || isResting.getAsBoolean()) {
      threads.wake().run();
    }
  }

  private String logged(JournalException failure) {
    String detail = String.valueOf(failure.getMessage());
    if (writeFailure.isEmpty()) {
      LOG.error("journal_write_failed detail=\"{}\"; calls are refused", detail, failure);
    }
    writeFailedNanos = clock.nowNanos();
    writeFailure = detail;
    return detail;
  }
}
