// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.ingest.clock.LocalClock;
import io.weir.ingest.gate.CallLog;
import io.weir.ingest.gate.Durability;
import io.weir.ingest.gate.Recorded;
import io.weir.ingest.gate.Ticket;
import io.weir.ingest.record.journal.Journal;
import io.weir.ingest.record.journal.JournalIdentity;
import io.weir.testing.Await;
import io.weir.topics.calls.CallBatchReader;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.UsagePosition;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The call log over an in-memory journal and a producer whose results the test controls. */
final class KafkaCallLogTest {
  private static final JournalIdentity IDENTITY = new JournalIdentity("n1", 1_000, 1);

  private final AtomicLong now = new AtomicLong(1_000_050);
  private final FailingJournal journal = new FailingJournal(Journal.inMemory(IDENTITY));
  private final HeldProducer producer = new HeldProducer();
  private final Queue<BatchProducer> producers = new ConcurrentLinkedQueue<>(List.of(producer));
  private final List<KafkaCallLog> opened = new ArrayList<>();

  @AfterEach
  void closeAll() {
    opened.forEach(KafkaCallLog::close);
  }

  private KafkaCallLog open(RecordConfig.Builder config) throws Exception {
    KafkaCallLog log =
        new KafkaCallLog(
            config.build(),
            new DecisionClock(new LocalClock(() -> now.get() * 1_000_000, now::get)),
            journal,
            HeldProducer.inOrder(producers),
            new SimpleMeterRegistry());
    opened.add(log);
    return log;
  }

  private static RecordConfig.Builder config() {
    return RecordConfig.builder("n1", KafkaConnection.to("unused:9092"), Path.of("unused"))
        .linger(Duration.ofMillis(5))
        .heartbeatInterval(Duration.ofMillis(20))
        .ackTimeout(Await.TIMEOUT)
        .drainTimeout(Duration.ofMillis(20))
        .failureStands(Await.TIMEOUT);
  }

  @Test
  void open_folderInUse_isRefusedByItsName(@TempDir Path folder) throws Exception {
    try (Journal other = Journal.open(folder, false, () -> IDENTITY)) {
      assertEquals(IDENTITY, other.identity());
      assertRefused(folder, "in use by another process");
    }
  }

  @Test
  void open_folderIsAFile_isRefusedByItsName(@TempDir Path folder) throws Exception {
    assertRefused(Files.writeString(folder.resolve("file"), "not a folder"), "cannot be opened");
  }

  private static void assertRefused(Path folder, String reason) {
    RecordConfig config =
        RecordConfig.builder("n1", KafkaConnection.to("unused:9092"), folder).build();
    CallLogStartException refused =
        assertThrows(
            CallLogStartException.class,
            () -> KafkaCallLog.open(config, DecisionClock.ofSystem()).close());
    String message = String.valueOf(refused.getMessage());
    assertTrue(message.contains(folder.toString()) && message.contains(reason), message);
  }

  private CallEvent call(String id) {
    return TestCalls.call(id, "acme", now.get());
  }

  private static long line(Recorded recorded) {
    return assertInstanceOf(Recorded.Durable.class, recorded).position().line();
  }

  @Test
  void record_severalCalls_haveConsecutivePositions() throws Exception {
    KafkaCallLog log = open(config());

    Recorded first = log.record(log.begin(), call("a"));
    List<Recorded> more = log.record(log.begin(), List.of(call("b"), call("c")));

    assertEquals(
        new Recorded.Durable(Durability.JOURNALED, new UsagePosition(0, "n1", 1_000, 1)), first);
    assertEquals(List.of(2L, 3L), more.stream().map(KafkaCallLogTest::line).toList());
  }

