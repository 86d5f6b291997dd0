// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import io.weir.topics.log.CallsReader;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** A reader of the calls topic that uses a new consumer for each call. Thread-safe. */
final class CallsTopicLog implements SkippedOffsets.Log {
  private static final Duration TIMEOUT = Duration.ofSeconds(30);
  private static final Duration POLL = Duration.ofMillis(200);

  private final Map<String, Object> consumerConfig;

  /**
   * Creates a reader.
   *
   * @param consumerConfig configuration of the consumers, with the connection to Kafka and the
   *     isolation level
   */
  CallsTopicLog(Map<String, Object> consumerConfig) {
    this.consumerConfig = new HashMap<>(consumerConfig);
    this.consumerConfig.remove(ConsumerConfig.GROUP_ID_CONFIG);
    this.consumerConfig.remove(ConsumerConfig.GROUP_INSTANCE_ID_CONFIG);
    this.consumerConfig.put(ConsumerConfig.CLIENT_ID_CONFIG, "weir-gap-check");
    this.consumerConfig.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
    this.consumerConfig.put(
        ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, Math.toIntExact(TIMEOUT.toMillis()));
  }

  @Override
  public boolean holdsRecord(int partition, long fromOffset, long toOffset) {
    try (CallsReader calls =
        new CallsReader(
            new KafkaConsumer<>(
                consumerConfig, new ByteArrayDeserializer(), new ByteArrayDeserializer()))) {
      long offset = Math.max(fromOffset, calls.begin(partition));
      long deadlineNanos = System.nanoTime() + TIMEOUT.toNanos();
      while (offset < toOffset) {
        CallsReader.Slice slice = calls.read(partition, offset, POLL);
        if (!slice.records().isEmpty()) {
          return slice.records().get(0).offset() < toOffset;
        }
        if (System.nanoTime() - deadlineNanos > 0) {
          throw new TimeoutException(
              "timed out while reading the calls topic between offsets "
                  + offset
                  + " and "
                  + toOffset
                  + " of partition "
                  + partition);
        }
        offset = slice.next();
      }
      return false;
    }
  }
}
