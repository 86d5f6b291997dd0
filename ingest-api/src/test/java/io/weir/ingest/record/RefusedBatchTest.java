// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.ingest.clock.LocalClock;
import io.weir.ingest.gate.Recorded;
import io.weir.ingest.record.journal.Journal;
import io.weir.ingest.record.journal.JournalException;
import io.weir.ingest.record.journal.JournalIdentity;
import io.weir.testing.Await;
import io.weir.topics.catalog.ClientPartitioner;
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

/** What one batch that is refused, or cannot be read, does to those beside and behind it. */
final class RefusedBatchTest {
  private static final int PARTITIONS = 2;
  private static final Outlet.Failure TOO_LARGE = new Outlet.Failure(false, "too large");

  @TempDir private Path folder;
  private final AtomicLong now = new AtomicLong(1_000_050);
  private final Queue<Outlet> outlets = new ConcurrentLinkedQueue<>();
  private final List<KafkaCallLog> opened = new ArrayList<>();

  @AfterEach
  void closeAll() {
    opened.forEach(KafkaCallLog::close);
  }

  private KafkaCallLog open(Journal journal) throws Exception {
    return open(journal, HeldOutlet.inOrder(outlets));
  }

  private KafkaCallLog open(Journal journal, Outlet.Factory factory) throws Exception {
    RecordConfig config =
        RecordConfig.builder("n1", "unused:9092", Path.of("unused"))
            .linger(Duration.ofMillis(5))
            .heartbeatInterval(Duration.ofMillis(20))
            .ackTimeout(Await.PATIENCE)
            .drainTimeout(Duration.ofMillis(20))
            .maxBatchLines(1)
            .build();
    DecisionClock clock = new DecisionClock(new LocalClock(() -> now.get() * 1_000_000, now::get));
    KafkaCallLog log = new KafkaCallLog(config, clock, journal, factory);
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

  private static List<Long> sequences(HeldOutlet outlet) {
    return outlet.batches().stream().map(each -> each.header().batchSequence()).toList();
  }

  private static void answer(HeldOutlet outlet, int index, Outlet.@Nullable Failure failure) {
    outlet.batches().get(index).done().accept(failure);
  }

  private HeldOutlet held() {
    HeldOutlet outlet = new HeldOutlet();
    outlets.add(outlet);
    return outlet;
  }

  /** Once, the four behind it were written anew five times a second, for as long as it lasted. */
  @Test
  void refusedForGood_isAloneUntilKafkaHasIt_thenTheOthersFollow() throws Exception {
    HeldOutlet outlet = held();
    KafkaCallLog log = open(inMemory());
    record(log, 0, 6);
    Await.until("five are under way", () -> outlet.batches().size() == 5);
    answer(outlet, 0, TOO_LARGE);
    for (int i = 1; i < 5; i++) {
      answer(outlet, i, null);
    }

    for (int again = 5; again < 8; again++) {
      int batches = again + 1;
      Await.until("it is handed over again", () -> outlet.batches().size() == batches);
      assertTrue(log.check().detail().contains("too large"), () -> log.check().toString());
      answer(outlet, again, TOO_LARGE);
    }
    Await.until("and again", () -> outlet.batches().size() == 9);
    assertEquals(List.of(1L, 2L, 3L, 4L, 5L, 1L, 1L, 1L, 1L), sequences(outlet));
    answer(outlet, 8, null);

    Await.until("those behind it", () -> outlet.batches().size() == 14);
    assertEquals(List.of(2L, 3L, 4L, 5L, 6L), sequences(outlet).subList(9, 14));
    assertFalse(log.check().detail().contains("too large"), () -> log.check().toString());
  }

  /** Once, the node was told to be well by every batch of another partition. */
  @Test
  void refusedForGood_isToldWhileOtherPartitionsAreWell() throws Exception {
    HeldOutlet outlet = held();
    KafkaCallLog log = open(inMemory());
    record(log, 0, 1);
    Await.until("the batch is sent", () -> outlet.batches().size() == 1);
    answer(outlet, 0, TOO_LARGE);
    Await.until("it is told", () -> log.check().detail().contains("too large"));
    long beats = log.statistics().heartbeats();

    record(log, 1, 1);
    Await.until("the other is sent", () -> outlet.batches().size() == 2);
    answer(outlet, 1, null);
    Await.until("Kafka has it", () -> log.statistics().ackedLines() == 1);
    Await.until("the other beats", () -> log.statistics().heartbeats() > beats);

    assertTrue(log.check().detail().contains("too large"), () -> log.check().toString());
  }

  /**
   * Once, the goodbye and the new epoch's promise went past a batch of the old epoch, and a window
   * was closed without its calls.
   */
  @Test
  void refusedBatchOfTheOldEpoch_neitherGoodbyeNorNewEpochOvertakeIt() throws Exception {
    KafkaCallLog old = open(onDisk());
    record(old, 0, 2);
    old.close();
    now.addAndGet(60_000);
    HeldOutlet outlet = held();
    KafkaCallLog log = open(onDisk());
    record(log, 0, 2);
    Await.until("both of the old epoch", () -> sequences(outlet).equals(List.of(1L, 2L)));
    answer(outlet, 0, TOO_LARGE);
    answer(outlet, 1, null);

    Await.until("the first again", () -> sequences(outlet).equals(List.of(1L, 2L, 1L)));
    assertEquals(List.of(), ofPartition0(outlet, true), "neither a hello nor a goodbye");
    answer(outlet, 2, null);
    Await.until("the second again", () -> outlet.batches().size() == 4);
    answer(outlet, 3, null);
    Await.until("the new epoch", () -> outlet.batches().size() == 6);
    answer(outlet, 4, null);
    answer(outlet, 5, null);
    Await.until("nothing is held", () -> log.statistics().heldLines() == 0);

    List<BatchHeader> all = ofPartition0(outlet, false);
    List<Long> epochs = all.stream().map(BatchHeader::nodeEpoch).distinct().toList();
    assertEquals(2, epochs.size());
    assertEquals(1_000, epochs.get(0));
    int hello = firstOf(all, header -> header.nodeEpoch() != 1_000);
    int goodbye = firstOf(all, BatchHeader::departing);
    assertEquals(4, hello, all::toString);
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

  private static List<BatchHeader> ofPartition0(HeldOutlet outlet, boolean onlyWithoutLines) {
    return outlet.all().stream()
        .filter(each -> each.partition() == 0)
        .map(HeldOutlet.Sent::header)
        .filter(header -> !onlyWithoutLines || header.count() == 0)
        .toList();
  }

  /** Once, the goodbye followed a hello that had failed: for a moment nobody was waited for. */
  @Test
  void helloFails_goodbyeWaitsForTheNext() throws Exception {
    open(onDisk()).close();
    now.addAndGet(60_000);
    AtomicInteger refused = new AtomicInteger();
    Queue<BatchHeader> inKafka = new ConcurrentLinkedQueue<>();
    outlets.add(
        new Outlet() {
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
  void outletBreaks_eachBatchUnderWayIsCounted() throws Exception {
    HeldOutlet outlet = held();
    KafkaCallLog log = open(inMemory());
    record(log, 0, 5);
    Await.until("five are under way", () -> outlet.batches().size() == 5);
    outlets.add(HeldOutlet.open());

    answer(outlet, 0, new Outlet.Failure(true, "fenced"));

    Await.until("nothing is held", () -> log.statistics().heldLines() == 0);
    assertEquals(5, log.statistics().retriedBatches());
    assertFalse(log.check().detail().contains("fenced"), () -> log.check().toString());
  }

  /** Once, 75 producers a second were made and logged, while the node called itself well. */
  @Test
  void outletBreaksAgainAndAgain_pausesGrow_andItIsTold() throws Exception {
    List<Long> openedAtNanos = new ArrayList<>();
    Outlet broken =
        new Outlet() {
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
            return openedAtNanos.size() == 3;
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

  /** Once, no partition was sent and none beat until it could be read. */
  @Test
  void batchThatCannotBeRead_holdsItsOwnPartitionOnly() throws Exception {
    KafkaCallLog old = open(onDisk());
    record(old, 0, 1);
    old.close();
    HeldOutlet outlet = HeldOutlet.open();
    outlets.add(outlet);
    FailingJournal journal = new FailingJournal(onDisk());
    journal.unreadablePartition = 0;
    KafkaCallLog log = open(journal);
    Await.until("it was tried", () -> journal.unreadable() > 0);

    record(log, 1, 30);

    Await.until("the others are in Kafka", () -> log.statistics().ackedLines() == 30);
    now.addAndGet(5_000);
    Await.until("they promise", () -> log.statistics().promiseEpochMillis(1) >= 1_005_000);
    assertTrue(
        log.check().detail().contains("partition 0: the journal cannot be read"),
        () -> log.check().toString());
    journal.unreadablePartition = -1;
    Await.until("nothing is held", () -> log.statistics().heldLines() == 0);
    Await.until("it is well", () -> !log.check().detail().contains("cannot be read"));
  }

  /** Once, what was sealed stayed on a full disk, where only what Kafka has can be removed. */
  @Test
  void sealsCannotBeWritten_whatIsSealedIsSent() throws Exception {
    FailingJournal journal = new FailingJournal(inMemory());
    KafkaCallLog log = open(journal);
    record(log, 0, 2);
    Await.until("both are sealed", () -> log.statistics().sealedBatches() == 2);
    journal.failsToSeal = true;
    record(log, 0, 1);
    Await.until("no more can be", () -> journal.refusedSeals() > 0);

    outlets.add(HeldOutlet.open());

    Await.until("both are in Kafka", () -> log.statistics().ackedLines() == 2);
    assertEquals(1, log.statistics().heldLines());
    long beats = log.statistics().heartbeats();
    Await.until("the other partition beats", () -> log.statistics().heartbeats() > beats + 2);
    journal.failsToSeal = false;
    Await.until("so is the third", () -> log.statistics().heldLines() == 0);
  }

  /** Once, each fault put the next attempt to connect off, and none was made while they lasted. */
  @Test
  void sealerMeetsFaults_outletIsOpenedMeanwhile() throws Exception {
    FailingJournal journal = new FailingJournal(inMemory());
    journal.failsInSeal.set(Integer.MAX_VALUE);
    AtomicInteger openings = new AtomicInteger();
    KafkaCallLog log =
        open(
            journal,
            () -> {
              openings.incrementAndGet();
              return HeldOutlet.open();
            });
    record(log, 0, 1);

    Await.until("faults", () -> log.statistics().faults() > 3);
    Await.until("an outlet", () -> openings.get() > 0);
    journal.failsInSeal.set(0);
    Await.until("nothing is held", () -> log.statistics().heldLines() == 0);
  }

  /** Once, a node without calls was well for hours after its topic had gone. */
  @Test
  void heartbeatsAreNeverConfirmed_theirAgeIsTold() throws Exception {
    outlets.add(
        new Outlet() {
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
