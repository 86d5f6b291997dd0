// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.ingest.clock.LocalClock;
import io.weir.ingest.gate.CallLog;
import io.weir.ingest.gate.Durability;
import io.weir.ingest.gate.Recorded;
import io.weir.ingest.gate.Ticket;
import io.weir.ingest.record.journal.Journal;
import io.weir.ingest.record.journal.JournalException;
import io.weir.ingest.record.journal.JournalIdentity;
import io.weir.topics.model.CallEvent;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The call log that sends calls to Kafka. The log consists of a {@link CallRecorder} and the
 * recording thread. Thread-safe.
 */
public final class KafkaCallLog implements CallLog {
  /** Maximum time that a start waits until Kafka has acknowledged the first heartbeats. */
  private static final Duration REGISTRATION_TIMEOUT = Duration.ofSeconds(5);

  private static final long POLL_NANOS = 2_000_000;

  private static final Logger LOG = LoggerFactory.getLogger(KafkaCallLog.class);

  private final RecordConfig config;
  private final LocalClock localClock = LocalClock.ofSystem();
  private final Journal journal;
  private final RecentFault fault;
  private final CallRecorder recorder;

  /**
   * The recording thread. A {@link io.weir.topics.process.SupervisedThread} is unsuitable, because
   * a stop interrupts or abandons such a thread, but the recording thread must still send the
   * pending lines. {@link CallRecorder#runOnce()} itself recovers from failures.
   */
  private final Thread thread = new Thread(this::run, "weir-record");

  /**
   * The thread that writes the journal. A separate thread ensures that a stalled disk delays no
   * other work.
   */
  private final ExecutorService writer =
      Executors.newSingleThreadExecutor(KafkaCallLog::writerThread);

  private final CountDownLatch registered = new CountDownLatch(1);

  private volatile boolean draining;
  private volatile long drainDeadlineNanos;

  /** The reason why the recording thread ended before a stop; empty if this has not happened. */
  private volatile String threadFailure = "";

  /**
   * Creates a log that uses a journal, and starts the recording thread. {@link #close} closes the
   * journal.
   */
  KafkaCallLog(
      RecordConfig config,
      DecisionClock clock,
      Journal journal,
      BatchProducer.Factory producers,
      MeterRegistry registry)
      throws JournalException {
    this.config = config;
    this.fault = new RecentFault(localClock, config.failureStands());
    this.journal = journal;
    recorder = new CallRecorder(config, clock, journal, producers, localClock, threads(), registry);
    thread.start();
  }

  /** Opens a call log that may create its journal and does not export metrics. */
  public static KafkaCallLog open(RecordConfig config, DecisionClock clock) {
    return open(config, clock, () -> "", new SimpleMeterRegistry());
  }

