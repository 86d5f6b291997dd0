// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

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
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The call log whose calls end up in Kafka: a {@link RecordingEngine}, and the one thread that
 * takes its turns ({@link RecordLoop}).
 */
public final class KafkaCallLog implements CallLog {
  /** How long a stop waits for calls under way; longer than a request may take. */
  private static final Duration TICKET_PATIENCE = Duration.ofSeconds(5);

  /** How long a start waits for Kafka to know the node. */
  private static final Duration INTRODUCTION_PATIENCE = Duration.ofSeconds(5);

  private static final long POLL_NANOS = 2_000_000;

  /** The first JVM whose virtual threads are final. */
  private static final int VIRTUAL_THREADS_SINCE = 21;

  private static final Logger LOG = LoggerFactory.getLogger(KafkaCallLog.class);

  private final RecordConfig config;
  private final LocalClock localClock = LocalClock.ofSystem();
  private final Journal journal;
  private final RecordFaults faults = new RecordFaults(localClock);
  private final RecordingEngine engine;
  private final RecordLoop loop;

  /** Puts the parts together over a journal and starts; the journal is closed with the log. */
  KafkaCallLog(RecordConfig config, DecisionClock clock, Journal journal, Outlet.Factory outlets)
      throws JournalException {
    this.config = config;
    this.journal = withoutCarriers(journal);
    engine = new RecordingEngine(config, clock, this.journal, outlets, localClock, threads());
    loop = new RecordLoop(engine, localClock);
    loop.start();
  }

  /** Callers are on virtual threads where there are such; the disk must not hold their carriers. */
  private static Journal withoutCarriers(Journal journal) {
    return Runtime.version().feature() >= VIRTUAL_THREADS_SINCE
        ? Journal.onPlatformThread(journal)
        : journal;
  }

  /**
   * Opens the call log; blocks until Kafka knows the node, or for some seconds. Needs Kafka only
   * when there is no journal yet.
   *
   * @param clock told of every decision of the cache; may be told of more by others
   * @throws CallLogStartException when the folder or the topic cannot be used
   */
  public static KafkaCallLog open(RecordConfig config, DecisionClock clock) {
    return open(config, clock, () -> "");
  }

  /**
   * The same, unless something speaks against a journal that is made anew: a start that is refused
   * then leaves none.
   *
   * @param objection asked when Kafka has told of the topic; empty when nothing does
   */
  public static KafkaCallLog open(
      RecordConfig config, DecisionClock clock, Supplier<String> objection) {
    Journal journal = openJournal(config, objection);
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
                + "': set WEIR_NODE to that name, or WEIR_DATA to a folder of its own");
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
          log.statistics().foundLines());
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
    if (config.durability() == Durability.ACKED) {
      return Journal.inMemory(identity(config, objection));
    }
    try {
      return Journal.open(
          config.journalFolder(), config.fsync(), () -> identity(config, objection));
    } catch (JournalException failure) {
      throw failure.getCause() instanceof CallLogStartException refused
          ? refused
          : new CallLogStartException(String.valueOf(failure.getMessage()), failure);
    }
  }

  private static JournalIdentity identity(RecordConfig config, Supplier<String> objection) {
    int partitions = CallsTopic.awaitPartitions(config);
    String refusal = objection.get();
    if (!refusal.isEmpty()) {
      throw new CallLogStartException(refusal);
    }
    return new JournalIdentity(config.node(), LocalClock.ofSystem().nowEpochMillis(), partitions);
  }

  @SuppressWarnings("ThreadPriorityCheck") // the yield is about speed only, docs/decisions/0003
  private EngineThreads threads() {
    return new EngineThreads(KafkaCallLog::openBeside, () -> loop.wake(), Thread::yield, faults);
  }

  private static void openBeside(Runnable opening) {
    Thread thread = new Thread(opening, "weir-kafka-connect");
    thread.setDaemon(true);
    thread.start();
  }

  /** What the log has done, and what it holds. */
  public RecordStatistics statistics() {
    return engine.statistics();
  }

  @Override
  public Ticket begin() {
    return engine.begin();
  }

  @Override
  public List<Recorded> record(Ticket ticket, List<CallEvent> calls) {
    return engine.record(ticket, calls);
  }

  @Override
  public Health check() {
    if (engine.isClosing()) {
      return new Health(false, "the node is stopping");
    }
    if (!loop.failure().isEmpty()) {
      return new Health(false, loop.failure());
    }
    if (!faults.recent().isEmpty()) {
      return new Health(false, faults.recent());
    }
    String writeFailure = engine.commit().writeFailure();
    if (!writeFailure.isEmpty()) {
      return new Health(false, writeFailure);
    }
    OutletConnector connector = engine.connector();
    if (connector.isRefused()) {
      return new Health(false, connector.detail());
    }
    RecordStatistics statistics = engine.statistics();
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
      if (engine.isClosing()) {
        return;
      }
      engine.beginClosing();
    }
    try {
      awaitTickets();
      engine.commit().close();
      loop.stop(config.drainTimeout());
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      LOG.warn("close_interrupted; what is held stays in the journal");
      return; // the loop still runs and uses the journal
    }
    journal.close();
  }

  private void awaitTickets() {
    long deadlineNanos = localClock.nowNanos() + TICKET_PATIENCE.toNanos();
    while (engine.countUnderWay() > 0 && localClock.nowNanos() - deadlineNanos < 0) {
      LockSupport.parkNanos(this, POLL_NANOS);
    }
  }
}
