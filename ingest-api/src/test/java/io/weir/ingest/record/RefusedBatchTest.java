// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.ingest.clock.LocalClock;
import io.weir.ingest.gate.Recorded;
import io.weir.ingest.record.journal.Journal;
import io.weir.ingest.record.journal.JournalException;
import io.weir.ingest.record.journal.JournalIdentity;
import io.weir.testing.Await;
import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.model.BatchHeader;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Effects of a refused or unreadable batch on concurrent and later batches. */
final class RefusedBatchTest {
  private static final int PARTITIONS = 2;
  private static final BatchProducer.Failure TOO_LARGE =
      new BatchProducer.Failure(false, "too large");

  @TempDir private Path folder;
  private final AtomicLong now = new AtomicLong(1_000_050);
  private final Queue<BatchProducer> producers = new ConcurrentLinkedQueue<>();
  private final List<KafkaCallLog> opened = new ArrayList<>();

  @AfterEach
  void closeAll() {
    opened.forEach(KafkaCallLog::close);
  }

  private KafkaCallLog open(Journal journal) throws Exception {
    return open(journal, HeldProducer.inOrder(producers));
  }

  private KafkaCallLog open(Journal journal, BatchProducer.Factory factory) throws Exception {
    RecordConfig config =
        RecordConfig.builder("n1", KafkaConnection.to("unused:9092"), Path.of("unused"))
            .linger(Duration.ofMillis(5))
            .heartbeatInterval(Duration.ofMillis(20))
            .ackTimeout(Await.TIMEOUT)
            .drainTimeout(Duration.ofMillis(20))
            .maxBatchLines(1)
            .build();
    DecisionClock clock = new DecisionClock(new LocalClock(() -> now.get() * 1_000_000, now::get));
    KafkaCallLog log = new KafkaCallLog(config, clock, journal, factory, new SimpleMeterRegistry());
    opened.add(log);
    return log;
  }

  private Journal onDisk() throws JournalException {
    return Journal.open(
        folder.resolve("journal"), false, () -> new JournalIdentity("n1", 1_000, PARTITIONS));
  }

  private static Journal inMemory() {
    return Journal.inMemory(new JournalIdentity("n1", 1_000, PARTITIONS));
  }

  private void record(KafkaCallLog log, int partition, int calls) {
    for (int i = 0; i < calls; i++) {
      Recorded kept =
          log.record(log.begin(), TestCalls.call("c" + i, client(partition), now.get()));
      assertInstanceOf(Recorded.Durable.class, kept);
    }
  }

  private static String client(int partition) {
    for (int i = 0; ; i++) {
      if (ClientPartitioner.partition("client-" + i, PARTITIONS) == partition) {
        return "client-" + i;
      }
    }
  }

  private static List<Long> sequences(HeldProducer producer) {
    return producer.batches().stream().map(each -> each.header().batchSequence()).toList();
  }

  private static void answer(
      HeldProducer producer, int index, BatchProducer.@Nullable Failure failure) {
    producer.batches().get(index).done().accept(failure);
  }

  private HeldProducer held() {
    HeldProducer producer = new HeldProducer();
    producers.add(producer);
    return producer;
  }

  /** Regression: the four batches behind it were sent again five times a second all the while. */
  @Test
  void batchRefusedPermanently_isRetriedAlone_thenTheOthersFollow() throws Exception {
    HeldProducer producer = held();
    KafkaCallLog log = open(inMemory());
    record(log, 0, 6);
    Await.until("five are in flight", () -> producer.batches().size() == 5);
    answer(producer, 0, TOO_LARGE);
    for (int i = 1; i < 5; i++) {
      answer(producer, i, null);
    }

    for (int again = 5; again < 8; again++) {
      int batches = again + 1;
      Await.until("it is handed over again", () -> producer.batches().size() == batches);
      assertTrue(log.check().detail().contains("too large"), () -> log.check().toString());
      answer(producer, again, TOO_LARGE);
    }
    Await.until("and again", () -> producer.batches().size() == 9);
    assertEquals(List.of(1L, 2L, 3L, 4L, 5L, 1L, 1L, 1L, 1L), sequences(producer));
    answer(producer, 8, null);

    Await.until("those behind it", () -> producer.batches().size() == 14);
    assertEquals(List.of(2L, 3L, 4L, 5L, 6L), sequences(producer).subList(9, 14));
    assertFalse(log.check().detail().contains("too large"), () -> log.check().toString());
  }

  /** Regression: every batch of another partition made the node look healthy. */
  @Test
  void batchRefusedPermanently_isReported_thoughOtherPartitionsAreWell() throws Exception {
    HeldProducer producer = held();
    KafkaCallLog log = open(inMemory());
    record(log, 0, 1);
    Await.until("the batch is sent", () -> producer.batches().size() == 1);
    answer(producer, 0, TOO_LARGE);
    Await.until("it is reported", () -> log.check().detail().contains("too large"));
    double heartbeats = log.statistics().heartbeats.count();

    record(log, 1, 1);
    Await.until("the other is sent", () -> producer.batches().size() == 2);
    answer(producer, 1, null);
    Await.until("Kafka has it", () -> log.statistics().ackedLines.count() == 1);
    Await.until(
        "the other sends a heartbeat", () -> log.statistics().heartbeats.count() > heartbeats);

    assertTrue(log.check().detail().contains("too large"), () -> log.check().toString());
  }

