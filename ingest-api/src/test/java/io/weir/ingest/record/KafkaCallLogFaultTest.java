// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.ingest.clock.LocalClock;
import io.weir.ingest.gate.Recorded;
import io.weir.ingest.record.journal.Chunk;
import io.weir.ingest.record.journal.ForwardingJournal;
import io.weir.ingest.record.journal.Journal;
import io.weir.ingest.record.journal.JournalException;
import io.weir.ingest.record.journal.JournalIdentity;
import io.weir.testing.Await;
import io.weir.topics.calls.CallBatchReader;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.model.CallEvent;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Recording threads survive unexpected exceptions, answer all waiting callers, and report the
 * fault.
 */
final class KafkaCallLogFaultTest {
  private static final JournalIdentity IDENTITY = new JournalIdentity("n1", 1_000, 1);

  private final FailingJournal journal = new FailingJournal(Journal.inMemory(IDENTITY));
  private final List<HeldProducer> producers = new ArrayList<>();
  private final AtomicInteger throwingSends = new AtomicInteger();
  private final AtomicInteger throwingOpens = new AtomicInteger();
  private @Nullable KafkaCallLog log;

  @AfterEach
  void close() {
    if (log != null) {
      log.close();
    }
  }

  /** Regression: a stop waited for the disk without end. */
  @Test
  void close_writeDoesNotEnd_isBounded_andLeavesTheJournalOpen() throws Exception {
    CountDownLatch writing = new CountDownLatch(1);
    CountDownLatch letGo = new CountDownLatch(1);
    AtomicBoolean isClosed = new AtomicBoolean();
    Journal stalled =
        new ForwardingJournal(Journal.inMemory(IDENTITY)) {
          @Override
          public void append(List<Chunk> chunks) throws JournalException {
            writing.countDown();
            try {
              letGo.await();
            } catch (InterruptedException stopping) {
              Thread.currentThread().interrupt();
            }
            super.append(chunks);
          }

          @Override
          public void close() {
            isClosed.set(true);
            super.close();
          }
        };
    KafkaCallLog opened =
        new KafkaCallLog(
            RecordConfig.builder("n1", KafkaConnection.to("nowhere:1"), Path.of("unused"))
                .callsTimeout(Duration.ofMillis(100))
                .build(),
            DecisionClock.ofSystem(),
            stalled,
            DiscardingProducer::new,
            new SimpleMeterRegistry());
    CompletableFuture<List<Recorded>> recorded =
        opened.submit(opened.begin(), List.of(TestCalls.call("id", "acme", 1)));
    writing.await();
    try {
      opened.close();

      assertFalse(recorded.isDone());
      assertFalse(isClosed.get(), "a write of it is in progress");
    } finally {
      letGo.countDown();
    }
    assertInstanceOf(
        Recorded.Durable.class,
        recorded.get(Await.TIMEOUT.toMillis(), TimeUnit.MILLISECONDS).get(0));
  }

  @Test
  void journalAppendThrows_allCallersAreRefused_andTheNextCallIsKept() throws Exception {
    KafkaCallLog opened = open();
    int callers = 8;
    journal.failsInAppend.set(1_000);

    List<CompletableFuture<Recorded>> answers = new ArrayList<>();
    for (int i = 0; i < callers; i++) {
      answers.add(CompletableFuture.supplyAsync(() -> record(opened, "refused")));
    }
    for (CompletableFuture<Recorded> one : answers) {
      Recorded.Refused refused =
          assertInstanceOf(
              Recorded.Refused.class, one.get(Await.TIMEOUT.toMillis(), TimeUnit.MILLISECONDS));
      assertEquals(Recorded.Reason.WRITE_FAILED, refused.reason());
    }
    Await.until("the fault is counted", () -> opened.statistics().faults.count() > 0);
    assertFalse(opened.check().ok());
    assertTrue(opened.check().detail().contains("nothing expected this"), opened::toString);

    journal.failsInAppend.set(0);
    assertInstanceOf(Recorded.Durable.class, record(opened, "kept"));
    Await.until("Kafka has it", () -> opened.statistics().ackedLines.count() == 1);
    long now = System.currentTimeMillis();
    Await.until("no ticket holds the low watermark", () -> newestWatermark() >= now);
  }

