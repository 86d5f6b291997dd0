// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.micrometer.core.instrument.MeterRegistry;
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
import io.weir.topics.process.LogPace;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The core of the call log, without a thread or clock of its own. Callers append their calls to the
 * journal ({@link #begin}, {@link #submit}). The recording thread repeatedly calls {@link
 * #runOnce()}, which sends the calls to Kafka. {@link KafkaCallLog} provides this thread; the
 * simulation calls {@link #runOnce()} itself. Any number of threads may append calls. All other
 * methods are confined to the recording thread unless stated otherwise.
 */
public final class CallRecorder {
  /**
   * Maximum size of a line, in bytes. Even a call with the longest names and the most buckets needs
   * less.
   */
  static final int MAX_LINE_BYTES = 64 * 1024;

  /** Pause after a failure of the journal or an unexpected exception. */
  private static final long FAILURE_NANOS = 200_000_000;

  /** Interval at which a lasting failure, backlog or drain is logged. */
  private static final long LOG_NANOS = 10_000_000_000L;

  /** The log reports a backlog if the oldest unacknowledged line is older than this age. */
  private static final long BACKLOG_NANOS = 10_000_000_000L;

  private static final long TRIM_NANOS = 1_000_000_000;

  private static final Logger LOG = LoggerFactory.getLogger(CallRecorder.class);

  private final RecordConfig config;
  private final DecisionClock decisionClock;
  private final Journal journal;
  private final LocalClock clock;
  private final LowWatermark watermark;
  private final RecordStatistics statistics;
  private final RecorderThreads threads;
  private final List<PartitionBuffer> buffers = new ArrayList<>();
  private final GroupCommit commit;
  private final BatchSealer sealer;
  private final BatchSender sender;
  private final ProducerConnector connector;
  private volatile boolean closing;

  private final long tickNanos;
  private final long heartbeatNanos;
  private final LogPace failurePace;
  private final LogPace backlogPace;
  private long nextHeartbeatNanos;
  private long nextTrimNanos;
  private boolean isProducerSuspect;
  private boolean isRegistering;
  private boolean isRegistered;
  private volatile boolean isIdle;

  /**
   * Creates a recorder for a single thread, which appends calls and runs {@link #runOnce()}. The
   * recorder rethrows unexpected exceptions. The caller must close the journal.
   *
   * @param decisionClock observes the time of every decision of the cache
   * @throws JournalException when the journal's content cannot be read
   */
  public CallRecorder(
      RecordConfig config,
      DecisionClock decisionClock,
      Journal journal,
      BatchProducer.Factory producers,
      LocalClock clock,
      MeterRegistry registry)
      throws JournalException {
    this(config, decisionClock, journal, producers, clock, RecorderThreads.none(), registry);
  }

  /** Creates a recorder that uses the given threads. */
  CallRecorder(
      RecordConfig config,
      DecisionClock decisionClock,
      Journal journal,
      BatchProducer.Factory producers,
      LocalClock clock,
      RecorderThreads threads,
      MeterRegistry registry)
      throws JournalException {
    this.config = config;
    this.decisionClock = decisionClock;
    this.journal = journal;
    this.clock = clock;
    watermark = new LowWatermark(decisionClock::nowEpochMillis);
    statistics = new RecordStatistics(journal.identity().partitions(), registry, clock);
    this.threads = threads.countingFaults(statistics.faults::increment);
    BatchSealer.Limits limits =
        new BatchSealer.Limits(config.maxBatchLines(), config.maxBatchBytes());
    BatchSealer.beginEpoch(journal, limits, clock);
    for (int partition = 0; partition < statistics.partitions(); partition++) {
      buffers.add(recover(partition));
    }
    statistics.watchPending(this::oldestPendingNanos);
    connector = new ProducerConnector(producers, this.threads, clock);
    sealer =
        new BatchSealer(
            journal, buffers, watermark, limits, config.linger().toNanos(), statistics, clock);
    sender =
        new BatchSender(journal, buffers, sealer, statistics, connector, threads.wakeUp(), clock);
    commit =
        new GroupCommit(
            config, journal, buffers, limits, statistics, this.threads, () -> isIdle, clock);
    // Two passes per linger time. So a line waits at most 1.5 times the linger time.
    tickNanos = Math.min(config.linger().toNanos(), config.heartbeatInterval().toNanos()) / 2;
    heartbeatNanos = config.heartbeatInterval().toNanos();
    nextHeartbeatNanos = clock.nowNanos();
    nextTrimNanos = nextHeartbeatNanos + TRIM_NANOS;
    failurePace = new LogPace(clock.nanos(), LOG_NANOS);
    backlogPace = new LogPace(clock.nanos(), LOG_NANOS);
  }

  private PartitionBuffer recover(int partition) throws JournalException {
    Journal.Recovered recovered = journal.recover(partition);
    for (BatchManifest manifest : recovered.sealed()) {
      statistics.found(manifest.count(), manifest.bytes());
    }
    for (Chunk chunk : recovered.unsealed()) {
      statistics.found(chunk.count(), chunk.lines().length);
    }
    return new PartitionBuffer(partition, journal.identity().epoch(), recovered, clock.nowNanos());
  }

  // -- callers

  /** See {@link CallLog#nowEpochMillis}. */
  public long nowEpochMillis() {
    return decisionClock.nowEpochMillis();
  }

  /** See {@link CallLog#begin}. */
  public Ticket begin() {
    long held = watermark.begin();
    // After a clock step the watermark may be ahead of the clock. The call still gets the clock's
    // time, so it is only late. With a time in the future it would never be counted.
    long begun = Math.min(held, decisionClock.nowEpochMillis());
    // Read {@code closing} after counting the call. Then either close() waits for the call, or
    // this method sees that the log is closing.
    if (closing) {
      watermark.end(held);
      return new LowWatermark.HeldTicket(watermark, held, begun, false);
    }
    return new LowWatermark.HeldTicket(watermark, held, begun, true);
  }

  /** See {@link CallLog#submit(Ticket, List)}. */
  public CompletableFuture<List<Recorded>> submit(Ticket ticket, List<CallEvent> calls) {
    return submit(ticket, calls, null);
  }

  /** See {@link CallLog#submit(Ticket, List, Runnable)}; the recording thread runs the action. */
  public CompletableFuture<List<Recorded>> submit(
      Ticket ticket, List<CallEvent> calls, @Nullable Runnable whenAcked) {
    if (!(ticket instanceof LowWatermark.HeldTicket held) || !held.isOf(watermark)) {
      throw new IllegalArgumentException("the ticket belongs to another log: " + ticket);
    }
    held.use();
    if (calls.isEmpty() || calls.size() > CallLog.MAX_CALLS || !held.isAdmitted()) {
      held.end();
      if (calls.size() > CallLog.MAX_CALLS) {
        throw new IllegalArgumentException(
            "a ticket must have at most " + CallLog.MAX_CALLS + " calls, but has " + calls.size());
      }
      return CompletableFuture.completedFuture(
          refuse(Recorded.Reason.CLOSING, "the node is stopping", calls.size()));
    }
    Append append;
    try {
      append = append(held, calls, whenAcked);
    } catch (RuntimeException | Error failed) {
      held.end();
      throw failed;
    }
    if (append.longestLineBytesAtMost() > MAX_LINE_BYTES) {
      held.end();
      return CompletableFuture.completedFuture(
          refuse(
              Recorded.Reason.WRITE_FAILED,
              "a line must have at most "
                  + MAX_LINE_BYTES
                  + " bytes, but may need "
                  + append.longestLineBytesAtMost(),
              calls.size()));
    }
    CompletableFuture<List<Recorded>> recorded =
        append.outcome().thenApply(outcome -> recorded(append, outcome));
    commit.commit(append);
    return recorded;
  }

  private List<Recorded> recorded(Append append, Append.Outcome outcome) {
    return outcome instanceof Append.NotKept failure
        ? notKept(failure, append.count())
        : durable(append);
  }

  private Append append(
      LowWatermark.HeldTicket ticket, List<CallEvent> calls, @Nullable Runnable whenAcked) {
    int[] partitions = new int[calls.size()];
    for (int i = 0; i < partitions.length; i++) {
      CallEvent call = calls.get(i);
      partitions[i] = ClientPartitioner.partition(call.client(), buffers.size());
      if (call.decidedBy() == DecidedBy.CACHE && call.settlement() == null) {
        decisionClock.observe(call.decidedAtEpochMillis());
      }
    }
    return new Append(ticket, partitions, calls, whenAcked);
  }

  private List<Recorded> notKept(Append.NotKept failure, int calls) {
    if (failure.reason() == Recorded.Reason.FULL
        && config.whenFull() == RecordConfig.WhenFull.DROP) {
      statistics.droppedCalls.increment(calls);
      return Collections.nCopies(calls, new Recorded.Dropped());
    }
    return refuse(failure.reason(), failure.detail(), calls);
  }

  private List<Recorded> refuse(Recorded.Reason reason, String detail, int calls) {
    statistics.refusedCalls(reason).increment(calls);
    return Collections.nCopies(calls, new Recorded.Refused(reason, detail));
  }

  private List<Recorded> durable(Append append) {
    Durability durability = config.durability();
    JournalIdentity identity = journal.identity();
    Recorded[] recorded = new Recorded[append.count()];
    for (int i = 0; i < recorded.length; i++) {
      recorded[i] =
          new Recorded.Durable(
              durability,
              new UsagePosition(
                  append.partition(i), identity.node(), identity.epoch(), append.lineNumber(i)));
    }
    return List.of(recorded);
  }

  // -- the recording thread

  /**
   * Makes one pass: processes the results from Kafka, seals and sends the due batches, sends due
   * heartbeats, and frees space in the journal. Does not wait for results.
   *
   * @return the pause until the next pass, in nanoseconds; {@link RecorderThreads#wakeUp} may
   *     shorten it
   */
  public long runOnce() {
    return runOnce(closing);
  }

  /**
   * Makes one pass. With {@code draining} all pending lines are due, because no further line can
   * follow.
   */
  long runOnce(boolean draining) {
    isIdle = false;
    try {
      if (isProducerSuspect) {
        isProducerSuspect = false;
        sender.replaceProducer("after a fault");
      }
      boolean unused = connector.connect(); // connect even in a pass that fails below
      sender.processResults();
      JournalException unsealed = seal(draining);
      sender.sendBatches();
      long nowNanos = clock.nowNanos();
      if (nowNanos - nextHeartbeatNanos >= 0 && connector.connect()) {
        nextHeartbeatNanos = nowNanos + heartbeatNanos;
        sender.sendHeartbeats(watermark.advance(), false);
        isRegistering = true;
      } else if (isRegistering && connector.connect() && !sender.isHeartbeatInFlight()) {
        isRegistered = true;
      }
      if (nowNanos - nextTrimNanos >= 0) {
        nextTrimNanos = nowNanos + TRIM_NANOS;
        journal.trim();
      }
      reportBacklog(draining, nowNanos);
      if (unsealed != null) {
        throw unsealed;
      }
      return draining ? tickNanos : pauseNanos(nowNanos);
    } catch (JournalException broken) {
      if (failurePace.isDue()) {
        LOG.error("journal_failed detail=\"{}\"; Weir retries", broken.getMessage(), broken);
      }
      return FAILURE_NANOS;
    } catch (RuntimeException | Error fault) {
      // results of batches in flight may be lost, so the next pass abandons the batches and sends
      // them again
      isProducerSuspect = true;
      threads.faults().handle("the record loop", fault);
      return FAILURE_NANOS;
    }
  }

  /**
   * Seals the due lines. Returns a failure instead of throwing it, because earlier batches must
   * still be sent.
   */
  private @Nullable JournalException seal(boolean draining) {
    try {
      sealer.seal(draining);
      return null;
    } catch (JournalException failure) {
      return failure;
    }
  }

  private long pauseNanos(long nowNanos) {
    // Set the flag before reading the buffers. If the writer appends a line at the same time,
    // either this method sees the line, or the writer sees the flag and wakes the recording thread.
    isIdle = true;
    if (isRegistered && connector.connect() && !sender.isHeartbeatInFlight() && isDrained()) {
      return Math.max(tickNanos, Math.min(nextHeartbeatNanos - nowNanos, nextTrimNanos - nowNanos));
    }
    isIdle = false;
    return tickNanos;
  }

  private long oldestPendingNanos() {
    long nowNanos = clock.nowNanos();
    long oldestNanos = 0;
    for (PartitionBuffer buffer : buffers) {
      oldestNanos = Math.max(oldestNanos, buffer.oldestPendingNanos(nowNanos));
    }
    return oldestNanos;
  }

  private void reportBacklog(boolean draining, long nowNanos) {
    long oldestNanos = 0;
    for (PartitionBuffer buffer : buffers) {
      oldestNanos = Math.max(oldestNanos, buffer.oldestUnackedNanos(nowNanos));
    }
    statistics.oldestUnacked(oldestNanos, nowNanos);
    if ((draining || oldestNanos > BACKLOG_NANOS) && backlogPace.isDue()) {
      LOG.info(
          "{} held_lines={} held_bytes={} oldest_ms={}",
          draining ? "draining" : "backlog",
          statistics.heldLines(),
          statistics.journalBytes(),
          statistics.oldestUnackedMillis());
    }
  }

  /** Returns whether Kafka has acknowledged a first heartbeat of every idle partition. */
  public boolean isRegistered() {
    return isRegistered;
  }

  /** Returns whether Kafka has acknowledged every appended line. */
  public boolean isDrained() {
    return buffers.stream().allMatch(PartitionBuffer::isDrained);
  }

  /** Sends the final heartbeat to the drained partitions that have no heartbeat in flight. */
  public void sendFinalHeartbeats() {
    sender.sendHeartbeats(watermark.advance(), true);
  }

  /** Processes the results from Kafka, and returns whether no heartbeat is in flight. */
  boolean areHeartbeatsAnswered() throws JournalException {
    sender.processResults();
    return !sender.isHeartbeatInFlight();
  }

  /** Frees the space of acknowledged lines in the journal. */
  void trim() {
    try {
      journal.trim();
    } catch (JournalException broken) {
      LOG.warn("journal_not_trimmed detail=\"{}\"", broken.getMessage());
    }
  }

  /** Returns the normal pause between two passes, in nanoseconds. */
  long tickNanos() {
    return tickNanos;
  }

  // -- any thread

  /** Refuses calls that begin from now on. From the next pass all pending lines are due. */
  public void beginClosing() {
    closing = true;
  }

  boolean isClosing() {
    return closing;
  }

  RecordStatistics statistics() {
    return statistics;
  }

  /** Returns the number of calls in progress; approximate while calls begin and end. */
  int countInProgress() {
    return watermark.countInProgress();
  }

  GroupCommit commit() {
    return commit;
  }

  ProducerConnector connector() {
    return connector;
  }
}
