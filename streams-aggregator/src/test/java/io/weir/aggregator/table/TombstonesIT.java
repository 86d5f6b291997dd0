// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.table;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.servers.testing.TestKafka;
import io.weir.servers.testing.TopicContents;
import io.weir.testing.Await;
import io.weir.testing.FullSuite;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.model.UsageCount;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsageState;
import io.weir.topics.model.UsageWindow;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.UsageStateCodec;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The table follows tombstones, over a real broker. A row that the table has and the topic has not
 * stands for one whose tombstone Kafka has removed before it was read.
 */
final class TombstonesIT {
  private static final Duration KEPT = Duration.ofDays(7);
  private static final int PARTITION = 0;
  private static final byte[] ERASED_UNSEEN = utf8(UsageStateCodec.key(state("erased-unseen")));
  private static final byte[] ROW = utf8(UsageStateCodec.key(state("acme")));
  private static final byte[] VALUE = UsageStateCodec.encode(state("acme"));
  private static final byte[] ROW_OF_LONGER_NAME = utf8(UsageStateCodec.key(state("acme2")));
  private static final byte[] VALUE_OF_LONGER_NAME = UsageStateCodec.encode(state("acme2"));

  @TempDir Path folder;

  @Test
  void tombstone_removesItsRow_andNoOther() throws Exception {
    try (TestKafka kafka = withRows(TestKafka.borrow());
        TableStore store = open();
        TableFollower follower = follow(kafka, store, KEPT)) {
      awaitRead(follower);
      assertArrayEquals(VALUE, store.get(PARTITION, ROW));

      send(kafka, ROW, null);
      Await.until(
          "the table is up to date",
          () -> follower.refresh(List.of(PARTITION)).get(PARTITION) == Freshness.UP_TO_DATE);

      assertNull(store.get(PARTITION, ROW));
      assertArrayEquals(VALUE_OF_LONGER_NAME, store.get(PARTITION, ROW_OF_LONGER_NAME));
    }
  }

  @Test
  void tableClosedForAWhile_isReadOn() throws Exception {
    try (TestKafka kafka = withRows(TestKafka.borrow());
        TableStore store = open()) {
      leave(store, Duration.ofDays(3));
      try (TableFollower follower = follow(kafka, store, KEPT)) {
        awaitRead(follower);

        assertNotNull(store.get(PARTITION, ERASED_UNSEEN));
      }
    }
  }

  @Test
  void tableClosedForTooLong_isReadAgain() throws Exception {
    try (TestKafka kafka = withRows(TestKafka.borrow());
        TableStore store = open()) {
      leave(store, Duration.ofDays(4));
      try (TableFollower follower = follow(kafka, store, KEPT)) {
        awaitRead(follower);

        assertNull(store.get(PARTITION, ERASED_UNSEEN));
        assertArrayEquals(VALUE, store.get(PARTITION, ROW));
      }
    }
  }

  @Test
  void tableThatIsFollowed_knowsThatItIsHeld_alsoAfterARestart() throws Exception {
    long begun = System.currentTimeMillis();
    try (TestKafka kafka = withRows(TestKafka.borrow())) {
      long first;
      try (TableStore store = open();
          TableFollower follower = follow(kafka, store, Duration.ofSeconds(16))) {
        awaitRead(follower);
        first = held(store);
        assertTrue(first >= begun, () -> "it begins with the time at which it was read again");
        Await.until("it is held through a later time", () -> held(store) > first);
      }
      try (TableStore store = open()) {
        assertTrue(held(store) > first);
      }
    }
  }

  /** Nothing comes that would show it: the topic is idle. */
  @Test
  void kafkaUnavailableForTooLong_isReadAgain() throws Exception {
    Duration kept = Duration.ofSeconds(8);
    try (TestKafka kafka = withRows(TestKafka.start());
        TableStore store = open();
        TableFollower follower = follow(kafka, store, kept)) {
      awaitRead(follower);
      kafka.stop();
      long stopped = System.currentTimeMillis();
      write(store, ERASED_UNSEEN);
      Await.until(
          "tombstones could be gone", () -> System.currentTimeMillis() > stopped + kept.toMillis());
      assertNotNull(store.get(PARTITION, ERASED_UNSEEN), "nothing is dropped while Kafka is away");

      kafka.restart();

      Await.until("it is read again", () -> store.get(PARTITION, ERASED_UNSEEN) == null);
      awaitRead(follower);
      assertArrayEquals(VALUE, store.get(PARTITION, ROW));
    }
  }

  /** A table that takes longer to be read than a bound is not read for ever. */
  @Test
  @FullSuite(
      reason =
          "reads slowly; readingThatTakesLongerThanTheBound_isGivenMoreTime_andEnds always runs")
  void tableThatTakesLongerToBeRead_thanTombstonesAreKept_isRead() throws Exception {
    TableObserver slow = new SlowObserver(Duration.ofSeconds(3));
    try (TestKafka kafka = withRows(TestKafka.borrow());
        TableStore store = open();
        TableFollower follower =
            TableFollower.start(
                store,
                KafkaConnection.to(kafka.bootstrapServers()),
                () -> Set.of(PARTITION),
                () -> {},
                slow,
                Duration.ZERO,
                new SimpleMeterRegistry())) {
      awaitRead(follower);

      assertArrayEquals(VALUE, store.get(PARTITION, ROW));
    }
  }

