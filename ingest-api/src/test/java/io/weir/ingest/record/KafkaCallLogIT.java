// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.ingest.gate.Durability;
import io.weir.ingest.gate.Recorded;
import io.weir.ingest.gate.Ticket;
import io.weir.ingest.record.journal.Journal;
import io.weir.ingest.record.journal.JournalIdentity;
import io.weir.servers.testing.TestKafka;
import io.weir.testing.Await;
import io.weir.testing.CoreSuite;
import io.weir.testing.FullSuite;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The call log over a real broker and a journal on disk. */
@CoreSuite
final class KafkaCallLogIT {
  private static final int PARTITIONS = 3;

  @TempDir Path temp;
  private TestKafka kafka;

  @BeforeEach
  void start() throws Exception {
    use(TestKafka.borrow());
  }

  /** For a test that stops it. */
  private void startABrokerOfItsOwn() throws Exception {
    kafka.close();
    use(TestKafka.start());
  }

  private void use(TestKafka server) throws Exception {
    kafka = server;
    CallsTopicReader.create(kafka.bootstrapServers(), PARTITIONS);
  }

  @AfterEach
  void stop() {
    kafka.close();
  }

  private RecordConfig.Builder config() {
    return RecordConfig.builder(
            "n1", KafkaConnection.to(kafka.bootstrapServers()), temp.resolve("journal"))
        .ackTimeout(Await.TIMEOUT)
        .drainTimeout(Await.TIMEOUT)
        .callsTimeout(Await.TIMEOUT)
        .finalHeartbeatTimeout(Await.TIMEOUT)
        .failureStands(Await.TIMEOUT)
        .linger(Duration.ofMillis(5))
        .heartbeatInterval(Duration.ofMillis(100));
  }

  private static KafkaCallLog open(RecordConfig.Builder config) {
    return KafkaCallLog.open(config.build(), DecisionClock.ofSystem());
  }

  private static void record(KafkaCallLog log, String prefix, int calls) {
    for (int i = 0; i < calls; i++) {
      Ticket ticket = log.begin();
      Recorded recorded =
          log.record(
              ticket, TestCalls.call(prefix + i, "client-" + i % 11, ticket.begunAtEpochMillis()));
      assertInstanceOf(Recorded.Durable.class, recorded);
    }
  }

  private List<CallsTopicReader.Batch> read() throws Exception {
    return CallsTopicReader.read(kafka.bootstrapServers());
  }

  private static long lines(List<CallsTopicReader.Batch> batches) {
    return batches.stream().mapToLong(batch -> batch.header().count()).sum();
  }

  @Test
  void record_journalAndProducerThrow_eachCallIsInKafkaAtOnePosition() throws Exception {
    RecordConfig config = config().build();
    FailingJournal journal =
        new FailingJournal(
            Journal.open(
                config.journalFolder(), false, () -> new JournalIdentity("n1", 1, PARTITIONS)));
    AtomicInteger throwing = new AtomicInteger();
    try (KafkaCallLog log =
        new KafkaCallLog(
            config,
            DecisionClock.ofSystem(),
            journal,
            () ->
                new ThrowingProducer(
                    KafkaBatchProducer.open(config, PARTITIONS, new SimpleMeterRegistry()),
                    throwing),
            new SimpleMeterRegistry())) {
      record(log, "a", 20);
      throwing.set(3);
      journal.failsInSeal.set(2);
      record(log, "b", 20);
      Await.until("a fault is shown", () -> !log.check().ok());
      Await.until("Kafka has all", () -> log.statistics().ackedLines.count() == 40);
      assertTrue(log.statistics().faults.count() >= 2);
    }
    Map<String, CallEvent> places = new HashMap<>();
    for (CallsTopicReader.Batch batch : read()) {
      long position = batch.header().linesBefore();
      for (CallEvent call : batch.calls()) {
        String place = batch.partition() + ":" + batch.header().nodeEpoch() + ":" + ++position;
        CallEvent before = places.put(place, call);
        assertTrue(before == null || before.equals(call), place);
      }
    }
    assertEquals(40, places.size());
  }

