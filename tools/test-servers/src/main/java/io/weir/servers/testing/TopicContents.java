// SPDX-License-Identifier: Apache-2.0
package io.weir.servers.testing;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Reads the committed records of a topic with a plain Kafka consumer. Uses none of the code under
 * test. Stateless and thread-safe.
 */
public final class TopicContents {
  private static final Duration POLL = Duration.ofMillis(100);

  private TopicContents() {}

  /**
   * Receives records.
   *
   * @param <E> an exception that the visitor can throw to end the read
   */
  public interface Visitor<E extends Exception> {
    void visit(ConsumerRecord<byte[], byte[]> record) throws E;
  }

  /** Returns all records. Records of the same partition are in order. */
  public static List<ConsumerRecord<byte[], byte[]>> read(String bootstrapServers, String topic) {
    List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
    TopicContents.<RuntimeException>each(bootstrapServers, topic, records::add);
    return records;
  }

  /**
   * Passes all records to a visitor, and does not store them. Records of the same partition are in
   * order.
   */
  public static <E extends Exception> void each(
      String bootstrapServers, String topic, Visitor<E> visitor) throws E {
    try (KafkaConsumer<byte[], byte[]> consumer =
        new KafkaConsumer<>(
            Map.of(
                "bootstrap.servers",
                bootstrapServers,
                "isolation.level",
                "read_committed",
                "auto.offset.reset",
                "earliest",
                "enable.auto.commit",
                false),
            new ByteArrayDeserializer(),
            new ByteArrayDeserializer())) {
      List<TopicPartition> partitions =
          consumer.partitionsFor(topic).stream()
              .map(info -> new TopicPartition(topic, info.partition()))
              .toList();
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
      while (ends.entrySet().stream()
          .anyMatch(end -> consumer.position(end.getKey()) < end.getValue())) {
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL)) {
          visitor.visit(record);
        }
      }
    }
  }
}
