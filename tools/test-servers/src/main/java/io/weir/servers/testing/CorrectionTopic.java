// SPDX-License-Identifier: Apache-2.0
package io.weir.servers.testing;

import io.weir.limits.BucketKey;
import io.weir.limits.correction.Correction;
import io.weir.testing.Await;
import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.catalog.Topics;
import io.weir.topics.log.HeaderValues;
import io.weir.topics.model.CacheRestored;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.CorrectionCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.MemberToRemove;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.UnknownMemberIdException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.jspecify.annotations.Nullable;

/**
 * Reads the corrections topic of a broker, and writes records to it in the format of the
 * aggregator. Also reads and changes the consumer group that applies corrections. Not thread-safe.
 */
public final class CorrectionTopic {
  private static final String NAME = Topics.CORRECTIONS.name();

  /**
   * The consumer group of all nodes. The tests have their own copy of the name, because operators
   * rely on the name.
   */
  private static final String GROUP = "weir-corrections";

  private final String bootstrapServers;
  private final int partitions;

  /** Creates access to the topic. The topic may not exist yet. */
  public CorrectionTopic(String bootstrapServers, int partitions) {
    this.bootstrapServers = bootstrapServers;
    this.partitions = partitions;
  }

  /** Creates the topic. */
  public CorrectionTopic create() throws Exception {
    try (Admin admin = admin()) {
      NewTopic created = new NewTopic(NAME, partitions, (short) 1);
      admin.createTopics(List.of(created.configs(Topics.CORRECTIONS.configs()))).all().get();
    }
    return this;
  }

  private Admin admin() {
    return Admin.create(Map.of("bootstrap.servers", bootstrapServers));
  }

  /** Writes corrections in one committed transaction. */
  public void publish(List<Correction> corrections) throws Exception {
    List<ProducerRecord<byte[], byte[]>> records = new ArrayList<>();
    for (Correction correction : corrections) {
      records.add(record(correction));
    }
    send(records, true);
  }

  /** Writes corrections in one aborted transaction. The records stay in the topic. */
  public void abort(List<Correction> corrections) throws Exception {
    List<ProducerRecord<byte[], byte[]>> records = new ArrayList<>();
    for (Correction correction : corrections) {
      records.add(record(correction));
    }
    send(records, false);
  }

  /** Writes a "restored" marker. */
  public void publish(CacheRestored restored) throws Exception {
    send(
        List.of(
            record(
                restored.partition(),
                CorrectionCodec.restoredKey(restored.partition()),
                CorrectionCodec.RESTORED_TYPE,
                CorrectionCodec.encode(restored))),
        true);
  }

  /** Writes a record with the given type and value. Without a type, the record has no header. */
  public void publishRaw(int partition, @Nullable String type, byte @Nullable [] value)
      throws Exception {
    send(List.of(record(partition, "key", type, value)), true);
  }

  private ProducerRecord<byte[], byte[]> record(Correction correction) {
    String bucket = correction.bucket();
    String client = BucketKey.parse(bucket).client().shown();
    return record(
        ClientPartitioner.partition(client, partitions),
        bucket,
        CorrectionCodec.TYPE,
        CorrectionCodec.encode(correction));
  }

  private static ProducerRecord<byte[], byte[]> record(
      int partition, String key, @Nullable String type, byte @Nullable [] value) {
    ProducerRecord<byte[], byte[]> record =
        new ProducerRecord<>(NAME, partition, key.getBytes(StandardCharsets.UTF_8), value);
    if (type != null) {
      record.headers().add(BatchHeaderCodec.TYPE_HEADER, type.getBytes(StandardCharsets.UTF_8));
    }
    return record;
  }

  private void send(List<ProducerRecord<byte[], byte[]>> records, boolean commit) throws Exception {
    Map<String, Object> settings = new HashMap<>();
    settings.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrapServers);
    settings.put(ProducerConfig.TRANSACTIONAL_ID_CONFIG, "test");
    try (KafkaProducer<byte[], byte[]> producer =
        new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
      producer.initTransactions();
      producer.beginTransaction();
      List<Future<RecordMetadata>> sent = new ArrayList<>();
      for (ProducerRecord<byte[], byte[]> record : records) {
        sent.add(producer.send(record));
      }
      for (Future<RecordMetadata> each : sent) {
        each.get();
      }
      if (commit) {
        producer.commitTransaction();
      } else {
        producer.abortTransaction();
      }
    }
  }

  /** Returns all committed records. Records of the same partition are in order. */
  public List<ConsumerRecord<byte[], byte[]>> records() {
    return TopicContents.read(bootstrapServers, NAME);
  }

  /** Returns all committed corrections. Corrections of the same bucket are in order. */
  public List<Correction> corrections() throws MalformedRecordException {
    List<Correction> corrections = new ArrayList<>();
    for (ConsumerRecord<byte[], byte[]> record : records()) {
      String type = HeaderValues.text(record.headers(), BatchHeaderCodec.TYPE_HEADER);
      if (record.value() != null && CorrectionCodec.TYPE.equals(type)) {
        corrections.add(CorrectionCodec.decode(record.value()));
      }
    }
    return corrections;
  }

  /**
   * Returns the committed offsets of the group by partition. The map omits partitions without a
   * committed offset.
   */
  public Map<Integer, Long> committed() throws Exception {
    try (Admin admin = admin()) {
      Map<Integer, Long> offsets = new HashMap<>();
      admin
          .listConsumerGroupOffsets(GROUP)
          .partitionsToOffsetAndMetadata()
          .get()
          .forEach((partition, offset) -> offsets.put(partition.partition(), offset.offset()));
      return offsets;
    }
  }

  /** Removes a member from the group, unless its session has already expired. */
  public void endSession(String node) throws Exception {
    try (Admin admin = admin()) {
      admin
          .removeMembersFromConsumerGroup(
              GROUP, new RemoveMembersFromConsumerGroupOptions(Set.of(new MemberToRemove(node))))
          .all()
          .get();
    } catch (ExecutionException failed) {
      if (!(failed.getCause() instanceof UnknownMemberIdException)) {
        throw failed;
      }
    }
  }

  /** Waits until the group has no members, and then resets its offsets to the beginning. */
  public void rewind() throws Exception {
    try (Admin admin = admin()) {
      Map<TopicPartition, OffsetAndMetadata> beginning = new HashMap<>();
      for (int partition = 0; partition < partitions; partition++) {
        beginning.put(new TopicPartition(NAME, partition), new OffsetAndMetadata(0));
      }
      Await.until(
          "the group to have no members",
          () ->
              admin.describeConsumerGroups(List.of(GROUP)).all().get().values().stream()
                  .allMatch(group -> group.members().isEmpty()));
      admin.alterConsumerGroupOffsets(GROUP, beginning).all().get();
    }
  }
}
