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
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** How the Kafka consumer of corrections is made and closed. */
final class CorrectionConsumer {
  /** The group of all appliers of a cache. */
  static final String GROUP = "weir-corrections";

  static final String TOPIC = Topics.CORRECTIONS.name();

  /** After this a node that died has its partitions taken over; until then they stand still. */
  private static final int SESSION_TIMEOUT_MILLIS = 10_000;

  private static final int HEARTBEAT_INTERVAL_MILLIS = 3_000;

  /** A broker that is silent for longer is asked again, over a new connection. */
  private static final int REQUEST_TIMEOUT_MILLIS = 10_000;

  /** Longest pause between two attempts, and so how long Kafka's return may go unnoticed. */
  private static final int MAX_BACKOFF_MILLIS = 1_000;

  /** Also how late new partitions are found. */
  private static final int METADATA_MAX_AGE_MILLIS = 60_000;

  /** Bounds the backlog: four of the largest batches. */
  private static final int MAX_POLL_RECORDS = 1_024;

  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(3);

  private CorrectionConsumer() {}

  /**
   * Opens one; Kafka is not asked yet.
   *
   * @throws org.apache.kafka.common.KafkaException when no address of Kafka can be resolved
   */
  static KafkaConsumer<byte[], byte[]> open(CorrectionSettings config) {
    Map<String, Object> settings = new HashMap<>();
    settings.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, config.bootstrapServers());
    settings.put(ConsumerConfig.CLIENT_ID_CONFIG, GROUP + "-" + config.node());
    settings.put(ConsumerConfig.GROUP_ID_CONFIG, GROUP);
    settings.put(ConsumerConfig.GROUP_INSTANCE_ID_CONFIG, config.node());
    settings.put(ConsumerConfig.GROUP_PROTOCOL_CONFIG, "classic");
    // the partitions that stay go on while others move
    settings.put(
        ConsumerConfig.PARTITION_ASSIGNMENT_STRATEGY_CONFIG,
        CooperativeStickyAssignor.class.getName());
    settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
    settings.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
    settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
    settings.put(ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG, false);
    settings.put(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, MAX_POLL_RECORDS);
    settings.put(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG, SESSION_TIMEOUT_MILLIS);
    settings.put(ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG, HEARTBEAT_INTERVAL_MILLIS);
    settings.put(ConsumerConfig.REQUEST_TIMEOUT_MS_CONFIG, REQUEST_TIMEOUT_MILLIS);
    settings.put(CommonClientConfigs.RETRY_BACKOFF_MAX_MS_CONFIG, MAX_BACKOFF_MILLIS);
    settings.put(ConsumerConfig.RECONNECT_BACKOFF_MAX_MS_CONFIG, MAX_BACKOFF_MILLIS);
    settings.put(ConsumerConfig.METADATA_MAX_AGE_CONFIG, METADATA_MAX_AGE_MILLIS);
    return new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
  }

  /**
   * Closes one.
   *
   * @param forGood whether others shall take the partitions over at once; else they wait for the
   *     node to come back, for as long as a session lasts
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
