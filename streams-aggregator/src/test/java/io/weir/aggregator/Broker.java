// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import io.weir.servers.testing.TestKafka;
import io.weir.servers.testing.TopicContents;
import io.weir.topics.catalog.Topic;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.log.CallsRecord;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.wire.BatchHeaderCodec;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** A real broker with the topics, written to as an ingest node does and read as a biller does. */
final class Broker implements AutoCloseable {
  private final TestKafka kafka;
  private final KafkaProducer<byte[], byte[]> producer;

  /** The broker that the tests of this JVM share, with empty topics. */
  Broker(int partitions) throws TopicAdmin.TopicAdminException {
    this(TestKafka.borrow(), partitions);
  }

  private Broker(TestKafka kafka, int partitions) throws TopicAdmin.TopicAdminException {
    this.kafka = kafka;
    try (TopicAdmin admin = TopicAdmin.connect(KafkaConnection.to(bootstrapServers()))) {
      admin.createMissing(partitions, Optional.empty());
    }
    producer =
        new KafkaProducer<>(
            Map.of("bootstrap.servers", bootstrapServers(), "acks", "all", "linger.ms", 5),
            new ByteArraySerializer(),
            new ByteArraySerializer());
  }

  /** A broker that can be stopped. */
  static Broker ofItsOwn(int partitions) throws TopicAdmin.TopicAdminException {
    return new Broker(TestKafka.start(), partitions);
  }

  String bootstrapServers() {
    return kafka.bootstrapServers();
  }

  /** Sends a batch; durable after {@link #flush}. */
  void send(int partition, BatchHeader header, byte[] value) {
    var unused = producer.send(CallsRecord.produced(partition, header, value));
  }

  /** Sends a record of the state topic, as the aggregator writes it. */
  void sendState(int partition, String type, String key, byte[] value) {
    ProducerRecord<byte[], byte[]> record =
        new ProducerRecord<>(
            Topics.STATE.name(), partition, key.getBytes(StandardCharsets.UTF_8), value);
    record.headers().add(BatchHeaderCodec.TYPE_HEADER, type.getBytes(StandardCharsets.UTF_8));
    var unused = producer.send(record);
  }

  /** Sends any bytes. */
  void sendRaw(int partition, byte[] value) {
    var unused = producer.send(new ProducerRecord<>(Topics.CALLS.name(), partition, null, value));
  }

  /** Sends any record to any topic. */
  void sendTo(String topic, int partition, byte[] key, byte[] value) {
    var unused = producer.send(new ProducerRecord<>(topic, partition, key, value));
  }

  /** Deletes every record of a partition, as an operator may with kafka-delete-records.sh. */
  void deleteAll(Topic topic, int partition) throws Exception {
    TopicPartition all = new TopicPartition(topic.name(), partition);
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrapServers()))) {
      admin.deleteRecords(Map.of(all, RecordsToDelete.beforeOffset(-1))).all().get();
    }
  }

  /** Takes a broker {@link #ofItsOwn} away; its data stay. */
  void stop() {
    kafka.stop();
  }

  /** Brings it back. */
  void restart() {
    kafka.restart();
  }

  void flush() {
    producer.flush();
  }

  /** Everything committed in a topic so far, in the order of each partition. */
  List<ConsumerRecord<byte[], byte[]>> read(Topic topic) {
    return read(topic.name());
  }

  /** The same of a topic by its name. */
  List<ConsumerRecord<byte[], byte[]>> read(String topic) {
    return TopicContents.read(bootstrapServers(), topic);
  }

  @Override
  public void close() {
    producer.close();
    kafka.close();
  }
}
