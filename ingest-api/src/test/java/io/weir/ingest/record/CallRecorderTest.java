// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.ingest.clock.LocalClock;
import io.weir.ingest.gate.Recorded;
import io.weir.ingest.gate.Ticket;
import io.weir.ingest.record.journal.Chunk;
import io.weir.ingest.record.journal.ForwardingJournal;
import io.weir.ingest.record.journal.Journal;
import io.weir.ingest.record.journal.JournalException;
import io.weir.ingest.record.journal.JournalIdentity;
import io.weir.topics.kafka.KafkaConnection;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** The recorder pass by pass, on clocks of the test. */
final class CallRecorderTest {
  private static final Duration HEARTBEAT = Duration.ofMillis(900);
  private static final Duration LINGER = Duration.ofMillis(20);

  private final AtomicInteger woken = new AtomicInteger();
  private final AtomicLong nanos = new AtomicLong(1);
  private final AtomicLong epochMillis = new AtomicLong();
  private final HeldProducer producer = new HeldProducer();

  @Test
  void runOnce_nothingWaits_idlesUntilTheNextHeartbeatOrACall() throws Exception {
    CallRecorder recorder = open();
    long pauseNanos = recorder.runOnce();
    while (!recorder.isRegistered()) {
      assertEquals(LINGER.toNanos() / 2, pauseNanos);
      nanos.addAndGet(pauseNanos);
      pauseNanos = recorder.runOnce();
    }
    assertTrue(pauseNanos > HEARTBEAT.toNanos() / 2, "paused " + pauseNanos);
    woken.set(0);

    record(recorder);
    assertEquals(1, woken.get());
    assertEquals(LINGER.toNanos() / 2, recorder.runOnce());
    record(recorder);
    assertEquals(1, woken.get(), "it is not idle, so it need not be woken");

    nanos.addAndGet(LINGER.toNanos());
    assertEquals(LINGER.toNanos() / 2, recorder.runOnce(), "the batch is not answered yet");
    assertEquals(1, producer.batches().size());
    producer.batches().get(0).done().accept(null);
    assertTrue(recorder.runOnce() > LINGER.toNanos());
  }

  @Test
  void begin_clockSetBack_datesCallsByTheClock_andKeepsTheLowWatermark() throws Exception {
    epochMillis.set(8_200_000);
    CallRecorder recorder = open();
    recorder.runOnce();
    long lowWatermark = producer.heartbeats().get(0).header().lowWatermarkEpochMillis();
    assertEquals(8_200_000, lowWatermark);

    epochMillis.set(1_000_000); // two hours back
    Ticket ticket = recorder.begin();

    assertEquals(1_000_000, ticket.begunAtEpochMillis());
    ticket.abandon();
    nanos.addAndGet(HEARTBEAT.toNanos());
    recorder.runOnce();
    assertEquals(lowWatermark, producer.heartbeats().get(1).header().lowWatermarkEpochMillis());
  }

  /**
   * Regression: a fault of the first pass, and of each that followed, kept it from connecting at
   * all.
   */
  @Test
  void runOnce_everySealFails_connectsAnyway() throws Exception {
    FailingJournal journal = new FailingJournal(inMemory());
    journal.failsInSeal.set(Integer.MAX_VALUE);
    List<Throwable> faults = new ArrayList<>();
    AtomicInteger openings = new AtomicInteger();
    CallRecorder recorder =
        open(
            journal,
            () -> {
              openings.incrementAndGet();
              return producer;
            },
            (part, fault) -> faults.add(fault));
    record(recorder);
    nanos.addAndGet(LINGER.toNanos());

    nanos.addAndGet(recorder.runOnce());

    assertEquals(1, faults.size());
    assertEquals(1, openings.get());
  }

  /**
   * Regression: the backlog that grows meanwhile took the turn of the line that says why it grows.
   */
  @Test
  void runOnce_sealingKeepsFailing_isLoggedRepeatedly_andTheBacklog() throws Exception {
    FailingJournal journal = new FailingJournal(inMemory());
    journal.failsToSeal = true;
    CallRecorder recorder = open(journal, () -> producer, RecorderThreads.none().faults());
    Logger logger = (Logger) LoggerFactory.getLogger(CallRecorder.class);
    ListAppender<ILoggingEvent> lines = new ListAppender<>();
    lines.start();
    logger.setLevel(Level.INFO);
    logger.addAppender(lines);
    try {
      record(recorder);
      for (int second = 0; second < 60; second++) {
        nanos.addAndGet(1_000_000_000L);
        recorder.runOnce();
      }
    } finally {
      logger.detachAppender(lines);
      logger.setLevel(null); // as its parent's
    }

    assertEquals(6, lines(lines, "journal_failed"));
    assertTrue(lines(lines, "backlog") >= 4, "of 50 s in which it is older than 10 s");
  }

  /** Regression: the age stood still with the loop, just when there was something to be seen. */
  @Test
  void ageOfTheOldestCall_grows_whileTheRecordLoopStandsStill() throws Exception {
    CallRecorder recorder = open();
    record(recorder);
    nanos.addAndGet(1_000_000L);
    recorder.runOnce();

    nanos.addAndGet(7_000_000_000L);

    assertEquals(7_001, recorder.statistics().oldestUnackedMillis());
  }

