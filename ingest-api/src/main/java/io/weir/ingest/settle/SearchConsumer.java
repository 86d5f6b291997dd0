// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.topics.catalog.Topic;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** How the consumers of searches are made and closed. They are in no group. */
final class SearchConsumer {
  /** How long Kafka may take to answer one question. */
  private static final int API_TIMEOUT_MILLIS = 5_000;

  /** One record always fits; more of them are fetched at once where they are small. */
  private static final int MAX_FETCH_BYTES = 2 * Topic.MAX_RECORD_BYTES;

  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(1);
  private static final AtomicLong OPENED = new AtomicLong();

  private SearchConsumer() {}

  static KafkaConsumer<byte[], byte[]> open(String bootstrapServers, String node) {
    Map<String, Object> settings = new HashMap<>();
    settings.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrapServers);
    settings.put(
        ConsumerConfig.CLIENT_ID_CONFIG, "weir-settle-" + node + "-" + OPENED.incrementAndGet());
    settings.put(ConsumerConfig.GROUP_PROTOCOL_CONFIG, "classic");
    settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
    settings.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
    settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
    settings.put(ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG, false);
    settings.put(ConsumerConfig.MAX_PARTITION_FETCH_BYTES_CONFIG, MAX_FETCH_BYTES);
    settings.put(ConsumerConfig.FETCH_MAX_BYTES_CONFIG, MAX_FETCH_BYTES);
    settings.put(ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, API_TIMEOUT_MILLIS);
    settings.put(ConsumerConfig.REQUEST_TIMEOUT_MS_CONFIG, API_TIMEOUT_MILLIS);
    return new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
  }

  static void close(KafkaConsumer<byte[], byte[]> consumer) {
    consumer.close(CloseOptions.timeout(CLOSE_TIMEOUT));
  }
}