  @Test
  void encodingThrows_callerIsRefused_andTheNextBatchHasOnlyTheNextCall() throws Exception {
    KafkaCallLog opened = open();
    CallEvent good = TestCalls.call("good", "acme", System.currentTimeMillis());

    List<Recorded> refused = opened.record(opened.begin(), List.of(good, unencodable()));

    for (Recorded one : refused) {
      assertEquals(
          Recorded.Reason.WRITE_FAILED, assertInstanceOf(Recorded.Refused.class, one).reason());
    }
    Await.until("the fault is counted", () -> opened.statistics().faults.count() > 0);
    assertFalse(opened.check().ok());
    CallEvent next = TestCalls.call("next", "acme", System.currentTimeMillis());
    Recorded.Durable kept =
        assertInstanceOf(Recorded.Durable.class, opened.record(opened.begin(), next));
    assertEquals(1, kept.position().line());
    Await.until("Kafka has it", () -> opened.statistics().ackedLines.count() == 1);
    HeldProducer.Sent batch = producer(0).batches().get(0);
    assertEquals(List.of(next), CallBatchReader.decode(batch.lines()));
    Await.until("no byte is held", () -> opened.statistics().journalBytes() == 0);
  }

  /** Returns a call whose encoding throws an exception after the encoder has added some members. */
  @SuppressWarnings("NullAway") // violates the contract on purpose
  private static CallEvent unencodable() {
    return new CallEvent(
        "bad",
        false,
        "acme",
        "GET /v1/items",
        "calls",
        1,
        true,
        null,
        null,
        7,
        System.currentTimeMillis(),
        null,
        List.of());
  }

  @Test
  void sealingThrows_theRecordLoopGoesOn() throws Exception {
    KafkaCallLog opened = open();
    Await.until("introduced", () -> newestWatermark() > 0);
    assertInstanceOf(Recorded.Durable.class, recordAndFailToSeal(opened));

    Await.until("Kafka has it", () -> opened.statistics().ackedLines.count() == 1);
    assertEquals(2, opened.statistics().faults.count());
    assertFalse(opened.check().ok(), "reported for a while");
  }

  @Test
  void sendingThrows_batchesInFlightAreSentAgainByANewProducer() throws Exception {
    throwingSends.set(2);
    KafkaCallLog opened = open();

    assertInstanceOf(Recorded.Durable.class, record(opened, "a"));

    Await.until("Kafka has it", () -> opened.statistics().ackedLines.count() == 1);
    assertEquals(2, opened.statistics().faults.count());
    assertTrue(opened.check().detail().contains("the client throws"), opened::toString);
    assertTrue(producer(0).isClosed());
  }

  @Test
  void connectingThrows_isRetried() throws Exception {
    throwingOpens.set(1);
    KafkaCallLog opened = open();

    assertInstanceOf(Recorded.Durable.class, record(opened, "a"));

    Await.until("Kafka has it", () -> opened.statistics().ackedLines.count() == 1);
    assertEquals(1, opened.statistics().faults.count());
  }

  @Test
  void fault_isReportedForAWhile() {
    AtomicLong nanos = new AtomicLong();
    KafkaCallLog.RecentFault faults =
        new KafkaCallLog.RecentFault(new LocalClock(nanos::get, () -> 0), Duration.ofSeconds(10));
    assertEquals("", faults.recent());

    faults.handle("a part", new IllegalStateException("why"));
    assertTrue(faults.recent().contains("a part failed"), faults::recent);

    nanos.addAndGet(Duration.ofSeconds(10).toNanos() - 1);
    assertTrue(faults.recent().contains("a part failed"), faults::recent);
    nanos.incrementAndGet();
    assertEquals("", faults.recent());
  }

  private KafkaCallLog open() throws Exception {
    RecordConfig config =
        RecordConfig.builder("n1", KafkaConnection.to("unused:9092"), Path.of("unused"))
            .linger(Duration.ofMillis(5))
            .heartbeatInterval(Duration.ofMillis(20))
            .ackTimeout(Await.TIMEOUT)
            .drainTimeout(Duration.ofMillis(20))
            .failureStands(Await.TIMEOUT)
            .build();
    KafkaCallLog opened =
        new KafkaCallLog(
            config,
            DecisionClock.ofSystem(),
            journal,
            this::openProducer,
            new SimpleMeterRegistry());
    log = opened;
    return opened;
  }

  private synchronized BatchProducer openProducer() {
    if (throwingOpens.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
      throw new IllegalStateException("the client throws");
    }
    HeldProducer producer = HeldProducer.open();
    producers.add(producer);
    return new ThrowingProducer(producer, throwingSends);
  }

  private synchronized HeldProducer producer(int number) {
    return producers.get(number);
  }

  private synchronized long newestWatermark() {
    return producers.stream()
        .flatMap(producer -> producer.heartbeats().stream())
        .mapToLong(sent -> sent.header().lowWatermarkEpochMillis())
        .max()
        .orElse(0);
  }

  private static Recorded record(KafkaCallLog log, String id) {
    return log.record(log.begin(), TestCalls.call(id, "acme", System.currentTimeMillis()));
  }

  /** The call is kept; then the next two writes, which are those of the recording thread, fail. */
  private Recorded recordAndFailToSeal(KafkaCallLog opened) {
    journal.failsInSeal.set(2);
    return record(opened, "a");
  }
}
