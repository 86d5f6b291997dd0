// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.catalog;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;

/**
 * Checks that topics have enough copies. With three copies, at least two of them in sync, an
 * acknowledged record survives the loss of any one broker. With two copies, the loss of one broker
 * either stops every write or leaves records on a single disk. Stateless and thread-safe.
 */
public final class Copies {
  /** Minimum replication factor. */
  public static final short LEAST = 3;

  /** Minimum of {@code min.insync.replicas}. */
  public static final int LEAST_IN_SYNC = 2;

  private Copies() {}

  /**
   * Returns a description of each topic setting that allows too few copies; empty if every topic
   * survives the loss of any one broker.
   */
  static List<String> lacking(
      Collection<TopicDescription> topics, Map<ConfigResource, Config> configs) {
    Map<String, TopicDescription> sorted = new TreeMap<>();
    topics.forEach(topic -> sorted.put(topic.name(), topic));
    List<String> lacking = new ArrayList<>();
    for (TopicDescription topic : sorted.values()) {
      int copies =
          topic.partitions().stream()
              .mapToInt(partition -> partition.replicas().size())
              .min()
              .orElse(0);
      if (copies < LEAST) {
        lacking.add(topic.name() + " has a replication factor of " + copies + ", not " + LEAST);
      }
      Config config = configs.get(new ConfigResource(ConfigResource.Type.TOPIC, topic.name()));
      ConfigEntry inSync =
          config == null ? null : config.get(TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG);
      if (inSync == null || Integer.parseInt(inSync.value()) < LEAST_IN_SYNC) {
        lacking.add(
            topic.name()
                + " has min.insync.replicas="
                + (inSync == null ? "(unset)" : inSync.value())
                + ", not "
                + LEAST_IN_SYNC);
      }
    }
    return lacking;
  }

  /** Returns a message with the problem and its solution for topics that have too few copies. */
  public static String advice(List<String> lacking) {
    return "the loss of one broker could lose acknowledged records: "
        + String.join("; ", lacking)
        + ". Give the topics more copies (kafka-reassign-partitions.sh, kafka-configs.sh), or set "
        + SingleCopy.VARIABLE
        + "=allow to accept fewer copies";
  }
}