  /** Without a failure of the producer no batch is there twice, so the numbers just count up. */
  private static void assertNumbersCountUp(List<CallsTopicReader.Batch> batches) {
    Map<Integer, Long> last = new HashMap<>();
    Map<List<Long>, Long> lowWatermarks = new HashMap<>();
    for (CallsTopicReader.Batch batch : batches) {
      BatchHeader header = batch.header();
      List<Long> epoch = List.of((long) batch.partition(), header.nodeEpoch());
      long before = last.getOrDefault(batch.partition(), 0L);
      boolean isNext = header.batchSequence() == before + 1;
      boolean isSame = header.batchSequence() == before && header.isHeartbeat();
      // the final heartbeat of an earlier epoch has its own number; other heartbeats have none
      assertTrue(isSame || (isNext && (!header.isHeartbeat() || header.departing())));
      // the final heartbeat repeats the low watermark of the last batch; other heartbeats may carry
      // a later one
      boolean isGoodbye = isNext && header.departing();
      assertTrue(
          isGoodbye || header.lowWatermarkEpochMillis() >= lowWatermarks.getOrDefault(epoch, 0L),
          () -> "the low watermark fell: " + batch);
      last.put(batch.partition(), header.batchSequence());
      lowWatermarks.merge(epoch, header.lowWatermarkEpochMillis(), Math::max);
    }
  }

  @Test
  void open_newNode_announcesItselfInEveryPartition() throws Exception {
    try (KafkaCallLog log = open(config())) {
      assertTrue(log.check().ok());
      for (int partition = 0; partition < PARTITIONS; partition++) {
        int each = partition;
        // an opening waits for the first heartbeats, but not for ever
        Await.until(
            "a heartbeat in partition " + each,
            () -> read().stream().anyMatch(batch -> batch.partition() == each));
      }
    }
  }

  @Test
  void close_afterCalls_sendsAll_andTheFinalHeartbeat() throws Exception {
    KafkaCallLog log = open(config());
    record(log, "a", 500);

    log.close();

    List<CallsTopicReader.Batch> batches = read();
    assertEquals(500, lines(batches));
    assertNumbersCountUp(batches);
    for (int partition = 0; partition < PARTITIONS; partition++) {
      int each = partition;
      List<CallsTopicReader.Batch> own =
          batches.stream().filter(batch -> batch.partition() == each).toList();
      assertTrue(own.get(own.size() - 1).header().departing());
    }
  }

  @Test
  void reopen_afterClose_newEpochFollowsTheFinalHeartbeat() throws Exception {
    try (KafkaCallLog log = open(config())) {
      record(log, "a", 100);
    }
    try (KafkaCallLog log = open(config())) {
      assertEquals(0, log.statistics().foundLines.count());
      record(log, "b", 100);
    }

    List<CallsTopicReader.Batch> batches = read();
    assertEquals(200, lines(batches));
    assertNumbersCountUp(batches);
    for (int partition = 0; partition < PARTITIONS; partition++) {
      int each = partition;
      List<BatchHeader> own =
          batches.stream()
              .filter(batch -> batch.partition() == each)
              .map(CallsTopicReader.Batch::header)
              .toList();
      long first = own.get(0).nodeEpoch();
      List<BatchHeader> ofFirst = own.stream().filter(h -> h.nodeEpoch() == first).toList();
      List<BatchHeader> ofSecond = own.stream().filter(h -> h.nodeEpoch() > first).toList();
      BatchHeader goodbye = ofFirst.get(ofFirst.size() - 1);
      assertTrue(goodbye.departing());
      // the new epoch is announced before the old one's final heartbeat, so that the aggregator
      // waits for its watermark
      int announcement = own.indexOf(ofSecond.get(0));
      assertTrue(ofSecond.get(0).isHeartbeat());
      assertEquals(own.lastIndexOf(goodbye), announcement + 1);
      assertTrue(own.subList(announcement + 2, own.size()).stream().allMatch(ofSecond::contains));
      assertTrue(ofSecond.stream().allMatch(h -> h.linesBeforeEpoch() == goodbye.linesBefore()));
    }
  }

  @Test
  void record_kafkaUnavailable_isSentInOrderLater() throws Exception {
    startABrokerOfItsOwn();
    try (KafkaCallLog log = open(config().maxBatchLines(50))) {
      record(log, "a", 200);
      Await.until("all is sent", () -> log.statistics().heldLines() == 0);
      kafka.stop();
      record(log, "b", 2_000);
      assertTrue(log.statistics().heldLines() >= 2_000);
      assertTrue(log.check().ok());
      long lowWatermark = log.statistics().lowWatermarkEpochMillis(0);
      assertTrue(lowWatermark <= System.currentTimeMillis());

      kafka.restart();

      Await.until("all is sent", () -> log.statistics().heldLines() == 0);
      record(log, "c", 200);
    }

    List<CallsTopicReader.Batch> batches = read();
    assertEquals(2_400, lines(batches));
    assertNumbersCountUp(batches);
  }

  @Test
  @FullSuite(
      reason =
          "waits for a connection that fails after 5 s; KilledNodeIT, which always runs, opens a"
              + " journal without Kafka, too")
  void open_kafkaUnavailable_withJournal_acceptsCalls() throws Exception {
    startABrokerOfItsOwn();
    try (KafkaCallLog log = open(config())) {
      record(log, "a", 100);
    }
    kafka.stop();
    try (KafkaCallLog log = open(config())) {
      record(log, "b", 100);
      assertEquals(100, log.statistics().heldLines());

      kafka.restart();

      Await.until("all is sent", () -> log.statistics().heldLines() == 0);
    }
    assertEquals(200, lines(read()));
    assertNumbersCountUp(read());
  }

