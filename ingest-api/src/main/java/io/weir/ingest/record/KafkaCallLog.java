// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.gate.CallLog;
import io.weir.ingest.gate.Durability;
import io.weir.ingest.gate.Recorded;
import io.weir.ingest.gate.Ticket;
import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.UsagePosition;
import io.weir.topics.wire.CallLineCodec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The call log whose calls end up in Kafka. Callers meet it in the journal ({@link GroupCommit});
 * behind it one thread seals and sends ({@link RecordLoop}).
 */
public final class KafkaCallLog implements CallLog {
  /** Longest line: many times a call with the longest names and the most buckets. */
  static final int MAX_LINE_BYTES = 64 * 1024;

  /** How long a stop waits for calls under way; longer than a request may take. */
  private static final Duration TICKET_PATIENCE = Duration.ofSeconds(5);

  /** How long a start waits for Kafka to know the node. */
  private static final Duration INTRODUCTION_PATIENCE = Duration.ofSeconds(5);

  private static final long POLL_NANOS = 2_000_000;

  private static final Logger LOG = LoggerFactory.getLogger(KafkaCallLog.class);

  private final RecordConfig config;
  private final DecisionClock clock;
  private final LowWatermark watermark;
  private final Journal journal;
  private final GroupCommit commit;
  private final RecordLoop loop;
  private final OutletConnector connector;
  private final RecordStatistics statistics;
  private volatile boolean closing;

  /** Puts the parts together over a journal and starts; the journal is closed with the log. */
  KafkaCallLog(RecordConfig config, DecisionClock clock, Journal journal, Outlet.Factory outlets)
      throws JournalException {
    this.config = config;
    this.clock = clock;
    this.journal = journal;
    watermark = new LowWatermark(clock::nowEpochMillis);
    int partitions = journal.identity().partitions();
    statistics = new RecordStatistics(partitions);
    List<Lane> lanes = new ArrayList<>();
    for (int partition = 0; partition < partitions; partition++) {
      lanes.add(lane(partition));
    }
    BatchCutter cutter = new BatchCutter(config.maxBatchLines(), config.maxBatchBytes());
    connector = new OutletConnector(outlets, this::wake);
    Sealer sealer =
        new Sealer(journal, lanes, watermark, cutter, config.linger().toNanos(), statistics);
    RecordSender sender =
        new RecordSender(journal, lanes, sealer, statistics, connector, this::wake);
    loop = new RecordLoop(journal, lanes, watermark, sealer, sender, statistics, config);
    commit =
        new GroupCommit(
            journal,
            lanes,
            cutter,
            config.maxHeldBytes(),
            config.durability() == Durability.ACKED,
            statistics,
            this::wake);
    loop.start();
  }

  /**
   * Opens the call log; blocks until Kafka knows the node, or for some seconds. Needs Kafka only
   * when there is no journal yet.
   *
   * @param clock told of every decision of the cache; may be told of more by others
   * @throws CallLogStartException when the folder or the topic cannot be used
   */
  public static KafkaCallLog open(RecordConfig config, DecisionClock clock) {
    Journal journal =
        switch (config.durability()) {
          case JOURNALED ->
              RocksJournal.open(config.journalFolder(), config.fsync(), () -> identity(config));
          case ACKED -> new MemoryJournal(identity(config));
        };
    try {
      JournalIdentity identity = journal.identity();
      if (!identity.node().equals(config.node())) {
        throw new CallLogStartException(
            "the journal in "
                + config.journalFolder()
                + " belongs to the node '"
                + identity.node()
                + "', not to '"
                + config.node()
                + "': keep the name, or give the node a folder of its own");
      }
      CallsTopic.Description topic = CallsTopic.describe(config);
      CallsTopic.requireSamePartitions(config, topic, identity.partitions());
      KafkaCallLog log =
          new KafkaCallLog(
              config, clock, journal, () -> KafkaOutlet.open(config, identity.partitions()));
      if (topic instanceof CallsTopic.Known) {
        log.loop.awaitIntroduction(INTRODUCTION_PATIENCE);
      }
      LOG.info(
          "call_log_open node={} epoch={} partitions={} durability={} found_lines={}",
          identity.node(),
          identity.epoch(),
          identity.partitions(),
          config.durability().wireName(),
          log.statistics.foundLines());
      return log;
    } catch (JournalException unreadable) {
      journal.close();
      throw new CallLogStartException(
          "the journal in " + config.journalFolder() + ": " + unreadable.getMessage(), unreadable);
    } catch (CallLogStartException refused) {
      journal.close();
      throw refused;
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new CallLogStartException("interrupted while starting", interrupted);
    }
  }

