// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.catalog;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.kafka.common.config.TopicConfig;

/**
 * One topic: its name, its purpose, and the settings on which exactness depends. Immutable.
 *
 * @param name the name, which ends in the version of its wire format
 * @param purpose one sentence for operators
 * @param cleanupPolicy Kafka's {@code cleanup.policy}
 * @param retention how long records are kept, for topics that delete; zero for compacted ones
 * @param appendTime true if the broker's clock timestamps the records ({@code LogAppendTime})
 */
public record Topic(
    String name, String purpose, String cleanupPolicy, Duration retention, boolean appendTime) {

  /** Largest record in any topic: a batch of calls with room to spare. */
  public static final int MAX_RECORD_BYTES = 4 * 1024 * 1024;

  /** Returns the required settings of the topic, by Kafka's names. */
  public Map<String, String> configs() {
    Map<String, String> configs = new LinkedHashMap<>();
    configs.put(TopicConfig.CLEANUP_POLICY_CONFIG, cleanupPolicy);
    if (!retention.isZero()) {
      configs.put(TopicConfig.RETENTION_MS_CONFIG, Long.toString(retention.toMillis()));
    }
    configs.put(
        TopicConfig.MESSAGE_TIMESTAMP_TYPE_CONFIG, appendTime ? "LogAppendTime" : "CreateTime");
    if (!appendTime) {
      // records carry timestamps of the calls topic, whose broker's clock may be ahead of others'
      configs.put(TopicConfig.MESSAGE_TIMESTAMP_AFTER_MAX_MS_CONFIG, Long.toString(Long.MAX_VALUE));
    }
    configs.put(TopicConfig.MAX_MESSAGE_BYTES_CONFIG, Integer.toString(MAX_RECORD_BYTES));
    return configs;
  }
}
