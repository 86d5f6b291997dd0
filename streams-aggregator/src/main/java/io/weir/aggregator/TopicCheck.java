// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import io.weir.aggregator.topology.StreamsSettings;
import io.weir.topics.catalog.Copies;
import io.weir.topics.catalog.SingleCopy;
import io.weir.topics.catalog.Topic;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.TopicAdmin.TopicAdminException;
import io.weir.topics.catalog.Topics;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.config.TopicConfig;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A check of the topics when the aggregator starts. The topics must exist, have the same number of
 * partitions, and have the configuration that Weir requires.
 */
final class TopicCheck {
  private static final Logger LOG = LoggerFactory.getLogger(TopicCheck.class);

  private TopicCheck() {}

  /**
   * The result of the check.
   *
   * @param partitions number of partitions of each topic
   * @param stateTopicId id of the state topic; a recreated topic has a new id
   * @param tombstonesKept time for which Kafka keeps a tombstone of the state topic
   */
  record Found(int partitions, String stateTopicId, Duration tombstonesKept) {}

  /**
   * Checks the topics.
   *
   * @throws AggregatorStartException if Kafka does not answer, or a topic is missing or configured
   *     wrongly
   */
  static Found check(AggregatorConfig config) throws AggregatorStartException {
    try (TopicAdmin admin = TopicAdmin.connect(config.kafka())) {
      Found found = found(admin);
      requireAppendTime(admin);
      requireCopies(admin, config);
      return found;
    } catch (TopicAdminException failed) {
      throw new AggregatorStartException(String.valueOf(failed.getMessage()), failed);
    } catch (IllegalArgumentException noAddress) {
      throw new AggregatorStartException("WEIR_KAFKA: " + noAddress.getMessage(), noAddress);
    }
  }

  /**
   * Checks the number of replicas of each topic, including the internal topics that Kafka Streams
   * has created.
   */
  private static void requireCopies(TopicAdmin admin, AggregatorConfig config)
      throws AggregatorStartException, TopicAdminException {
    String prefix = config.applicationPrefix();
    List<String> lacking =
        admin.lackingCopies(
            name -> Topics.contains(name) || StreamsSettings.isInternalTopic(prefix, name));
    if (lacking.isEmpty()) {
      return;
    }
    if (config.singleCopy() == SingleCopy.REFUSE) {
      throw new AggregatorStartException(Copies.advice(lacking));
    }
    LOG.info("{} allows topics with too few replicas: {}", SingleCopy.VARIABLE, lacking);
  }

  /**
   * Returns the time for which Kafka keeps tombstones of the state topic. An instance that was
   * stopped for more than half of the returned time reads the whole topic again.
   */
  private static Duration tombstonesKept(TopicAdmin admin) throws TopicAdminException {
    String millis = admin.setting(Topics.STATE, TopicConfig.DELETE_RETENTION_MS_CONFIG);
    Duration kept = millis == null ? Duration.ZERO : Duration.ofMillis(Long.parseLong(millis));
    if (kept.compareTo(Topics.STATE.tombstonesKept()) < 0) {
      LOG.warn(
          "topic {} keeps tombstones for {}, but should keep them for {}. An instance that was"
              + " stopped for half of the configured time reads the whole topic again."
              + " See: weir topics check",
          Topics.STATE.name(),
          kept,
          Topics.STATE.tombstonesKept());
    }
    return kept;
  }

  private static Found found(TopicAdmin admin)
      throws AggregatorStartException, TopicAdminException {
    Map<String, TopicDescription> described = admin.described();
    List<String> missing = new ArrayList<>();
    List<Integer> partitions = new ArrayList<>();
    for (Topic topic : Topics.all()) {
      if (topic.ownPartitions() > 0) {
        continue; // only ingest nodes use this topic
      }
      TopicDescription found = described.get(topic.name());
      if (found == null) {
        missing.add(topic.name());
      } else {
        partitions.add(found.partitions().size());
      }
    }
    requireAlike(missing, partitions);
    TopicDescription state =
        Objects.requireNonNull(described.get(Topics.STATE.name()), Topics.STATE.name());
    return new Found(partitions.get(0), state.topicId().toString(), tombstonesKept(admin));
  }

  private static void requireAlike(List<String> missing, List<Integer> partitions)
      throws AggregatorStartException {
    if (!missing.isEmpty()) {
      throw new AggregatorStartException(
          "topics are missing: " + missing + "; create them with: weir topics create");
    }
    if (partitions.stream().distinct().count() != 1) {
      throw new AggregatorStartException(
          "all topics must have the same number of partitions, but they have " + partitions);
    }
  }

  /**
   * Requires that the broker sets the timestamps of the calls topic's records. The aggregator
   * computes lateness from these timestamps, and a producer's clock could be wrong.
   */
  private static void requireAppendTime(TopicAdmin admin)
      throws AggregatorStartException, TopicAdminException {
    String name = TopicConfig.MESSAGE_TIMESTAMP_TYPE_CONFIG;
    String expected = Topics.CALLS.configs().get(name);
    String actual = admin.setting(Topics.CALLS, name);
    if (!Objects.equals(actual, expected)) {
      throw new AggregatorStartException(
          "topic "
              + Topics.CALLS.name()
              + " has "
              + name
              + "="
              + actual
              + ", but must have "
              + expected
              + "; see: weir topics check");
    }
  }
}
