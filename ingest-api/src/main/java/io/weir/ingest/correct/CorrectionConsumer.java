// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import io.weir.topics.catalog.Topics;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.CloseOptions.GroupMembershipOperation;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.KafkaConsumer;

/** Opens and closes the Kafka consumer of corrections. */
final class CorrectionConsumer {
  /** The consumer group of all appliers of a cache. */
  static final String GROUP = "weir-corrections";

  static final String TOPIC = Topics.CORRECTIONS.name();

  /**
   * Time after which other nodes take over the partitions of a dead node; until then no node reads
   * them.
   */
  private static final int SESSION_TIMEOUT_MILLIS = 10_000;

  private static final int HEARTBEAT_INTERVAL_MILLIS = 3_000;

  /** Time without a reply after which a request to a broker is repeated over a new connection. */
  private static final int REQUEST_TIMEOUT_MILLIS = 10_000;

  /**
   * Maximum pause between two attempts, and so the maximum time until Kafka's return is noticed.
   */
  private static final int MAX_BACKOFF_MILLIS = 1_000;

  /** Maximum age of metadata; also the maximum time until new partitions are found. */
  private static final int METADATA_MAX_AGE_MILLIS = 60_000;

  /** Maximum number of records per poll, which bounds the backlog: four of the largest batches. */
  private static final int MAX_POLL_RECORDS = 1_024;

  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(3);

  private CorrectionConsumer() {}

  /**
   * Opens a consumer. Does not yet contact Kafka.
   *
   * @throws org.apache.kafka.common.KafkaException if no address of Kafka can be resolved
   */
  static KafkaConsumer<byte[], byte[]> open(CorrectionSettings config) {
    Map<String, Object> settings = new HashMap<>();
    settings.put(ConsumerConfig.CLIENT_ID_CONFIG, GROUP + "-" + config.node());
    settings.put(ConsumerConfig.GROUP_ID_CONFIG, GROUP);
    settings.put(ConsumerConfig.GROUP_INSTANCE_ID_CONFIG, config.node());
    // partitions that stay with their member are read on while others move
    settings.put(
        ConsumerConfig.PARTITION_ASSIGNMENT_STRATEGY_CONFIG,
        CooperativeStickyAssignor.class.getName());
    settings.put(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, MAX_POLL_RECORDS);
    settings.put(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG, SESSION_TIMEOUT_MILLIS);
    settings.put(ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG, HEARTBEAT_INTERVAL_MILLIS);
    settings.put(ConsumerConfig.REQUEST_TIMEOUT_MS_CONFIG, REQUEST_TIMEOUT_MILLIS);
    settings.put(CommonClientConfigs.RETRY_BACKOFF_MAX_MS_CONFIG, MAX_BACKOFF_MILLIS);
    settings.put(ConsumerConfig.RECONNECT_BACKOFF_MAX_MS_CONFIG, MAX_BACKOFF_MILLIS);
    settings.put(ConsumerConfig.METADATA_MAX_AGE_CONFIG, METADATA_MAX_AGE_MILLIS);
    return config.kafka().consumer(settings);
  }

  /**
   * Closes a consumer.
   *
   * @param forGood true if other members must take over the partitions immediately; false if they
   *     must wait for this node to return, for the length of a session
   */
  static void close(KafkaConsumer<byte[], byte[]> consumer, boolean forGood) {
    consumer.close(
        CloseOptions.timeout(CLOSE_TIMEOUT)
            .withGroupMembershipOperation(
                forGood
                    ? GroupMembershipOperation.LEAVE_GROUP
                    : GroupMembershipOperation.REMAIN_IN_GROUP));
  }
}