  @Test
  void batches_kafkaSlow_oneIsInFlightAndTheNextGathersTheRest() throws Exception {
    KafkaCallLog log = open(config());
    log.record(log.begin(), call("a"));
    Await.until("the first batch is sent", () -> producer.batches().size() == 1);
    List<CallEvent> later = new ArrayList<>();
    for (int i = 0; i < 50; i++) {
      later.add(call("b" + i));
      log.record(log.begin(), later.get(i));
    }
    int before = producer.all().size();
    // some passes later there is still one batch only, and no heartbeat
    TimeUnit.MILLISECONDS.sleep(60); // nothing can be waited for where nothing happens
    assertEquals(before, producer.all().size());

    producer.batches().get(0).done().accept(null);

    Await.until("the second batch is sent", () -> producer.batches().size() == 2);
    HeldProducer.Sent second = producer.batches().get(1);
    assertEquals(2, second.header().batchSequence());
    assertEquals(50, second.header().count());
    assertEquals(1, second.header().linesBefore());
    assertEquals(later, CallBatchReader.decode(second.lines()));
    second.done().accept(null);
    Await.until(
        "nothing is held",
        () -> log.statistics().heldLines() == 0 && log.statistics().journalBytes() == 0);
    assertEquals(51, log.statistics().ackedLines.count());
  }

  @Test
  void fullBatches_kafkaSlow_fiveAreInFlight_inOrder() throws Exception {
    KafkaCallLog log = open(config().maxBatchLines(1));
    for (int i = 1; i <= 7; i++) {
      log.record(log.begin(), call("c" + i));
    }
    Await.until("five are in flight", () -> sequences().equals(List.of(1L, 2L, 3L, 4L, 5L)));
    producer.batches().get(0).done().accept(null);

    Await.until("the next follows", () -> sequences().size() == 6);
    producer.batches().get(1).done().accept(null);
    Await.until("the last follows", () -> sequences().size() == 7);
    assertEquals(List.of(1L, 2L, 3L, 4L, 5L, 6L, 7L), sequences());
    producer.batches().subList(2, 7).forEach(each -> each.done().accept(null));
    Await.until("nothing is held", () -> log.statistics().heldLines() == 0);
    assertEquals(7, log.statistics().ackedLines.count());
  }

  @Test
  void fullBatches_oneFails_itAndAllBehindItAreSentAgainInOrder() throws Exception {
    KafkaCallLog log = open(config().maxBatchLines(1));
    for (int i = 1; i <= 6; i++) {
      log.record(log.begin(), call("c" + i));
    }
    Await.until("five are in flight", () -> sequences().size() == 5);
    List<HeldProducer.Sent> first = producer.batches();
    first.get(0).done().accept(new BatchProducer.Failure(false, "not authorised"));
    first.subList(1, 5).forEach(each -> each.done().accept(null));
    Await.until("all are to be sent again", () -> log.statistics().retriedBatches.count() == 5);
    assertEquals(0, log.statistics().ackedLines.count());

    Await.until("the first alone", () -> sequences().size() == 6);
    HeldProducer.Sent again = producer.batches().get(5);
    assertArrayEquals(first.get(0).lines(), again.lines(), "a batch sent again has the same bytes");
    again.done().accept(null);
    Await.until("the others follow", () -> sequences().size() == 11);
    assertEquals(List.of(1L, 2L, 3L, 4L, 5L, 6L), sequences().subList(5, 11));
    producer.batches().subList(6, 11).forEach(each -> each.done().accept(null));
    Await.until("nothing is held", () -> log.statistics().heldLines() == 0);
    assertEquals(6, log.statistics().ackedLines.count());
  }

  /**
   * Found by {@code KafkaCallLogIT}: batches after an unknown topic overtook the batch that met it.
   */
  @Test
  void fullBatches_oneFailsAtOnce_noneOvertakesIt() throws Exception {
    AtomicBoolean isKnown = new AtomicBoolean();
    producers.clear();
    producers.add(
        new BatchProducer() {
          @Override
          public void send(
              int partition, BatchHeader header, byte[] lines, Consumer<@Nullable Failure> done) {
            if (!header.isHeartbeat() && !isKnown.getAndSet(true)) {
              done.accept(new Failure(false, "the topic is not known"));
            } else {
              producer.send(partition, header, lines, done);
            }
          }

          @Override
          public void close() {}
        });
    KafkaCallLog log = open(config().maxBatchLines(1));
    log.record(log.begin(), List.of(call("a"), call("b"), call("c")));

    Await.until("it has failed", () -> log.statistics().retriedBatches.count() == 1);
    Await.until("it is sent again, alone", () -> sequences().equals(List.of(1L)));
    producer.batches().get(0).done().accept(null);
    Await.until("the others follow", () -> sequences().equals(List.of(1L, 2L, 3L)));
    producer.batches().subList(1, 3).forEach(each -> each.done().accept(null));
    Await.until("nothing is held", () -> log.statistics().heldLines() == 0);
  }

