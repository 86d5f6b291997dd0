// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.topics.catalog.Topics;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.CacheLossCodec;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Reads the whole calls topic, as it stands. */
public final class CallsTopicReader {
  private CallsTopicReader() {}

  /** One record of the topic. */
  public record Batch(int partition, long offset, BatchHeader header, String value) {
    public List<String> lines() {
      return value.lines().toList();
    }
  }

  public static void create(String bootstrapServers, int partitions) throws Exception {
    try (Admin admin = admin(bootstrapServers)) {
      NewTopic topic = new NewTopic(Topics.CALLS.name(), partitions, (short) 1);
      admin.createTopics(List.of(topic.configs(Topics.CALLS.configs()))).all().get();
    }
  }

  static void grow(String bootstrapServers, int partitions) throws Exception {
    try (Admin admin = admin(bootstrapServers)) {
      admin
          .createPartitions(Map.of(Topics.CALLS.name(), NewPartitions.increaseTo(partitions)))
          .all()
          .get();
    }
  }

  private static Admin admin(String bootstrapServers) {
    return Admin.create(Map.of("bootstrap.servers", bootstrapServers));
  }

  /** All records of all partitions, in order in each. */
  public static List<Batch> read(String bootstrapServers, int partitions) throws Exception {
    Map<String, Object> settings =
        Map.of(
            ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG,
            bootstrapServers,
            ConsumerConfig.ISOLATION_LEVEL_CONFIG,
            "read_committed");
    List<TopicPartition> all =
        IntStream.range(0, partitions)
            .mapToObj(partition -> new TopicPartition(Topics.CALLS.name(), partition))
            .toList();
    List<Batch> batches = new ArrayList<>();
    try (KafkaConsumer<byte[], byte[]> consumer =
        new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
      consumer.assign(all);
      consumer.seekToBeginning(all);
      Map<TopicPartition, Long> ends = consumer.endOffsets(all);
      while (ends.entrySet().stream()
          .anyMatch(end -> consumer.position(end.getKey()) < end.getValue())) {
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
          if (isCacheLoss(record)) {
            continue;
          }
          batches.add(
              new Batch(
                  record.partition(),
                  record.offset(),
                  BatchHeaderCodec.decode(
                      name -> {
                        Header header = record.headers().lastHeader(name);
                        return header == null ? null : header.value();
                      }),
                  new String(record.value(), StandardCharsets.UTF_8)));
        }
      }
    }
    return batches;
  }

  private static boolean isCacheLoss(ConsumerRecord<byte[], byte[]> record) {
    Header type = record.headers().lastHeader(BatchHeaderCodec.TYPE_HEADER);
    return type != null
        && CacheLossCodec.TYPE.equals(new String(type.value(), StandardCharsets.UTF_8));
  }
}
