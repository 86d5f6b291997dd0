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
  /** The consumer group of all nodes that apply corrections to one cache. */
  static final String GROUP = "weir-corrections";

  static final String TOPIC = Topics.CORRECTIONS.name();

  /**
   * Session timeout of the group. When a node has been dead for this time, other nodes take over
   * its partitions.
   */
  private static final int SESSION_TIMEOUT_MILLIS = 10_000;

  private static final int HEARTBEAT_INTERVAL_MILLIS = 3_000;

  /** Time without a reply after which the consumer repeats a request over a new connection. */
  private static final int REQUEST_TIMEOUT_MILLIS = 10_000;

  /**
   * Maximum pause between two attempts. The pause bounds the time until the consumer notices that
   * Kafka is available again.
   */
  private static final int MAX_BACKOFF_MILLIS = 1_000;

  /** Maximum age of metadata. This age bounds the time until the consumer finds new partitions. */
  private static final int METADATA_MAX_AGE_MILLIS = 60_000;

  /**
   * Maximum number of records per poll, equal to four of the largest batches. This number bounds
   * the backlog.
   */
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
    // with this assignor a member continues to read the partitions that it keeps during a
    // rebalance
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
   * @param forGood whether this node leaves the group. If true, other members take over its
   *     partitions immediately; if false, they do so after the session timeout
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