  /** Regression: it was nothing for calls that came after the loop had stopped. */
  @Test
  void ageOfTheOldestCall_grows_alsoWhenTheRecordLoopStoodStillBeforeTheCall() throws Exception {
    CallRecorder recorder = open();
    recorder.runOnce();
    assertEquals(0, recorder.statistics().oldestUnackedMillis());

    record(recorder);
    nanos.addAndGet(7_000_000_000L);

    assertEquals(7_000, recorder.statistics().oldestUnackedMillis());
  }

  /** Regression: no line was ever written again. */
  @Test
  void submit_threadOfTheWriterCannotBeStarted_isRefused_andTheNextIsTriedAgain() throws Exception {
    AtomicBoolean exhausted = new AtomicBoolean(true);
    List<Throwable> faults = new ArrayList<>();
    CallRecorder recorder =
        open(
            inMemory(),
            () -> producer,
            task -> {
              if (exhausted.get()) {
                throw new OutOfMemoryError("unable to create native thread");
              }
              task.run();
            },
            (part, fault) -> faults.add(fault));

    Recorded refused =
        recorder
            .submit(recorder.begin(), List.of(TestCalls.call("id", "acme", 1_000)))
            .join()
            .get(0);

    assertEquals(
        Recorded.Reason.WRITE_FAILED, assertInstanceOf(Recorded.Refused.class, refused).reason());
    assertEquals(1, faults.size());
    assertFalse(recorder.commit().writeFailure().isEmpty());
    assertEquals(0, recorder.countInProgress());
    exhausted.set(false);
    record(recorder);
  }

  /** Regression: a node with a stalled disk was ready. */
  @Test
  void writeFailure_writeDoesNotEnd_saysSo() throws Exception {
    List<GroupCommit> commits = new ArrayList<>();
    List<String> told = new ArrayList<>();
    Journal slow =
        new ForwardingJournal(inMemory()) {
          @Override
          public void append(List<Chunk> chunks) throws JournalException {
            told.add(commits.get(0).writeFailure());
            nanos.addAndGet(3_000_000_000L);
            told.add(commits.get(0).writeFailure());
            super.append(chunks);
          }
        };
    CallRecorder recorder = open(slow, () -> producer, RecorderThreads.none().faults());
    commits.add(recorder.commit());

    record(recorder);

    assertEquals(List.of("", "a write to the journal has been in progress for 3 s"), told);
    assertEquals("", recorder.commit().writeFailure());
  }

  private static long lines(ListAppender<ILoggingEvent> lines, String event) {
    return lines.list.stream().filter(line -> line.getFormattedMessage().startsWith(event)).count();
  }

  private static void record(CallRecorder recorder) {
    assertInstanceOf(
        Recorded.Durable.class,
        recorder
            .submit(recorder.begin(), List.of(TestCalls.call("id", "acme", 1_000)))
            .join()
            .get(0));
  }

  private static Journal inMemory() {
    return Journal.inMemory(new JournalIdentity("n1", 1_000, 1));
  }

  @Test
  void submit_withListener_runsItOnce_whenKafkaHasAllLines() throws Exception {
    CallRecorder recorder = open();
    nanos.addAndGet(recorder.runOnce());
    AtomicInteger told = new AtomicInteger();

    List<Recorded> results =
        recorder
            .submit(
                recorder.begin(),
                List.of(TestCalls.call("a", "acme", 1), TestCalls.call("b", "zenith", 1)),
                told::incrementAndGet)
            .join();

    assertInstanceOf(Recorded.Durable.class, results.get(0), "the journal has them");
    nanos.addAndGet(LINGER.toNanos());
    recorder.runOnce();
    assertEquals(0, told.get());
    producer.batches().forEach(batch -> batch.done().accept(null));
    recorder.runOnce();
    assertEquals(1, told.get());
    assertTrue(recorder.isDrained());
  }

  private CallRecorder open() throws Exception {
    return open(inMemory(), () -> producer, RecorderThreads.none().faults());
  }

  private CallRecorder open(
      Journal journal, BatchProducer.Factory producers, RecorderThreads.FaultHandler faults)
      throws Exception {
    return open(journal, producers, Runnable::run, faults);
  }

  private CallRecorder open(
      Journal journal,
      BatchProducer.Factory producers,
      Executor writer,
      RecorderThreads.FaultHandler faults)
      throws Exception {
    RecordConfig config =
        RecordConfig.builder("n1", KafkaConnection.to("unused:9092"), Path.of("unused"))
            .linger(LINGER)
            .heartbeatInterval(HEARTBEAT)
            .build();
    LocalClock clock = new LocalClock(nanos::get, epochMillis::get);
    RecorderThreads threads =
        new RecorderThreads(Runnable::run, woken::incrementAndGet, writer, faults);
    return new CallRecorder(
        config,
        new DecisionClock(clock),
        journal,
        producers,
        clock,
        threads,
        new SimpleMeterRegistry());
  }
}
