// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import io.weir.topics.catalog.Copies;
import io.weir.topics.catalog.SingleCopy;
import io.weir.topics.catalog.Topic;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.streams.StreamsConfig;

/**
 * The settings of the Streams application. The settings include an explicit value for every
 * relevant option.
 *
 * @param kafka connection to Kafka
 * @param applicationPrefix prefix of the application id, the consumer group and the changelog
 *     topics
 * @param stateFolder folder of the stores
 * @param instance name of this process. The name must be unique among all aggregators. A process
 *     that restarts with the same name gets its partitions back without a rebalance
 * @param sessionTimeout time after which other instances take the partitions of a stopped instance.
 *     During this time, other instances answer report requests for these partitions, but no
 *     instance counts their calls. After the same time, Kafka aborts an open transaction of the
 *     stopped instance. Until this abort, readers wait. If the instance restarts with the same
 *     folder, it aborts this transaction immediately
 * @param folderId id of the state folder, which distinguishes two processes with the same name
 * @param threads number of threads of {@code meter-core}
 * @param standbys number of other instances that keep a copy of the stores
 * @param singleCopy whether internal topics have the cluster's default number of replicas;
 *     otherwise they have the number needed to survive the loss of a broker
 */
public record StreamsSettings(
    KafkaConnection kafka,
    String applicationPrefix,
    Path stateFolder,
    String instance,
    Duration sessionTimeout,
    String folderId,
    int threads,
    int standbys,
    SingleCopy singleCopy) {

  private static final String METER_CORE = "meter-core";

  private static final int COMMIT_INTERVAL_MILLIS =
      100; // on average, half of this time adds to the age of a report

  /**
   * Maximum time between two polls of a thread. A thread that exceeds this time loses its
   * partitions.
   */
  private static final int MAX_POLL_INTERVAL_MILLIS = 300_000;

  private static final int MAX_HEARTBEAT_INTERVAL_MILLIS = 3_000;

  /** Number of heartbeats per session timeout. */
  private static final int HEARTBEATS_A_SESSION = 3;

  /**
   * Maximum number of records that an instance's state may lack when a partition moves to the
   * instance.
   */
  private static final long ACCEPTABLE_RECOVERY_LAG_RECORDS = 10_000;

  /**
   * Maximum number of partitions whose state is prepared on other instances at the same time. Every
   * {@link #PROBING_REBALANCE_INTERVAL_MILLIS}, Kafka Streams checks whether this state is ready.
   */
  private static final int MAX_WARMUP_REPLICAS = 2;

  private static final long PROBING_REBALANCE_INTERVAL_MILLIS = 60_000;

  /**
   * Maximum number of buffered records per partition. One record is a batch of calls with at most 4
   * MiB.
   */
  private static final int MAX_RECORDS_BUFFERED = 50;

  private static final int MAX_FETCH_BYTES_PER_PARTITION = 2 * Topic.MAX_RECORD_BYTES;
  private static final int MAX_FETCH_BYTES = 8 * Topic.MAX_RECORD_BYTES;
  private static final int PRODUCER_BATCH_BYTES = 128 * 1024;
  private static final int PRODUCER_LINGER_MILLIS = 10;
  private static final long STORE_CACHE_BYTES = 32L * 1024 * 1024;

  /**
   * Returns the properties of the application {@code meter-core}.
   *
   * @param advertisedReports host:port where other instances reach the reports API of this instance
   */
  public Properties meterCore(String advertisedReports) {
    Properties properties = common();
    properties.put(StreamsConfig.APPLICATION_SERVER_CONFIG, advertisedReports);
    properties.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
    properties.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, threads);
    properties.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, STORE_CACHE_BYTES);
    properties.put(
        StreamsConfig.producerPrefix(ProducerConfig.TRANSACTION_TIMEOUT_CONFIG),
        sessionTimeoutMillis());
    properties.put(
        StreamsConfig.producerPrefix(ProducerConfig.BATCH_SIZE_CONFIG), PRODUCER_BATCH_BYTES);
    properties.put(
        StreamsConfig.producerPrefix(ProducerConfig.LINGER_MS_CONFIG), PRODUCER_LINGER_MILLIS);
    properties.put(StreamsConfig.producerPrefix(ProducerConfig.COMPRESSION_TYPE_CONFIG), "lz4");
    properties.put(
        StreamsConfig.producerPrefix(ProducerConfig.MAX_REQUEST_SIZE_CONFIG),
        Topic.MAX_RECORD_BYTES);
    return kafka.streams(properties);
  }

  /** Returns the application id, which is also the name of the consumer group. */
  public String applicationId() {
    return applicationId(applicationPrefix);
  }

  /** Returns the application id for a prefix. */
  public static String applicationId(String applicationPrefix) {
    return applicationPrefix + METER_CORE;
  }

  /** Returns whether a topic is an internal topic of the application with this prefix. */
  public static boolean isInternalTopic(String applicationPrefix, String topic) {
    return topic.startsWith(applicationId(applicationPrefix) + "-");
  }

  /** Returns the prefix of the client ids of the application's Kafka clients. */
  public String clientId() {
    return applicationId() + "-" + instance + "-" + folderId;
  }

  private int sessionTimeoutMillis() {
    return Math.toIntExact(sessionTimeout.toMillis());
  }

  private Properties common() {
    Properties properties = new Properties();
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, applicationId());
    properties.put(StreamsConfig.CLIENT_ID_CONFIG, clientId());
    properties.put(StreamsConfig.STATE_DIR_CONFIG, stateFolder.toString());
    properties.put(StreamsConfig.NUM_STANDBY_REPLICAS_CONFIG, standbys);
    if (singleCopy == SingleCopy.REFUSE) {
      properties.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, (int) Copies.LEAST);
      properties.put(
          StreamsConfig.topicPrefix(TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG),
          Integer.toString(Copies.LEAST_IN_SYNC));
    }
    properties.put(StreamsConfig.ACCEPTABLE_RECOVERY_LAG_CONFIG, ACCEPTABLE_RECOVERY_LAG_RECORDS);
    properties.put(StreamsConfig.MAX_WARMUP_REPLICAS_CONFIG, MAX_WARMUP_REPLICAS);
    properties.put(
        StreamsConfig.PROBING_REBALANCE_INTERVAL_MS_CONFIG, PROBING_REBALANCE_INTERVAL_MILLIS);
    properties.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, COMMIT_INTERVAL_MILLIS);
    properties.put(StreamsConfig.ENSURE_EXPLICIT_INTERNAL_RESOURCE_NAMING_CONFIG, true);
    properties.put(StreamsConfig.GROUP_PROTOCOL_CONFIG, "classic");
    properties.put(StreamsConfig.ROCKSDB_CONFIG_SETTER_CLASS_CONFIG, BoundedRocksMemory.class);
    properties.put(StreamsConfig.BUFFERED_RECORDS_PER_PARTITION_CONFIG, MAX_RECORDS_BUFFERED);
    properties.put(StreamsConfig.ENABLE_METRICS_PUSH_CONFIG, false);
    properties.put(
        StreamsConfig.topicPrefix(TopicConfig.MESSAGE_TIMESTAMP_AFTER_MAX_MS_CONFIG),
        Long.toString(Long.MAX_VALUE));
    properties.put(
        StreamsConfig.topicPrefix(TopicConfig.MAX_COMPACTION_LAG_MS_CONFIG),
        Long.toString(Topics.STATE.compactedWithin().toMillis()));
    properties.put(
        StreamsConfig.mainConsumerPrefix(ConsumerConfig.GROUP_INSTANCE_ID_CONFIG), instance);
    properties.put(
        StreamsConfig.mainConsumerPrefix(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG),
        sessionTimeoutMillis());
    properties.put(
        StreamsConfig.mainConsumerPrefix(ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG),
        Math.min(MAX_HEARTBEAT_INTERVAL_MILLIS, sessionTimeoutMillis() / HEARTBEATS_A_SESSION));
    properties.put(
        StreamsConfig.consumerPrefix(ConsumerConfig.MAX_POLL_INTERVAL_MS_CONFIG),
        MAX_POLL_INTERVAL_MILLIS);
    properties.put(
        StreamsConfig.consumerPrefix(ConsumerConfig.MAX_POLL_RECORDS_CONFIG), MAX_RECORDS_BUFFERED);
    properties.put(
        StreamsConfig.consumerPrefix(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG), "earliest");
    properties.put(
        StreamsConfig.consumerPrefix(ConsumerConfig.MAX_PARTITION_FETCH_BYTES_CONFIG),
        MAX_FETCH_BYTES_PER_PARTITION);
    properties.put(
        StreamsConfig.consumerPrefix(ConsumerConfig.FETCH_MAX_BYTES_CONFIG), MAX_FETCH_BYTES);
    return properties;
  }
}