  /**
   * Regression: the final heartbeat and the new epoch's low watermark overtook a batch of the old
   * epoch, and a window was closed without its calls.
   */
  @Test
  void refusedBatchOfTheOldEpoch_isBeforeFinalHeartbeatAndNewEpoch() throws Exception {
    KafkaCallLog old = open(onDisk());
    record(old, 0, 2);
    old.close();
    now.addAndGet(60_000);
    HeldProducer producer = held();
    KafkaCallLog log = open(onDisk());
    record(log, 0, 2);
    Await.until("both of the old epoch", () -> sequences(producer).equals(List.of(1L, 2L)));
    answer(producer, 0, TOO_LARGE);
    answer(producer, 1, null);

    Await.until("the first again", () -> sequences(producer).equals(List.of(1L, 2L, 1L)));
    assertEquals(List.of(), ofPartition0(producer, true), "no announcement, no final heartbeat");
    answer(producer, 2, null);
    Await.until("the second again", () -> producer.batches().size() == 4);
    answer(producer, 3, null);
    Await.until("the new epoch", () -> producer.batches().size() == 6);
    answer(producer, 4, null);
    answer(producer, 5, null);
    Await.until("nothing is held", () -> log.statistics().heldLines() == 0);

    List<BatchHeader> all = ofPartition0(producer, false);
    List<Long> epochs = all.stream().map(BatchHeader::nodeEpoch).distinct().toList();
    assertEquals(2, epochs.size());
    assertEquals(1_000, epochs.get(0));
    int announcement = firstOf(all, header -> header.nodeEpoch() != 1_000);
    int goodbye = firstOf(all, BatchHeader::departing);
    assertEquals(4, announcement, all::toString);
    assertEquals(5, goodbye, all::toString);
    assertEquals(1_000, all.get(goodbye).nodeEpoch());
  }

  private static int firstOf(List<BatchHeader> headers, Predicate<BatchHeader> which) {
    for (int i = 0; i < headers.size(); i++) {
      if (which.test(headers.get(i))) {
        return i;
      }
    }
    return -1;
  }

  private static List<BatchHeader> ofPartition0(HeldProducer producer, boolean onlyWithoutLines) {
    return producer.all().stream()
        .filter(each -> each.partition() == 0)
        .map(HeldProducer.Sent::header)
        .filter(header -> !onlyWithoutLines || header.count() == 0)
        .toList();
  }

  /**
   * Regression: the final heartbeat followed a failed announcement, so for a moment the aggregator
   * waited for no epoch.
   */
  @Test
  void announcementOfTheNewEpochFails_finalHeartbeatWaits() throws Exception {
    // with producers of its own: it may still be connecting when it is closed
    open(onDisk(), HeldProducer.inOrder(new ConcurrentLinkedQueue<>())).close();
    now.addAndGet(60_000);
    AtomicInteger refused = new AtomicInteger();
    Queue<BatchHeader> inKafka = new ConcurrentLinkedQueue<>();
    producers.add(
        new BatchProducer() {
          @Override
          public void send(
              int partition, BatchHeader header, byte[] lines, Consumer<@Nullable Failure> done) {
            if (partition != 0) {
              done.accept(null);
            } else if (refused.getAndIncrement() < 2) {
              done.accept(new Failure(false, "topic not present in metadata"));
            } else {
              inKafka.add(header);
              done.accept(null);
            }
          }

          @Override
          public void close() {}
        });
    open(onDisk());

    Await.until("all three", () -> inKafka.size() >= 3);
    List<BatchHeader> first = List.copyOf(inKafka).subList(0, 3);
    assertFalse(first.get(0).departing(), first::toString);
    assertTrue(first.get(0).nodeEpoch() > 1_000, first::toString);
    assertTrue(first.get(1).departing(), first::toString);
    assertEquals(1_000, first.get(1).nodeEpoch());
    assertFalse(first.get(2).departing(), first::toString);
  }

  @Test
  void producerBreaks_eachBatchInFlightIsCountedAsRetried() throws Exception {
    HeldProducer producer = held();
    KafkaCallLog log = open(inMemory());
    record(log, 0, 5);
    Await.until("five are in flight", () -> producer.batches().size() == 5);
    producers.add(HeldProducer.open());

    answer(producer, 0, new BatchProducer.Failure(true, "fenced"));

    Await.until("nothing is held", () -> log.statistics().heldLines() == 0);
    assertEquals(5, log.statistics().retriedBatches.count());
    assertFalse(log.check().detail().contains("fenced"), () -> log.check().toString());
  }

