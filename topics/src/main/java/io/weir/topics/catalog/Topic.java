// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.catalog;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.kafka.common.config.TopicConfig;

/**
 * One topic: its name, its purpose, and the settings on which exact counts depend. Immutable.
 *
 * @param name the name, which ends in the version of its wire format
 * @param purpose one sentence for operators
 * @param cleanupPolicy Kafka's {@code cleanup.policy}
 * @param retention how long Kafka keeps records, for topics with the policy delete; zero for
 *     compacted topics
 * @param appendTime true if the broker's clock timestamps the records ({@code LogAppendTime})
 * @param ownPartitions the number of partitions; 0 if the topic has as many partitions as the calls
 *     topic
 * @param uncompactedFor minimum time before compaction may remove an older record of a key; zero
 *     for Kafka's default
 * @param compactedWithin maximum time before compaction removes an older record of a key; zero for
 *     no bound
 * @param tombstonesKept how long compaction keeps a tombstone; every reader must read the tombstone
 *     within this time; zero for Kafka's default
 */
public record Topic(
    String name,
    String purpose,
    String cleanupPolicy,
    Duration retention,
    boolean appendTime,
    int ownPartitions,
    Duration uncompactedFor,
    Duration compactedWithin,
    Duration tombstonesKept) {

  /**
   * Maximum size of a record in any topic: 4 MiB. The maximum is larger than any batch of calls.
   */
  public static final int MAX_RECORD_BYTES = 4 * 1024 * 1024;

  /** Creates a topic with as many partitions as the calls topic. */
  public Topic(
      String name, String purpose, String cleanupPolicy, Duration retention, boolean appendTime) {
    this(
        name,
        purpose,
        cleanupPolicy,
        retention,
        appendTime,
        0,
        Duration.ZERO,
        Duration.ZERO,
        Duration.ZERO);
  }

  /**
   * Returns the number of partitions.
   *
   * @param ofCalls the number of partitions of the calls topic
   */
  public int partitions(int ofCalls) {
    return ownPartitions == 0 ? ofCalls : ownPartitions;
  }

  /** Returns the required settings of the topic, by Kafka's names. */
  public Map<String, String> configs() {
    Map<String, String> configs = new LinkedHashMap<>();
    configs.put(TopicConfig.CLEANUP_POLICY_CONFIG, cleanupPolicy);
    if (!retention.isZero()) {
      configs.put(TopicConfig.RETENTION_MS_CONFIG, Long.toString(retention.toMillis()));
    }
    if (!uncompactedFor.isZero()) {
      configs.put(
          TopicConfig.MIN_COMPACTION_LAG_MS_CONFIG, Long.toString(uncompactedFor.toMillis()));
    }
    if (!compactedWithin.isZero()) {
      configs.put(
          TopicConfig.MAX_COMPACTION_LAG_MS_CONFIG, Long.toString(compactedWithin.toMillis()));
    }
    if (!tombstonesKept.isZero()) {
      configs.put(TopicConfig.DELETE_RETENTION_MS_CONFIG, Long.toString(tombstonesKept.toMillis()));
    }
    configs.put(
        TopicConfig.MESSAGE_TIMESTAMP_TYPE_CONFIG, appendTime ? "LogAppendTime" : "CreateTime");
    if (!appendTime) {
      // records carry timestamps of the calls topic, and the clock of its broker may be ahead
      configs.put(TopicConfig.MESSAGE_TIMESTAMP_AFTER_MAX_MS_CONFIG, Long.toString(Long.MAX_VALUE));
    }
    configs.put(TopicConfig.MAX_MESSAGE_BYTES_CONFIG, Integer.toString(MAX_RECORD_BYTES));
    return configs;
  }
}