  /**
   * Opens the call log. If the journal does not exist and {@code objection} returns a reason, the
   * start fails and creates no journal. Waits for some seconds at most until Kafka has acknowledged
   * the first heartbeats. Requires Kafka only if the journal does not exist.
   *
   * @param clock receives the time of every decision of the cache; may be shared
   * @param objection returns the reason why a new journal must not be created, or the empty string;
   *     called after Kafka has described the topic
   * @param registry receives the metrics of the log and of its Kafka producer
   * @throws CallLogStartException if the folder or the topic does not meet the requirements
   */
  public static KafkaCallLog open(
      RecordConfig config,
      DecisionClock clock,
      Supplier<String> objection,
      MeterRegistry registry) {
    Journal journal = openJournal(config, objection);
    try {
      JournalIdentity identity = journal.identity();
      if (!identity.node().equals(config.node())) {
        throw new CallLogStartException(
            "the journal in "
                + config.journalFolder()
                + " belongs to the node '"
                + identity.node()
                + "', but WEIR_NODE is '"
                + config.node()
                + "'; change WEIR_NODE, or set WEIR_DATA to another folder");
      }
      CallsTopic.Description topic = CallsTopic.describe(config);
      CallsTopic.requireSamePartitions(config, topic, identity.partitions());
      KafkaCallLog log =
          new KafkaCallLog(
              config,
              clock,
              journal,
              () -> KafkaBatchProducer.open(config, identity.partitions(), registry),
              registry);
      if (topic instanceof CallsTopic.Known) {
        log.awaitRegistration();
      }
      LOG.info(
          "call_log_open node={} epoch={} partitions={} durability={} found_lines={}",
          identity.node(),
          identity.epoch(),
          identity.partitions(),
          config.durability().wireName(),
          (long) log.statistics().foundLines.count());
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

  private static Journal openJournal(RecordConfig config, Supplier<String> objection) {
    Supplier<JournalIdentity> fresh = () -> freshIdentity(config, objection);
    if (config.durability() == Durability.ACKED) {
      return Journal.inMemory(fresh.get());
    }
    try {
      return Journal.open(config.journalFolder(), config.fsync(), fresh);
    } catch (JournalException failure) {
      throw failure.getCause() instanceof CallLogStartException refused
          ? refused
          : new CallLogStartException(String.valueOf(failure.getMessage()), failure);
    }
  }

  private static JournalIdentity freshIdentity(RecordConfig config, Supplier<String> objection) {
    int partitions = CallsTopic.awaitPartitions(config);
    String refusal = objection.get();
    if (!refusal.isEmpty()) {
      throw new CallLogStartException(refusal);
    }
    return new JournalIdentity(config.node(), LocalClock.ofSystem().nowEpochMillis(), partitions);
  }

  private RecorderThreads threads() {
    return new RecorderThreads(
        KafkaCallLog::runInBackground, () -> LockSupport.unpark(thread), writer, fault);
  }

  private static Thread writerThread(Runnable work) {
    Thread thread = new Thread(work, "weir-journal");
    thread.setDaemon(true);
    return thread;
  }

  private static void runInBackground(Runnable opening) {
    Thread background = new Thread(opening, "weir-kafka-connect");
    background.setDaemon(true);
    background.start();
  }

  /** Waits until Kafka has acknowledged a first heartbeat of every idle partition. */
  private void awaitRegistration() throws InterruptedException {
    if (!registered.await(REGISTRATION_TIMEOUT.toNanos(), TimeUnit.NANOSECONDS)) {
      LOG.warn("first_heartbeats_pending waited_ms={}", REGISTRATION_TIMEOUT.toMillis());
    }
  }

  /** Returns the metrics of this log. */
  public RecordStatistics statistics() {
    return recorder.statistics();
  }

  @Override
  public long nowEpochMillis() {
    return recorder.nowEpochMillis();
  }

  @Override
  public Ticket begin() {
    return recorder.begin();
  }

  @Override
  public CompletableFuture<List<Recorded>> submit(Ticket ticket, List<CallEvent> calls) {
    return recorder.submit(ticket, calls);
  }

  @Override
  public CompletableFuture<List<Recorded>> submit(
      Ticket ticket, List<CallEvent> calls, @Nullable Runnable whenAcked) {
    return recorder.submit(ticket, calls, whenAcked);
  }

  @Override
  public Health check() {
    if (recorder.isClosing()) {
      return new Health(false, "the node is stopping");
    }
    if (!threadFailure.isEmpty()) {
      return new Health(false, threadFailure);
    }
    if (!fault.recent().isEmpty()) {
      return new Health(false, fault.recent());
    }
    String writeFailure = recorder.commit().writeFailure();
    if (!writeFailure.isEmpty()) {
      return new Health(false, writeFailure);
    }
    ProducerConnector connector = recorder.connector();
    if (connector.isRefused()) {
      return new Health(false, connector.detail());
    }
    RecordStatistics statistics = statistics();
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
      if (recorder.isClosing()) {
        return;
      }
      recorder.beginClosing();
    }
    try {
      awaitCallsInProgress();
      if (!recorder.commit().close(config.callsTimeout())) {
        LOG.warn("journal_write_stalled; unsent calls stay in the journal");
        return; // the stalled write still uses the journal
      }
      drainDeadlineNanos = localClock.nowNanos() + config.drainTimeout().toNanos();
      draining = true;
      LockSupport.unpark(thread);
      thread.join();
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      LOG.warn("close_interrupted; unsent calls stay in the journal");
      return; // the thread still runs and uses the journal
    }
    writer.shutdown();
    journal.close();
  }

  private void awaitCallsInProgress() {
    long deadlineNanos = localClock.nowNanos() + config.callsTimeout().toNanos();
    while (recorder.countInProgress() > 0 && localClock.nowNanos() - deadlineNanos < 0) {
      LockSupport.parkNanos(this, POLL_NANOS);
    }
  }

  // -- the recording thread

  private void run() {
    try {
      while (!isOver()) {
        long pauseNanos = recorder.runOnce(draining);
        if (registered.getCount() > 0 && recorder.isRegistered()) {
          registered.countDown();
        }
        if (!isOver()) {
          LockSupport.parkNanos(this, pauseNanos);
        }
      }
      depart();
    } catch (RuntimeException | Error broken) {
      threadFailure = "the record loop stopped: " + broken;
      LOG.error("record_loop_stopped; calls are journaled but not sent until a restart", broken);
    } finally {
      recorder.connector().close();
    }
  }

  private boolean isOver() {
    return draining && (recorder.isDrained() || localClock.nowNanos() - drainDeadlineNanos >= 0);
  }

  private void depart() {
    long deadlineNanos = localClock.nowNanos() + config.finalHeartbeatTimeout().toNanos();
    // wait for the heartbeats in flight first, because a partition has at most one in flight
    awaitHeartbeats(deadlineNanos);
    recorder.sendFinalHeartbeats();
    awaitHeartbeats(deadlineNanos);
    recorder.trim();
    if (recorder.isDrained()) {
      LOG.info("drained");
    } else {
      LOG.warn(
          "not_drained held_lines={} held_bytes={}; if the journal is on disk, the next process "
              + "that opens it sends the calls",
          statistics().heldLines(),
          statistics().journalBytes());
    }
  }

  private void awaitHeartbeats(long deadlineNanos) {
    try {
      while (!recorder.areHeartbeatsAnswered() && localClock.nowNanos() - deadlineNanos < 0) {
        LockSupport.parkNanos(this, recorder.tickNanos());
      }
    } catch (JournalException broken) {
      LOG.warn("journal_failed detail=\"{}\"", broken.getMessage());
    }
  }

  /**
   * Logs unexpected exceptions, and keeps the last exception for some time for the health check.
   * Thread-safe.
   */
  static final class RecentFault implements RecorderThreads.FaultHandler {
    private final LocalClock clock;
    private final long standsNanos;
    private volatile Fault last;

    private record Fault(String text, long nanos) {}

    /**
     * Creates a handler that has received no exception.
     *
     * @param stands time for which an exception makes the log unhealthy
     */
    RecentFault(LocalClock clock, Duration stands) {
      this.clock = clock;
      this.standsNanos = stands.toNanos();
      this.last = new Fault("", clock.nowNanos());
    }

    @Override
    public void handle(String part, Throwable fault) {
      boolean repeated = !recent().isEmpty();
      last = new Fault(part + " failed: " + fault, clock.nowNanos());
      if (repeated) {
        LOG.debug("record_fault part={}", part, fault);
      } else {
        LOG.error("record_fault part={}; the part restarts", part, fault);
      }
    }

    /** Returns the last exception as text, or the empty string if there was no recent exception. */
    String recent() {
      Fault fault = last;
      return clock.nowNanos() - fault.nanos < standsNanos ? fault.text : "";
    }
  }
}
