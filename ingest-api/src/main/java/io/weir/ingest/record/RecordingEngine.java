// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.clock.LocalClock;
import io.weir.ingest.gate.CallLog;
import io.weir.ingest.gate.Durability;
import io.weir.ingest.gate.Recorded;
import io.weir.ingest.gate.Ticket;
import io.weir.ingest.record.journal.BatchManifest;
import io.weir.ingest.record.journal.Chunk;
import io.weir.ingest.record.journal.Journal;
import io.weir.ingest.record.journal.JournalException;
import io.weir.ingest.record.journal.JournalIdentity;
import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.UsagePosition;
import io.weir.topics.wire.CallLineCodec;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Records calls, without a thread or a clock of its own: callers bring their calls into the journal
 * ({@link #begin}, {@link #record}), and somebody takes turns that bring them to Kafka ({@link
 * #turn}). {@link KafkaCallLog} takes them in a thread; a simulation takes them by hand. Safe for
 * any number of callers and one that takes turns.
 */
public final class RecordingEngine {
  /** Longest line: many times a call with the longest names and the most buckets. */
  static final int MAX_LINE_BYTES = 64 * 1024;

  private static final Logger LOG = LoggerFactory.getLogger(RecordingEngine.class);

  private final RecordConfig config;
  private final DecisionClock decisionClock;
  private final LocalClock clock;
  private final LowWatermark watermark;
  private final Journal journal;
  private final GroupCommit commit;
  private final OutletConnector connector;
  private final RecordTurns turns;
  private final RecordStatistics statistics;
  private volatile boolean closing;

  /**
   * Puts the parts together over a journal, which stays the caller's to close.
   *
   * @param decisionClock told of every decision of the cache
   * @throws JournalException when what the journal held cannot be read
   */
  public RecordingEngine(
      RecordConfig config,
      DecisionClock decisionClock,
      Journal journal,
      Outlet.Factory outlets,
      LocalClock clock,
      EngineThreads threads)
      throws JournalException {
    this.config = config;
    this.decisionClock = decisionClock;
    this.clock = clock;
    this.journal = journal;
    this.watermark = new LowWatermark(decisionClock::nowEpochMillis);
    int partitions = journal.identity().partitions();
    this.statistics = new RecordStatistics(partitions);
    EngineThreads.FaultHandler faults =
        (part, fault) -> {
          statistics.fault();
          threads.faults().take(part, fault);
        };
    BatchCutter cutter = new BatchCutter(config.maxBatchLines(), config.maxBatchBytes());
    Opening.begin(journal, cutter, clock);
    List<Lane> lanes = new ArrayList<>();
    for (int partition = 0; partition < partitions; partition++) {
      lanes.add(lane(journal, partition, statistics, clock));
    }
    this.connector = new OutletConnector(outlets, threads.opener(), threads.wake(), faults, clock);
    Sealer sealer =
        new Sealer(journal, lanes, watermark, cutter, config.linger().toNanos(), statistics, clock);
    RecordSender sender =
        new RecordSender(journal, lanes, sealer, statistics, connector, threads.wake(), clock);
    this.turns =
        new RecordTurns(
            journal, lanes, watermark, sealer, sender, statistics, faults, config, clock);
    this.commit =
        new GroupCommit(
            journal,
            lanes,
            cutter,
            config.maxHeldBytes(),
            config.durability() == Durability.ACKED,
            statistics,
            threads,
            turns::isResting,
            faults,
            clock);
  }

  private static Lane lane(
      Journal journal, int partition, RecordStatistics statistics, LocalClock clock)
      throws JournalException {
    Journal.Recovered found = journal.recover(partition);
    for (BatchManifest seal : found.sealed()) {
      statistics.found(seal.count(), seal.bytes());
    }
    for (Chunk chunk : found.unsealed()) {
      statistics.found(chunk.count(), chunk.lines().length);
    }
    return new Lane(partition, journal.identity().epoch(), found, clock.nowNanos());
  }

  /** See {@link CallLog#begin}. */
  public Ticket begin() {
    long held = watermark.begin();
    // a clock that was ahead once must not date calls: a promise that was made then stands, and
    // calls before it are late, but a call of the future would not be counted at all
    long begun = Math.min(held, decisionClock.nowEpochMillis());
    // read after the call is counted: either close() counts it, or it sees that the log closes
    if (closing) {
      watermark.end(held);
      return new WatermarkTicket(watermark, held, begun, false);
    }
    return new WatermarkTicket(watermark, held, begun, true);
  }

  /** See {@link CallLog#record(Ticket, List)}. */
  public List<Recorded> record(Ticket ticket, List<CallEvent> calls) {
    if (!(ticket instanceof WatermarkTicket mine) || !mine.isOf(watermark)) {
      throw new IllegalArgumentException("the ticket was drawn from another log: " + ticket);
    }
    mine.use();
    if (calls.isEmpty() || calls.size() > CallLog.MAX_CALLS || !mine.isAdmitted()) {
      mine.end();
      if (calls.size() > CallLog.MAX_CALLS) {
        throw new IllegalArgumentException(
            "at most " + CallLog.MAX_CALLS + " calls a ticket, not " + calls.size());
      }
      return refuse(Recorded.Reason.CLOSING, "the node is stopping", calls.size());
    }
    Append append = null;
    try {
      append = encode(mine, calls);
    } finally {
      if (append == null) {
        mine.end();
      }
    }
    if (append.longestLineBytes() > MAX_LINE_BYTES) {
      mine.end();
      return refuse(
          Recorded.Reason.WRITE_FAILED,
          "a line has " + append.longestLineBytes() + " bytes, more than " + MAX_LINE_BYTES,
          calls.size());
    }
    Append.Outcome outcome = commit.commit(append);
    if (outcome instanceof Append.NotKept not) {
      return notKept(not, calls.size());
    }
    return config.durability() == Durability.ACKED
        ? awaitAcks(append)
        : durable(append, Durability.JOURNALED);
  }

  private Append encode(WatermarkTicket ticket, List<CallEvent> calls) {
    int[] partitions = new int[calls.size()];
    byte[][] lines = new byte[calls.size()][];
    for (int i = 0; i < lines.length; i++) {
      CallEvent call = calls.get(i);
      lines[i] = CallLineCodec.encode(call);
      partitions[i] = ClientPartitioner.partition(call.client(), journal.identity().partitions());
      if (call.decidedBy() == DecidedBy.CACHE && call.settlement() == null) {
        decisionClock.observe(call.decidedAtEpochMillis());
      }
    }
    return new Append(ticket, partitions, lines);
  }

  private List<Recorded> notKept(Append.NotKept not, int calls) {
    if (not.reason() == Recorded.Reason.FULL && config.whenFull() == WhenFull.DROP) {
      statistics.dropped(calls);
      return Collections.nCopies(calls, new Recorded.Dropped());
    }
    return refuse(not.reason(), not.detail(), calls);
  }

  private List<Recorded> refuse(Recorded.Reason reason, String detail, int calls) {
    statistics.refused(reason, calls);
    return Collections.nCopies(calls, new Recorded.Refused(reason, detail));
  }

  private List<Recorded> awaitAcks(Append append) {
    long deadlineNanos = clock.nowNanos() + config.ackTimeout().toNanos();
    while (!append.isAcked()) {
      long leftNanos = deadlineNanos - clock.nowNanos();
      // an interrupted thread cannot park; it waits no longer
      if (leftNanos <= 0 || Thread.currentThread().isInterrupted()) {
        return refuse(
            Recorded.Reason.TIMEOUT,
            "Kafka did not confirm within " + config.ackTimeout(),
            append.count());
      }
      LockSupport.parkNanos(this, leftNanos);
    }
    return durable(append, Durability.ACKED);
  }

  private List<Recorded> durable(Append append, Durability durability) {
    if (append.count() == 1) {
      return List.of(durable(append, durability, 0));
    }
    List<Recorded> recorded = new ArrayList<>(append.count());
    for (int i = 0; i < append.count(); i++) {
      recorded.add(durable(append, durability, i));
    }
    return recorded;
  }

  private Recorded durable(Append append, Durability durability, int index) {
    JournalIdentity identity = journal.identity();
    return new Recorded.Durable(
        durability,
        new UsagePosition(
            append.partition(index), identity.node(), identity.epoch(), append.lineNumber(index)));
  }

  /**
   * Does what is due behind the callers; never waits.
   *
   * @return for how long to pause then, in nanoseconds, unless woken
   */
  public long turn() {
    return turns.turn(closing);
  }

  /** Whether Kafka has heard of this node in every partition; of whoever takes the turns. */
  public boolean isIntroduced() {
    return turns.isIntroduced();
  }

  /** From now on calls that begin are refused, and turns send all that is held. */
  public void beginClosing() {
    closing = true;
  }

  /** Whether Kafka has every line; of whoever takes the turns. */
  public boolean isDrained() {
    return turns.isDrained();
  }

  /** Sends the last heartbeats, to partitions that have none under way; after that no turn. */
  public void sayGoodbye() {
    turns.sayGoodbye();
  }

  /** What was done, and what is held. */
  public RecordStatistics statistics() {
    return statistics;
  }

  boolean isClosing() {
    return closing;
  }

  int countUnderWay() {
    return watermark.countUnderWay();
  }

  GroupCommit commit() {
    return commit;
  }

  OutletConnector connector() {
    return connector;
  }

  RecordTurns turns() {
    return turns;
  }

  void trim() {
    try {
      journal.trim();
    } catch (JournalException broken) {
      LOG.warn("journal_not_trimmed detail=\"{}\"", broken.getMessage());
    }
  }
}