  /** Takes a while for each row, as a great table does for all. */
  private record SlowObserver(Duration each) implements TableObserver {
    @Override
    public void begin(int partition) {
      // it is the rows that take long
    }

    @Override
    public void end(int partition) {
      // it is the rows that take long
    }

    @Override
    public void change(int partition, byte[] key, byte @Nullable [] value) {
      LockSupport.parkNanos(each.toNanos());
    }

    @Override
    public boolean work(long maxNanos) {
      return false;
    }
  }

  /** Kafka removes both the row and the tombstone from the topic, as the other tests assume. */
  @Test
  @FullSuite(reason = "waits for Kafka's cleaner; tableClosedForTooLong_isReadAgain always runs")
  void rowWhoseTombstoneKafkaRemovedUnread_isGone() throws Exception {
    Duration kept = Duration.ofSeconds(8);
    try (TestKafka kafka = withRows(TestKafka.start())) {
      compactEagerly(kafka, kept);
      try (TableStore store = open();
          TableFollower follower = follow(kafka, store, kept)) {
        awaitRead(follower);
        assertArrayEquals(VALUE, store.get(PARTITION, ROW));
      }
      send(kafka, ROW, null);
      Await.until(
          "the topic has neither the row nor its tombstone",
          () -> {
            send(kafka, utf8("@filler/00000"), VALUE); // the newest segment is never compacted
            return !isInTopic(kafka, ROW);
          });

      try (TableStore store = open()) {
        assertArrayEquals(VALUE, store.get(PARTITION, ROW), "it was not read meanwhile");
        try (TableFollower follower = follow(kafka, store, kept)) {
          awaitRead(follower);
          assertNull(store.get(PARTITION, ROW));
          assertArrayEquals(VALUE_OF_LONGER_NAME, store.get(PARTITION, ROW_OF_LONGER_NAME));
        }
      }
    }
  }

  private static void compactEagerly(TestKafka kafka, Duration tombstonesKept) throws Exception {
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()))) {
      admin
          .incrementalAlterConfigs(
              Map.of(
                  new ConfigResource(ConfigResource.Type.TOPIC, Topics.STATE.name()),
                  List.of(
                      set("segment.ms", "100"),
                      set("min.cleanable.dirty.ratio", "0"),
                      set("delete.retention.ms", Long.toString(tombstonesKept.toMillis()))),
                  new ConfigResource(ConfigResource.Type.BROKER, ""),
                  List.of(set("log.cleaner.backoff.ms", "200"))))
          .all()
          .get();
    }
  }

  private static AlterConfigOp set(String name, String value) {
    return new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET);
  }

  private static boolean isInTopic(TestKafka kafka, byte[] key) {
    return TopicContents.read(kafka.bootstrapServers(), Topics.STATE.name()).stream()
        .anyMatch(record -> Arrays.equals(record.key(), key));
  }

  private static TestKafka withRows(TestKafka kafka) throws Exception {
    try (TopicAdmin topics = TopicAdmin.connect(KafkaConnection.to(kafka.bootstrapServers()))) {
      topics.createMissing(1, Optional.empty());
    }
    send(kafka, ROW, VALUE);
    send(kafka, ROW_OF_LONGER_NAME, VALUE_OF_LONGER_NAME);
    return kafka;
  }

  private TableStore open() {
    return TableStore.open(folder.resolve("usage"), "topic");
  }

  private static TableFollower follow(TestKafka kafka, TableStore store, Duration tombstonesKept) {
    return TableFollower.start(
        store,
        KafkaConnection.to(kafka.bootstrapServers()),
        () -> Set.of(PARTITION),
        () -> {},
        TableObserver.NONE,
        tombstonesKept,
        new SimpleMeterRegistry());
  }

  private static void awaitRead(TableFollower follower) throws Exception {
    Await.until("the table is read", () -> follower.isReadable(PARTITION));
  }

  private static long held(TableStore store) {
    TableStore.Position position = store.positions().get(PARTITION);
    return position == null ? 0 : position.readThroughEpochMillis();
  }

  /** The table as it was left some time ago, behind the last record. */
  private static void leave(TableStore store, Duration ago) {
    write(store, ERASED_UNSEEN);
    try (TableStore.Changes changes = store.changes()) {
      changes.position(
          PARTITION, new TableStore.Position(2, System.currentTimeMillis() - ago.toMillis()));
      changes.write();
    }
  }

  private static void write(TableStore store, byte[] key) {
    TableWrites.write(store, TableObserver.NONE, PARTITION, key, VALUE);
  }

  private static void send(TestKafka kafka, byte[] key, byte @Nullable [] value) throws Exception {
    try (KafkaProducer<byte[], byte @Nullable []> producer =
        new KafkaProducer<>(
            Map.of("bootstrap.servers", kafka.bootstrapServers()),
            new ByteArraySerializer(),
            new ByteArraySerializer())) {
      ProducerRecord<byte[], byte @Nullable []> record =
          new ProducerRecord<>(Topics.STATE.name(), PARTITION, key, value);
      record.headers().add(BatchHeaderCodec.TYPE_HEADER, utf8(UsageStateCodec.TYPE));
      producer.send(record).get();
    }
  }

  private static UsageState state(String client) {
    return new UsageState(
        new UsageKey(client, "calls", "GET /"),
        new UsageWindow(0, 1_000),
        UsageState.Status.FINAL,
        1,
        UsageCount.ZERO,
        true);
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
