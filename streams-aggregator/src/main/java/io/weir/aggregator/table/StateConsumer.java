// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.table;

import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;

/**
 * Creates consumers of the state topic. The consumers read only committed records and belong to no
 * consumer group.
 */
final class StateConsumer {
  private static final int MAX_POLL_RECORDS = 2_000;

  /** Maximum number of bytes fetched from one broker at once. */
  private static final int MAX_FETCH_BYTES = 16 * 1024 * 1024;

  private static final Duration POSITION_TIMEOUT = Duration.ofMillis(500);

  private StateConsumer() {}

  static Consumer<byte[], byte[]> connect(KafkaConnection kafka, String clientId) {
    return kafka.consumer(
        Map.of(
            ConsumerConfig.CLIENT_ID_CONFIG,
            clientId,
            ConsumerConfig.AUTO_OFFSET_RESET_CONFIG,
            "none",
            ConsumerConfig.MAX_POLL_RECORDS_CONFIG,
            MAX_POLL_RECORDS,
            ConsumerConfig.FETCH_MAX_BYTES_CONFIG,
            MAX_FETCH_BYTES,
            ConsumerConfig.ENABLE_METRICS_PUSH_CONFIG,
            false));
  }

  static TopicPartition partition(int number) {
    return new TopicPartition(Topics.STATE.name(), number);
  }

  /** Returns the numbers of the assigned partitions. */
  static Set<Integer> assigned(Consumer<?, ?> consumer) {
    Set<Integer> numbers = new TreeSet<>();
    consumer.assignment().forEach(one -> numbers.add(one.partition()));
    return numbers;
  }

  /**
   * Returns the position in a partition, or {@link Barrier#UNKNOWN} if the partition is not
   * assigned or the consumer does not know the position yet.
   */
  static long position(Consumer<?, ?> consumer, int number) {
    TopicPartition one = partition(number);
    if (!consumer.assignment().contains(one)) {
      return Barrier.UNKNOWN;
    }
    try {
      return consumer.position(one, POSITION_TIMEOUT);
    } catch (TimeoutException notYet) {
      return Barrier.UNKNOWN;
    }
  }
}
