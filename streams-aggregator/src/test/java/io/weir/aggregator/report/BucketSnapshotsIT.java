// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.aggregator.Calls;
import io.weir.aggregator.audit.bucket.BucketSnapshot;
import io.weir.limits.BucketKey;
import io.weir.limits.TokenBucketLimit;
import io.weir.servers.testing.TestKafka;
import io.weir.testing.Await;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.BytesDeserializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.HostInfo;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The query of a store with the layout of the aggregator's store, in a running application. */
final class BucketSnapshotsIT {
  private static final int PARTITIONS = 2;
  private static final String STORE = "buckets";
  private static final HostInfo SELF = new HostInfo("127.0.0.1", 8081);

  @TempDir Path folder;

  @Test
  void ofClient_returnsTheBucketsOfThatClientOnly() throws Exception {
    try (TestKafka kafka = TestKafka.borrow()) {
      createTopics(kafka);
      try (KafkaStreams application = new KafkaStreams(topology(), properties(kafka));
          KafkaProducer<byte[], byte[]> producer =
              new KafkaProducer<>(
                  Map.of("bootstrap.servers", kafka.bootstrapServers()),
                  new ByteArraySerializer(),
                  new ByteArraySerializer())) {
        application.start();
        BucketSnapshots source =
            new BucketSnapshots(application, STORE, BucketSnapshotsIT::snapshot);
        String client = Calls.clientOf("acme", 1, PARTITIONS);
        String burst = BucketKey.of("burst", client).text();
        String items = BucketKey.of("items", client, "GET /items").text();
        put(producer, "b" + burst, burst);
        put(producer, "b" + items, items);
        put(producer, "b" + BucketKey.of("burst", client + "0").text(), "of another client");
        put(producer, "a" + burst, "not an audit");
        put(producer, "z", "the end");
        producer.flush();

        Await.until(
            "both buckets are returned",
            () -> holds(() -> source.ofClient(1, client, 10).snapshots().size() == 2));
        assertEquals(
            List.of(burst, items),
            source.ofClient(1, client, 10).snapshots().stream()
                .map(BucketSnapshot::bucket)
                .toList());
        assertEquals(1, source.ofClient(1, client, 1).snapshots().size());
        Await.until(
            "the owner returns it", () -> holds(() -> !source.ofClient(1, client, 1).isCopy()));
        assertTrue(source.ofClient(1, "nobody", 10).snapshots().isEmpty());
        assertTrue(
            new BucketSnapshots(application, "no-such-store", BucketSnapshotsIT::snapshot)
                .ofClient(1, client, 10)
                .snapshots()
                .isEmpty());
      }
    }
  }

  private static void createTopics(TestKafka kafka) throws Exception {
    try (TopicAdmin admin = TopicAdmin.connect(KafkaConnection.to(kafka.bootstrapServers()))) {
      admin.createMissing(PARTITIONS, Optional.empty());
    }
  }

  private static Topology topology() {
    return new Topology()
        .addSource(
            "calls", new BytesDeserializer(), new ByteArrayDeserializer(), Topics.CALLS.name())
        .addProcessor("put", Put::new, "calls")
        .addStateStore(
            Stores.keyValueStoreBuilder(
                    Stores.persistentKeyValueStore(STORE), Serdes.Bytes(), Serdes.ByteArray())
                .withCachingEnabled(),
            "put");
  }

  private static final class Put extends ContextualProcessor<Bytes, byte[], Void, Void> {
    @Override
    public void process(Record<Bytes, byte[]> record) {
      KeyValueStore<Bytes, byte[]> store = context().getStateStore(STORE);
      store.put(record.key(), record.value());
    }
  }

  private Properties properties(TestKafka kafka) {
    Properties properties = new Properties();
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, "snapshots");
    properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, kafka.bootstrapServers());
    properties.put(StreamsConfig.STATE_DIR_CONFIG, folder.toString());
    properties.put(StreamsConfig.APPLICATION_SERVER_CONFIG, SELF.host() + ":" + SELF.port());
    return properties;
  }

  private static void put(KafkaProducer<byte[], byte[]> producer, String key, String value) {
    var unused =
        producer.send(new ProducerRecord<>(Topics.CALLS.name(), 1, utf8(key), utf8(value)));
  }

  private static BucketSnapshot snapshot(byte[] value) {
    return new BucketSnapshot(
        new String(value, StandardCharsets.UTF_8),
        new TokenBucketLimit(1, 1, 1_000_000),
        1,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0);
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static boolean holds(BooleanSupplier condition) {
    try {
      return condition.getAsBoolean();
    } catch (ProblemException stillRestoring) {
      return false;
    }
  }
}