  private List<Long> sequences() {
    return producer.batches().stream().map(each -> each.header().batchSequence()).toList();
  }

  @Test
  void lowWatermark_callInProgress_doesNotPassIt() throws Exception {
    KafkaCallLog log = open(config());
    Ticket ticket = log.begin();
    now.set(1_005_050);
    Ticket other = log.begin();
    log.record(other, call("later"));
    Await.until("the batch is sent", () -> !producer.batches().isEmpty());
    assertEquals(1_000_000, producer.batches().get(0).header().lowWatermarkEpochMillis());
    producer.batches().get(0).done().accept(null);
    int before = producer.heartbeats().size();
    Await.until("a heartbeat is sent", () -> producer.heartbeats().size() > before + 2);
    assertEquals(1_000_000, log.statistics().lowWatermarkEpochMillis(0));

    ticket.abandon();

    Await.until(
        "the low watermark advances",
        () -> log.statistics().lowWatermarkEpochMillis(0) == 1_005_000);
  }

  @Test
  void lowWatermark_fullBatchLeavesLinesBehind_isTheTimeOfTheOldestLeft() throws Exception {
    // one heartbeat only: another one after the clock has moved would carry a later low watermark
    KafkaCallLog log =
        open(
            config()
                .maxBatchLines(2)
                .linger(Duration.ofSeconds(5))
                .heartbeatInterval(Duration.ofHours(1)));
    Await.until(
        "a heartbeat is sent", () -> log.statistics().lowWatermarkEpochMillis(0) == 1_000_000);
    now.addAndGet(10_000);
    Ticket slow = log.begin();
    now.addAndGet(10_000);
    log.record(log.begin(), List.of(call("a"), call("b"), call("c")));
    Await.until("a full batch is sent", () -> producer.batches().size() == 1);
    assertEquals(2, producer.batches().get(0).header().count());
    assertEquals(1_010_000, producer.batches().get(0).header().lowWatermarkEpochMillis());

    slow.abandon();
    now.addAndGet(10_000);
    producer.batches().get(0).done().accept(null);
    log.record(log.begin(), List.of(call("d"), call("e"), call("f")));
    Await.until("the next full ones are sent", () -> producer.batches().size() >= 2);

    // "c" of 1,020,000 is in the second batch, "f" of 1,030,000 is left
    assertTrue(producer.batches().get(1).header().lowWatermarkEpochMillis() >= 1_010_000);
    producer.batches().get(1).done().accept(null);
    Await.until(
        "no line lingers, the low watermark advances all the same",
        () -> log.statistics().lowWatermarkEpochMillis(0) == 1_030_000);
  }

  @Test
  void heartbeats_idleNode_carryTheLastBatchNumberAndLineCount() throws Exception {
    KafkaCallLog log = open(config());
    Await.until("a heartbeat is sent", () -> !producer.heartbeats().isEmpty());
    assertEquals(0, producer.heartbeats().get(0).header().batchSequence());

    log.record(log.begin(), List.of(call("a"), call("b")));
    Await.until("the batch is sent", () -> !producer.batches().isEmpty());
    int before = producer.heartbeats().size();
    producer.batches().get(0).done().accept(null);

    Await.until("another heartbeat is sent", () -> producer.heartbeats().size() > before);
    HeldProducer.Sent last = producer.heartbeats().get(before);
    assertEquals(1, last.header().batchSequence());
    assertEquals(2, last.header().linesBefore());
    assertEquals(0, last.lines().length);
  }