  private static JournalIdentity identity(RecordConfig config) {
    int partitions = CallsTopic.awaitPartitions(config);
    return new JournalIdentity(config.node(), LocalClock.epochMillis(), partitions);
  }

  private Lane lane(int partition) throws JournalException {
    Journal.Found found = journal.found(partition);
    for (Seal seal : found.seals()) {
      statistics.found(seal.count(), seal.bytes());
    }
    for (Chunk chunk : found.unsealed()) {
      statistics.found(chunk.count(), chunk.lines().length);
    }
    return new Lane(partition, found, LocalClock.nanos());
  }

  private void wake() {
    loop.wake();
  }

  /** What the log has done, and what it holds. */
  public RecordStatistics statistics() {
    return statistics;
  }

  @Override
  public Ticket begin() {
    long begun = watermark.begin();
    // read after the call is counted: either close() counts it, or it sees that the log closes
    if (closing) {
      watermark.end(begun);
      return new WatermarkTicket(watermark, begun, false);
    }
    return new WatermarkTicket(watermark, begun, true);
  }

  @Override
  public List<Recorded> record(Ticket ticket, List<CallEvent> calls) {
    if (!(ticket instanceof WatermarkTicket mine) || !mine.isOf(watermark)) {
      throw new IllegalArgumentException("the ticket was drawn from another log: " + ticket);
    }
    mine.use();
    if (calls.isEmpty() || calls.size() > MAX_CALLS || !mine.isAdmitted()) {
      mine.end();
      if (calls.size() > MAX_CALLS) {
        throw new IllegalArgumentException(
            "at most " + MAX_CALLS + " calls a ticket, not " + calls.size());
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
        clock.observe(call.decidedAtEpochMillis());
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
    long deadlineNanos = LocalClock.nanos() + config.ackTimeout().toNanos();
    while (!append.isAcked()) {
      long leftNanos = deadlineNanos - LocalClock.nanos();
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

  @Override
  public Health check() {
    if (closing) {
      return new Health(false, "the node is stopping");
    }
    if (!loop.failure().isEmpty()) {
      return new Health(false, loop.failure());
    }
    if (!commit.writeFailure().isEmpty()) {
      return new Health(false, commit.writeFailure());
    }
    if (connector.isRefused()) {
      return new Health(false, connector.detail());
    }
    String backlog =
        "held_lines="
            + statistics.heldLines()
            + " held_bytes="
            + statistics.journalBytes()
            + " oldest_unacked_ms="
            + statistics.oldestUnackedMillis();
    boolean full = statistics.journalBytes() >= config.maxHeldBytes();
    boolean late =
        config.durability() == Durability.ACKED
            && (!connector.detail().isEmpty()
                || statistics.oldestUnackedMillis() > config.ackTimeout().toMillis());
    return new Health(!full && !late, connector.detail() + (full ? " full " : " ") + backlog);
  }

  @Override
  public void close() {
    synchronized (this) {
      if (closing) {
        return;
      }
      closing = true;
    }
    try {
      awaitTickets();
      commit.close();
      loop.stop(config.drainTimeout());
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      LOG.warn("close_interrupted; what is held stays in the journal");
      return; // the loop still runs and uses the journal
    }
    journal.close();
  }

  private void awaitTickets() {
    long deadlineNanos = LocalClock.nanos() + TICKET_PATIENCE.toNanos();
    while (watermark.countUnderWay() > 0 && LocalClock.nanos() - deadlineNanos < 0) {
      LockSupport.parkNanos(this, POLL_NANOS);
    }
  }
}
