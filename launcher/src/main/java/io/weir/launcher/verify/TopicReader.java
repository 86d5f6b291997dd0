// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher.verify;

import io.weir.topics.catalog.Topic;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongConsumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.jspecify.annotations.Nullable;

/** Reads a topic from its first record to a fixed end, committed records only. */
final class TopicReader implements AutoCloseable {
  private static final Duration POLL = Duration.ofMillis(500);
  private static final Duration CALL_TIMEOUT = Duration.ofSeconds(20);

  private final KafkaConsumer<@Nullable String, byte @Nullable []> consumer;
  private final List<TopicPartition> partitions = new ArrayList<>();

  TopicReader(String bootstrapServers, Topic topic) {
    Map<String, Object> settings = new HashMap<>();
    settings.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrapServers);
    settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
    settings.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
    settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
    settings.put(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, 1_000);
    settings.put(ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, (int) CALL_TIMEOUT.toMillis());
    consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new ByteArrayDeserializer());
    for (PartitionInfo partition : consumer.partitionsFor(topic.name())) {
      partitions.add(new TopicPartition(topic.name(), partition.partition()));
    }
    consumer.assign(partitions);
  }

  /** What is done with each record. */
  interface Visitor {
    void visit(ConsumerRecord<@Nullable String, byte @Nullable []> record);
  }

  /** The end of each partition now: the offset after its last committed record. */
  Map<Integer, Long> ends() {
    Map<Integer, Long> ends = new HashMap<>();
    consumer
        .endOffsets(partitions)
        .forEach((partition, end) -> ends.put(partition.partition(), end));
    return ends;
  }

  /** Records between the first and the ends. */
  long size(Map<Integer, Long> ends) {
    long size = 0;
    for (Map.Entry<TopicPartition, Long> first : consumer.beginningOffsets(partitions).entrySet()) {
      size += Math.max(0, ends.getOrDefault(first.getKey().partition(), 0L) - first.getValue());
    }
    return size;
  }

  /**
   * Visits every record below the ends, each partition in order.
   *
   * @param progress told how many offsets lie behind
   */
  void read(Map<Integer, Long> ends, Visitor visitor, LongConsumer progress) {
    consumer.seekToBeginning(partitions);
    long first = consumer.beginningOffsets(partitions).values().stream().mapToLong(o -> o).sum();
    while (remaining(ends)) {
      for (ConsumerRecord<@Nullable String, byte @Nullable []> record : consumer.poll(POLL)) {
        if (record.offset() < ends.getOrDefault(record.partition(), 0L)) {
          visitor.visit(record);
        }
      }
      long position = 0;
      for (TopicPartition partition : partitions) {
        position +=
            Math.min(consumer.position(partition), ends.getOrDefault(partition.partition(), 0L));
      }
      progress.accept(Math.max(0, position - first));
    }
  }

  private boolean remaining(Map<Integer, Long> ends) {
    for (TopicPartition partition : partitions) {
      // a position passes the markers of transactions, which are offsets without a record
      if (consumer.position(partition) < ends.getOrDefault(partition.partition(), 0L)) {
        return true;
      }
    }
    return false;
  }

  @Override
  public void close() {
    consumer.close(org.apache.kafka.clients.consumer.CloseOptions.timeout(Duration.ofSeconds(2)));
  }
}