  @Test
  @FullSuite(
      reason =
          "waits 3 s for the last heartbeats; the close alone is in KafkaCallLogTest, the next"
              + " process in KilledNodeIT, and both always run")
  void close_kafkaUnavailable_nextProcessSendsTheCalls() throws Exception {
    startABrokerOfItsOwn();
    KafkaCallLog log =
        open(
            config()
                .drainTimeout(Duration.ofMillis(300))
                .finalHeartbeatTimeout(Duration.ofSeconds(3)));
    kafka.stop();
    record(log, "a", 100);
    log.close();
    assertEquals(100, log.statistics().heldLines());
    kafka.restart();

    try (KafkaCallLog next = open(config())) {
      assertEquals(100, next.statistics().foundLines.count());
      Await.until("all is sent", () -> next.statistics().heldLines() == 0);
    }

    assertEquals(100, read().stream().flatMap(batch -> batch.calls().stream()).distinct().count());
  }

  @Test
  @FullSuite(
      reason =
          "waits 5 s for the response of an unavailable broker; the test of an unknown address"
              + " always runs")
  void open_kafkaUnavailable_withoutJournal_namesAddress() throws Exception {
    startABrokerOfItsOwn();
    kafka.stop();

    assertRefusedWithTheAddress(kafka.bootstrapServers());
  }

  @Test
  void open_kafkaUnknownAndNoJournal_isRefusedWithTheAddress() {
    assertRefusedWithTheAddress("kafka.invalid:9092");
  }

  private void assertRefusedWithTheAddress(String bootstrapServers) {
    RecordConfig.Builder config =
        RecordConfig.builder("n1", KafkaConnection.to(bootstrapServers), temp.resolve("journal"))
            .startTimeout(Duration.ZERO);

    CallLogStartException refused = assertThrows(CallLogStartException.class, () -> open(config));

    String message = String.valueOf(refused.getMessage());
    assertTrue(message.contains(bootstrapServers), message);
  }

  @Test
  void open_partitionsChanged_isRefused() throws Exception {
    open(config()).close();
    CallsTopicReader.grow(kafka.bootstrapServers(), PARTITIONS + 1);

    CallLogStartException refused = assertThrows(CallLogStartException.class, () -> open(config()));

    String message = String.valueOf(refused.getMessage());
    assertTrue(message.contains("must have 3 partitions"), message);
    assertTrue(message.contains("but has 4"), message);
  }

  @Test
  void open_anotherNodesJournal_isRefused() {
    open(config()).close();

    CallLogStartException refused =
        assertThrows(
            CallLogStartException.class,
            () ->
                open(
                    RecordConfig.builder(
                        "n2",
                        KafkaConnection.to(kafka.bootstrapServers()),
                        temp.resolve("journal"))));

    String message = String.valueOf(refused.getMessage());
    assertTrue(message.contains("belongs to the node 'n1'"), message);
  }

  @Test
  void record_acked_isInKafkaWhenAnswered() throws Exception {
    try (KafkaCallLog log = open(config().durability(Durability.ACKED))) {
      for (int i = 0; i < 20; i++) {
        String id = "acked-" + i;
        Ticket ticket = log.begin();
        Recorded recorded =
            log.record(ticket, TestCalls.call(id, "c" + i, ticket.begunAtEpochMillis()));
        assertEquals(
            Durability.ACKED, assertInstanceOf(Recorded.Durable.class, recorded).durability());
        assertTrue(
            read().stream()
                .flatMap(batch -> batch.calls().stream())
                .anyMatch(call -> call.id().equals(id)),
            id);
      }
    }
  }

  @Test
  void record_ackedAndKafkaUnavailable_isRefused() throws Exception {
    startABrokerOfItsOwn();
    try (KafkaCallLog log =
        open(config().durability(Durability.ACKED).ackTimeout(Duration.ofMillis(300)))) {
      kafka.stop();
      Ticket ticket = log.begin();

      Recorded recorded =
          log.record(ticket, TestCalls.call("x", "acme", ticket.begunAtEpochMillis()));

      assertEquals(
          Recorded.Reason.TIMEOUT, assertInstanceOf(Recorded.Refused.class, recorded).reason());
      Await.until("health reports the failure", () -> !log.check().ok());
      assertFalse(log.check().detail().isEmpty());
      kafka.restart();
      Await.until("it is sent", () -> log.statistics().heldLines() == 0);
    }
  }
}