  @Test
  void producerBroken_newOne_getsTheSameBatchesInOrder() throws Exception {
    KafkaCallLog log = open(config());
    HeldProducer second = HeldProducer.open();
    log.record(log.begin(), call("a"));
    Await.until("the first batch is sent", () -> producer.batches().size() == 1);
    log.record(log.begin(), call("b"));
    HeldProducer.Sent lost = producer.batches().get(0);
    producers.add(second);

    lost.done().accept(new BatchProducer.Failure(true, "fenced"));

    Await.until("all batches are sent again", () -> log.statistics().heldLines() == 0);
    assertTrue(producer.isClosed());
    assertEquals(lost.header(), second.batches().get(0).header());
    assertArrayEquals(lost.lines(), second.batches().get(0).lines());
    assertEquals(
        List.of(1L, 2L), second.batches().stream().map(b -> b.header().batchSequence()).toList());
    assertEquals(1, log.statistics().retriedBatches.count());
  }

  @Test
  void batchFailed_producerWorks_isSentAgainBeforeTheNext() throws Exception {
    KafkaCallLog log = open(config());
    log.record(log.begin(), call("a"));
    Await.until("the first batch is sent", () -> producer.batches().size() == 1);
    log.record(log.begin(), call("b"));

    producer
        .batches()
        .get(0)
        .done()
        .accept(new BatchProducer.Failure(false, "too large for the broker"));

    Await.until("it is sent again", () -> producer.batches().size() == 2);
    assertEquals(producer.batches().get(0).header(), producer.batches().get(1).header());
    assertFalse(producer.isClosed());
  }

  @Test
  void record_journalFull_isRefused() throws Exception {
    KafkaCallLog log = open(config().maxJournalBytes(RecordConfig.MIN_JOURNAL_BYTES));

    Recorded last = fill(log);

    assertEquals(Recorded.Reason.FULL, assertInstanceOf(Recorded.Refused.class, last).reason());
    assertEquals(1, log.statistics().refusedCalls(Recorded.Reason.FULL).count());
    assertTrue(log.statistics().journalBytes() <= RecordConfig.MIN_JOURNAL_BYTES);
  }

  @Test
  void record_journalFull_drop_isDroppedAndCounted() throws Exception {
    KafkaCallLog log =
        open(
            config()
                .maxJournalBytes(RecordConfig.MIN_JOURNAL_BYTES)
                .whenFull(RecordConfig.WhenFull.DROP));

    assertInstanceOf(Recorded.Dropped.class, fill(log));

    assertEquals(1, log.statistics().droppedCalls.count());
    assertEquals(0, log.statistics().refusedCalls(Recorded.Reason.FULL).count());
  }

  @Test
  void record_journalFullThenDrained_isKeptAgain() throws Exception {
    KafkaCallLog log = open(config().maxJournalBytes(RecordConfig.MIN_JOURNAL_BYTES));
    fill(log);
    HeldProducer second = HeldProducer.open();
    producers.add(second);
    Await.until("a batch is sent", () -> !producer.batches().isEmpty());
    producer.batches().get(0).done().accept(new BatchProducer.Failure(true, "fenced"));
    Await.until("it is drained", () -> log.statistics().heldLines() == 0);

    assertInstanceOf(Recorded.Durable.class, log.record(log.begin(), call("again")));
    assertTrue(log.check().ok());
  }

  private Recorded fill(CallLog log) {
    for (int i = 0; ; i++) {
      Recorded recorded = log.record(log.begin(), call("call-" + i));
      if (!(recorded instanceof Recorded.Durable)) {
        return recorded;
      }
    }
  }

  @Test
  void record_journalUnwritable_isRefusedAndUsesNoLineNumber() throws Exception {
    KafkaCallLog log = open(config());
    assertEquals(1, line(log.record(log.begin(), call("a"))));
    journal.failsToAppend = true;

    Recorded refused = log.record(log.begin(), call("b"));

    assertEquals(
        Recorded.Reason.WRITE_FAILED, assertInstanceOf(Recorded.Refused.class, refused).reason());
    assertFalse(log.check().ok());
    journal.failsToAppend = false;
    assertEquals(2, line(log.record(log.begin(), call("c"))));
    assertTrue(log.check().ok());
  }

