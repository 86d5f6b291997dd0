// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import io.weir.topics.catalog.Topics;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Reads the calls topic, with a new consumer for each question. Thread-safe. */
final class CallsTopicLog implements SkippedOffsets.Log {
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final Duration POLL = Duration.ofMillis(200);

  private final Map<String, Object> consumerConfig;

  /**
   * Creates a reader.
   *
   * @param consumerConfig configuration of the consumers: how Kafka is reached, and which records
   *     count as committed
   */
  CallsTopicLog(Map<String, Object> consumerConfig) {
    this.consumerConfig = new HashMap<>(consumerConfig);
    this.consumerConfig.remove(ConsumerConfig.GROUP_ID_CONFIG);
    this.consumerConfig.remove(ConsumerConfig.GROUP_INSTANCE_ID_CONFIG);
    this.consumerConfig.put(ConsumerConfig.CLIENT_ID_CONFIG, "weir-gap-check");
    this.consumerConfig.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
  }

  @Override
  public boolean holdsRecord(int partition, long fromOffset, long toOffset) {
    TopicPartition calls = new TopicPartition(Topics.CALLS.name(), partition);
    try (KafkaConsumer<byte[], byte[]> consumer =
        new KafkaConsumer<>(
            consumerConfig, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
      consumer.assign(List.of(calls));
      Long beginning = consumer.beginningOffsets(Set.of(calls), PATIENCE).get(calls);
      long first = beginning == null ? fromOffset : Math.max(fromOffset, beginning);
      if (first >= toOffset) {
        return false;
      }
      consumer.seek(calls, first);
      long endNanos = System.nanoTime() + PATIENCE.toNanos();
      while (consumer.position(calls, PATIENCE) < toOffset) {
        List<ConsumerRecord<byte[], byte[]>> records = consumer.poll(POLL).records(calls);
        if (!records.isEmpty()) {
          return records.get(0).offset() < toOffset;
        }
        if (System.nanoTime() - endNanos > 0) {
          throw new TimeoutException(
              "the log does not tell what is between offsets "
                  + first
                  + " and "
                  + toOffset
                  + " of "
                  + calls);
        }
      }
      return false;
    }
  }
}
