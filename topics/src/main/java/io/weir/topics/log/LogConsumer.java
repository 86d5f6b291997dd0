// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.log;

import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Opens the consumers of Weir's topics. All of them read committed records only, since records of
 * aborted transactions were never counted; none commits by itself, and none creates a topic by
 * asking for it. Stateless and thread-safe.
 */
public final class LogConsumer {
  private LogConsumer() {}

  /**
   * Opens a consumer. Does not contact Kafka yet. The caller closes it.
   *
   * @param own the settings in which this consumer differs, by Kafka's names; they take precedence.
   *     Without any, the consumer belongs to no group, has no name, and begins at the first record
   * @throws org.apache.kafka.common.KafkaException if no address of Kafka can be resolved
   */
  public static KafkaConsumer<byte[], byte[]> open(
      String bootstrapServers, Map<String, Object> own) {
    Map<String, Object> settings = new HashMap<>();
    settings.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrapServers);
    settings.put(ConsumerConfig.GROUP_PROTOCOL_CONFIG, "classic");
    settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
    settings.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
    settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
    settings.put(ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG, false);
    settings.putAll(own);
    return new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
  }
}