  @Test
  void seal_journalUnwritable_sendsNothingUntilItIsWritten() throws Exception {
    KafkaCallLog log = open(config());
    journal.failsToSeal = true;
    log.record(log.begin(), call("a"));
    Await.until("it has tried", () -> journal.refusedSeals() > 2);
    assertEquals(0, producer.batches().size());

    journal.failsToSeal = false;

    Await.until("the batch is sent", () -> producer.batches().size() == 1);
    assertEquals(1, producer.batches().get(0).header().batchSequence());
  }

  @Test
  void record_acked_answersOnlyWhenKafkaHasIt() throws Exception {
    KafkaCallLog log = open(config().durability(Durability.ACKED));
    CompletableFuture<Recorded> answer =
        CompletableFuture.supplyAsync(() -> log.record(log.begin(), call("a")));
    Await.until("the batch is sent", () -> producer.batches().size() == 1);
    TimeUnit.MILLISECONDS.sleep(30);
    assertFalse(answer.isDone());

    producer.batches().get(0).done().accept(null);

    Await.until("the answer", answer::isDone);
    Recorded.Durable durable = assertInstanceOf(Recorded.Durable.class, answer.join());
    assertEquals(Durability.ACKED, durable.durability());
    assertEquals(1, durable.position().line());
  }

  @Test
  void record_ackedAndKafkaSilent_isRefusedByTimeout() throws Exception {
    KafkaCallLog log =
        open(config().durability(Durability.ACKED).ackTimeout(Duration.ofMillis(50)));

    Recorded refused = log.record(log.begin(), call("a"));

    assertEquals(
        Recorded.Reason.TIMEOUT, assertInstanceOf(Recorded.Refused.class, refused).reason());
  }

  @Test
  void close_everythingSent_sendsFinalHeartbeat() throws Exception {
    producers.clear();
    HeldProducer open = HeldProducer.open();
    producers.add(open);
    KafkaCallLog log =
        open(
            config()
                .linger(Duration.ofSeconds(5))
                .drainTimeout(Await.TIMEOUT)
                .finalHeartbeatTimeout(Await.TIMEOUT));
    log.record(log.begin(), call("a"));

    log.close();

    List<HeldProducer.Sent> all = open.all();
    assertEquals(1, open.batches().size());
    assertTrue(all.get(all.size() - 1).header().departing());
    assertEquals(1, all.get(all.size() - 1).header().batchSequence());
    assertEquals(1, all.stream().filter(each -> each.header().departing()).count());
    assertInstanceOf(Recorded.Refused.class, log.record(log.begin(), call("too late")));
    assertFalse(log.check().ok());
  }

  @Test
  void close_kafkaSilent_endsWithoutFinalHeartbeat() throws Exception {
    KafkaCallLog log = open(config());
    log.record(log.begin(), call("a"));

    log.close();

    assertTrue(producer.all().stream().noneMatch(each -> each.header().departing()));
    assertEquals(1, log.statistics().heldLines());
  }

  @Test
  void close_callInProgress_isWaitedForAndKept() throws Exception {
    KafkaCallLog log = open(config().callsTimeout(Await.TIMEOUT));
    Ticket ticket = log.begin();
    CompletableFuture<Void> closed = CompletableFuture.runAsync(log::close);
    Await.until("it closes", () -> !log.check().ok());

    assertInstanceOf(Recorded.Refused.class, log.record(log.begin(), call("new")));
    assertInstanceOf(Recorded.Durable.class, log.record(ticket, call("old")));

    Await.until("the end", closed::isDone);
    closed.join();
  }

  @Test
  void ticket_usedTwice_isRefused() throws Exception {
    KafkaCallLog log = open(config());
    Ticket ticket = log.begin();
    ticket.abandon();

    assertThrows(IllegalStateException.class, ticket::abandon);
    assertThrows(IllegalStateException.class, () -> log.record(ticket, call("a")));
  }
}
