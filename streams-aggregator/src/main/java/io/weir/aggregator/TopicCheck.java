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
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Checks before anything is counted that the topics exist and have the same number of partitions.
 */
final class TopicCheck {
  private static final Logger LOG = LoggerFactory.getLogger(TopicCheck.class);

  private static final int TIMEOUT_MILLIS = Math.toIntExact(Duration.ofSeconds(20).toMillis());

  private TopicCheck() {}

  /**
   * The result of the check.
   *
   * @param partitions number of partitions of each topic
   * @param stateTopicId id of the state topic; a topic that was deleted and recreated has another
   *     id
   */
  record Found(int partitions, String stateTopicId) {}

  /**
   * Checks the topics.
   *
   * @throws AggregatorStartException if Kafka does not answer or a topic is not as required
   */
  static Found check(AggregatorConfig config) throws AggregatorStartException {
    Found found = check(config.bootstrapServers());
    checkCopies(config);
    return found;
  }

  /**
   * Checks the number of copies of each topic. The internal topics of Streams are included if they
   * exist; otherwise Streams creates them as configured.
   */
  private static void checkCopies(AggregatorConfig config) throws AggregatorStartException {
    String prefix = config.applicationPrefix();
    List<String> lacking;
    try (TopicAdmin admin = TopicAdmin.connect(config.bootstrapServers())) {
      lacking =
          admin.lackingCopies(
              name -> Topics.contains(name) || StreamsSettings.isInternalTopic(prefix, name));
    } catch (TopicAdminException failed) {
      throw new AggregatorStartException(String.valueOf(failed.getMessage()), failed);
    }
    if (lacking.isEmpty()) {
      return;
    }
    if (config.singleCopy() == SingleCopy.REFUSE) {
      throw new AggregatorStartException(Copies.advice(lacking));
    }
    LOG.info("fewer copies allowed by {}: {}", SingleCopy.VARIABLE, lacking);
  }

  private static Found check(String bootstrapServers) throws AggregatorStartException {
    try (Admin admin =
        Admin.create(
            Map.of(
                AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG,
                bootstrapServers,
                AdminClientConfig.DEFAULT_API_TIMEOUT_MS_CONFIG,
                TIMEOUT_MILLIS,
                AdminClientConfig.REQUEST_TIMEOUT_MS_CONFIG,
                TIMEOUT_MILLIS))) {
      List<String> names = Topics.all().stream().map(Topic::name).toList();
      Map<String, KafkaFuture<TopicDescription>> found =
          admin.describeTopics(names).topicNameValues();
      List<String> missing = new ArrayList<>();
      List<Integer> partitions = new ArrayList<>();
      String stateTopicId = "";
      for (String name : names) {
        try {
          TopicDescription topic = Objects.requireNonNull(found.get(name), name).get();
          partitions.add(topic.partitions().size());
          if (name.equals(Topics.STATE.name())) {
            stateTopicId = topic.topicId().toString();
          }
        } catch (ExecutionException failed) {
          if (!(failed.getCause() instanceof UnknownTopicOrPartitionException)) {
            throw failed;
          }
          missing.add(name);
        }
      }
      requireAlike(missing, partitions);
      requireAppendTime(admin);
      return new Found(partitions.get(0), stateTopicId);
    } catch (ExecutionException failed) {
      throw new AggregatorStartException(
          "Kafka does not answer at " + bootstrapServers + " (WEIR_KAFKA): " + failed.getCause(),
          failed);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new AggregatorStartException("interrupted while the topics were checked", interrupted);
    }
  }

  private static void requireAlike(List<String> missing, List<Integer> partitions)
      throws AggregatorStartException {
    if (!missing.isEmpty()) {
      throw new AggregatorStartException(
          "topics are missing: " + missing + "; create them with: weir topics create");
    }
    if (partitions.stream().distinct().count() != 1) {
      throw new AggregatorStartException(
          "topics must all have the same number of partitions, have " + partitions);
    }
  }

  /**
   * Requires the broker's clock for record timestamps: lateness is judged by them, and with a
   * producer's clock they could be wrong.
   */
  private static void requireAppendTime(Admin admin)
      throws AggregatorStartException, ExecutionException, InterruptedException {
    ConfigResource calls = new ConfigResource(ConfigResource.Type.TOPIC, Topics.CALLS.name());
    Config config =
        Objects.requireNonNull(
            admin.describeConfigs(List.of(calls)).all().get().get(calls), calls.name());
    String name = TopicConfig.MESSAGE_TIMESTAMP_TYPE_CONFIG;
    String expected = Topics.CALLS.configs().get(name);
    String actual = config.get(name).value();
    if (!actual.equals(expected)) {
      throw new AggregatorStartException(
          "topic "
              + Topics.CALLS.name()
              + " must have "
              + name
              + "="
              + expected
              + ", has "
              + actual
              + "; see: weir topics check");
    }
  }
}