  /** Regression: 75 producers a second were made and logged, while the node reported no trouble. */
  @Test
  void producerBreaksRepeatedly_pausesGrow_andTheFailureIsReported() throws Exception {
    List<Long> openedAtNanos = new ArrayList<>();
    BatchProducer broken =
        new BatchProducer() {
          @Override
          public void send(
              int partition, BatchHeader header, byte[] lines, Consumer<@Nullable Failure> done) {
            // the other partition is well, and must not make this one look so
            done.accept(partition == 0 ? new Failure(true, "compacted topics need a key") : null);
          }

          @Override
          public void close() {}
        };
    KafkaCallLog log =
        open(
            inMemory(),
            () -> {
              synchronized (openedAtNanos) {
                openedAtNanos.add(System.nanoTime());
              }
              return broken;
            });

    Await.until(
        "three attempts",
        () -> {
          synchronized (openedAtNanos) {
            return openedAtNanos.size() >= 3;
          }
        });
    assertTrue(log.check().detail().contains("need a key"), () -> log.check().toString());
    synchronized (openedAtNanos) {
      long first = openedAtNanos.get(1) - openedAtNanos.get(0);
      long second = openedAtNanos.get(2) - openedAtNanos.get(1);
      assertTrue(first >= TimeUnit.MILLISECONDS.toNanos(500), () -> first + " ns");
      assertTrue(second >= TimeUnit.MILLISECONDS.toNanos(1_000), () -> second + " ns");
    }
  }

  /** Regression: no batch and no heartbeat of any partition was sent until it could be read. */
  @Test
  void unreadableBatch_blocksItsOwnPartitionOnly() throws Exception {
    KafkaCallLog old = open(onDisk());
    record(old, 0, 1);
    old.close();
    HeldProducer producer = HeldProducer.open();
    producers.add(producer);
    FailingJournal journal = new FailingJournal(onDisk());
    journal.unreadablePartition = 0;
    KafkaCallLog log = open(journal);
    Await.until("it was tried", () -> journal.unreadable() > 0);

    record(log, 1, 30);

    Await.until("the others are in Kafka", () -> log.statistics().ackedLines.count() == 30);
    now.addAndGet(5_000);
    Await.until(
        "their low watermark advances",
        () -> log.statistics().lowWatermarkEpochMillis(1) >= 1_005_000);
    assertTrue(
        log.check().detail().contains("partition 0: the journal cannot be read"),
        () -> log.check().toString());
    journal.unreadablePartition = -1;
    Await.until("nothing is held", () -> log.statistics().heldLines() == 0);
    Await.until("it is well", () -> !log.check().detail().contains("cannot be read"));
  }

  /**
   * Regression: sealed batches stayed on a full disk, from which only acknowledged ones are
   * removed.
   */
  @Test
  void sealingFails_batchesAlreadySealedAreSent() throws Exception {
    FailingJournal journal = new FailingJournal(inMemory());
    KafkaCallLog log = open(journal);
    record(log, 0, 2);
    Await.until("both are sealed", () -> log.statistics().sealedBatches.count() == 2);
    journal.failsToSeal = true;
    record(log, 0, 1);
    Await.until("no more can be", () -> journal.refusedSeals() > 0);

    producers.add(HeldProducer.open());

    Await.until("both are in Kafka", () -> log.statistics().ackedLines.count() == 2);
    assertEquals(1, log.statistics().heldLines());
    double heartbeats = log.statistics().heartbeats.count();
    Await.until(
        "the other partition sends heartbeats",
        () -> log.statistics().heartbeats.count() > heartbeats + 2);
    journal.failsToSeal = false;
    Await.until("so is the third", () -> log.statistics().heldLines() == 0);
  }

  /**
   * Regression: each fault put the next attempt to connect off, and none was made while they
   * lasted.
   */
  @Test
  void sealingKeepsFailing_producerIsOpenedMeanwhile() throws Exception {
    FailingJournal journal = new FailingJournal(inMemory());
    journal.failsInSeal.set(Integer.MAX_VALUE);
    AtomicInteger openings = new AtomicInteger();
    KafkaCallLog log =
        open(
            journal,
            () -> {
              openings.incrementAndGet();
              return HeldProducer.open();
            });
    record(log, 0, 1);

    Await.until("faults", () -> log.statistics().faults.count() > 3);
    Await.until("a producer", () -> openings.get() > 0);
    journal.failsInSeal.set(0);
    Await.until("nothing is held", () -> log.statistics().heldLines() == 0);
  }

  /** Regression: a node without calls was well for hours after its topic had gone. */
  @Test
  void heartbeatsAreNeverConfirmed_theirAgeIsReported() throws Exception {
    producers.add(
        new BatchProducer() {
          @Override
          public void send(
              int partition, BatchHeader header, byte[] lines, Consumer<@Nullable Failure> done) {
            // never answered, as when the topic is deleted
          }

          @Override
          public void close() {}
        });
    KafkaCallLog log = open(inMemory());

    Await.until("it ages", () -> log.statistics().oldestUnackedMillis() > 100);
    assertEquals(0, log.statistics().heldLines());
  }
}
