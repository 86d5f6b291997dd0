// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.erase;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.cli.console.CommandFailedException;
import io.weir.cli.records.ReadProgress;
import io.weir.servers.testing.TestKafka;
import io.weir.servers.testing.TopicContents;
import io.weir.testing.Await;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.TopicAdmin.TopicAdminException;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.UsageCount;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsageState;
import io.weir.topics.model.UsageWindow;
import io.weir.topics.wire.PartitionProgressCodec;
import io.weir.topics.wire.UsageStateCodec;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Erases rows that the test has written to the state topic of a real broker. */
final class ErasureIT {
  private static final Duration LATENESS = Duration.ofDays(35);
  private static final long WINDOW_MILLIS = 900_000;
  private static final int WINDOWS = 7;

  /** So long ago that no call would be taken. */
  private static final long START = WINDOW_MILLIS * 1_900_000;

  private static final long COUNTED_THROUGH = START + WINDOWS * WINDOW_MILLIS + LATENESS.toMillis();

  private final TestKafka kafka = TestKafka.borrow();

  @AfterEach
  void giveBack() {
    kafka.close();
  }

  @Test
  void moreRowsThanFitIntoMemory_areAllErased() throws Exception {
    create();
    write("acme");
    write("acme2");

    ErasureReport report = erase(2, (what, done, total) -> {});

    assertEquals(WINDOWS, report.over());
    assertEquals(0, report.inReach());
    assertEquals(Set.of("acme2"), clients());
  }

  /** The newest window would still take a call, by a millisecond. */
  @Test
  void rowsBeforeAndBehindTheTimeOfTheCount_areDividedThere() throws Exception {
    create();
    write("acme");
    writeProgress(COUNTED_THROUGH - 1);

    ErasureReport report = erase(100, (what, done, total) -> {});

    assertEquals(WINDOWS - 1, report.over());
    assertEquals(1, report.inReach());
    assertEquals(Instant.ofEpochMilli(COUNTED_THROUGH), report.allOver());
    assertEquals(Instant.ofEpochMilli(COUNTED_THROUGH - 1), report.countedThrough());
  }

  /** The aggregator has an open transaction for most of the time. */
  @Test
  void openTransaction_isWaitedFor_beforeItIsProven() throws Exception {
    create();
    write("acme");
    try (KafkaProducer<byte[], byte[]> counting =
        producer(Map.of("transactional.id", "counting"))) {
      counting.initTransactions();
      counting.beginTransaction();
      counting.send(row("other", 0)).get();
      AtomicBoolean isWritten = new AtomicBoolean();
      CompletableFuture<ErasureReport> running =
          CompletableFuture.supplyAsync(
              () -> {
                try {
                  return erase(
                      100,
                      (what, done, total) ->
                          isWritten.compareAndSet(false, what.equals("erasing") && done == total));
                } catch (TopicAdminException failed) {
                  throw new IllegalStateException(failed);
                }
              });
      Await.until("the tombstones are written", isWritten::get);
      assertFalse(Await.within(Duration.ofSeconds(1), running::isDone));

      counting.commitTransaction();

      assertEquals(WINDOWS, running.get().over());
      assertEquals(Set.of("other"), clients());
    }
  }

  @Test
  void unreadableRow_isReported_andNothingIsErased() throws Exception {
    create();
    write("acme");
    try (KafkaProducer<byte[], byte[]> producer = producer(Map.of())) {
      producer
          .send(record("acme/calls/-/000000000000000", "{}".getBytes(StandardCharsets.UTF_8), 0))
          .get();
    }

    CommandFailedException failed =
        assertThrows(CommandFailedException.class, () -> erase(100, (what, done, total) -> {}));

    assertTrue(
        String.valueOf(failed.getMessage()).contains("weir.usage.state.v1-0-"), failed::toString);
    assertEquals(Set.of("acme"), clients());
  }

  @Test
  void clusterWithoutTopics_isReported() {
    CommandFailedException failed =
        assertThrows(CommandFailedException.class, () -> erase(100, (what, done, total) -> {}));

    assertTrue(
        String.valueOf(failed.getMessage()).contains("weir topics create"), failed::toString);
  }

  private void create() throws Exception {
    try (TopicAdmin topics = TopicAdmin.connect(KafkaConnection.to(kafka.bootstrapServers()))) {
      topics.createMissing(1, Optional.empty());
    }
    writeProgress(COUNTED_THROUGH);
  }

  private ErasureReport erase(int maxRows, ReadProgress progress) throws TopicAdminException {
    return new Erasure(
            new Erasure.Settings(
                KafkaConnection.to(kafka.bootstrapServers()), "acme", LATENESS, false),
            progress,
            maxRows)
        .run();
  }

  private void write(String client) throws Exception {
    try (KafkaProducer<byte[], byte[]> producer = producer(Map.of())) {
      for (int window = 0; window < WINDOWS; window++) {
        producer.send(row(client, window)).get();
      }
    }
  }

  private static ProducerRecord<byte[], byte[]> row(String client, int window) {
    long start = START + window * WINDOW_MILLIS;
    UsageState state =
        new UsageState(
            new UsageKey(client, "calls", "-"),
            new UsageWindow(start, start + WINDOW_MILLIS),
            UsageState.Status.FINAL,
            1,
            UsageCount.ZERO,
            true);
    return record(UsageStateCodec.key(state), UsageStateCodec.encode(state), start + WINDOW_MILLIS);
  }

  private void writeProgress(long countedThrough) throws Exception {
    PartitionProgress progress =
        new PartitionProgress(
            0,
            -1,
            countedThrough,
            START + WINDOWS * WINDOW_MILLIS,
            countedThrough,
            PartitionProgress.Counters.ZERO,
            0,
            0,
            List.of());
    try (KafkaProducer<byte[], byte[]> producer = producer(Map.of())) {
      producer
          .send(
              record(
                  PartitionProgressCodec.key(0),
                  PartitionProgressCodec.encode(progress),
                  countedThrough))
          .get();
    }
  }

  private static ProducerRecord<byte[], byte[]> record(String key, byte[] value, long at) {
    return new ProducerRecord<>(
        Topics.STATE.name(), 0, at, key.getBytes(StandardCharsets.UTF_8), value);
  }

  private KafkaProducer<byte[], byte[]> producer(Map<String, Object> further) {
    Map<String, Object> settings = new HashMap<>(further);
    settings.put("bootstrap.servers", kafka.bootstrapServers());
    return new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
  }

  /** The clients that have a row left. */
  private Set<String> clients() {
    Set<String> keys = new TreeSet<>();
    TopicContents.<RuntimeException>each(
        kafka.bootstrapServers(),
        Topics.STATE.name(),
        record -> {
          String key = new String(record.key(), StandardCharsets.UTF_8);
          if (record.value() == null) {
            keys.remove(key);
          } else if (UsageStateCodec.isOfClient(key)) {
            keys.add(key);
          }
        });
    Set<String> clients = new TreeSet<>();
    keys.forEach(key -> clients.add(UsageStateCodec.client(key)));
    return clients;
  }
}
