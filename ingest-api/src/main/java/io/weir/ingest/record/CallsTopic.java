// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.clock.LocalClock;
import io.weir.topics.catalog.Topics;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Reads the description of the calls topic from Kafka. Never creates the topic. Stateless. */
final class CallsTopic {
  /** Timeout of one request. */
  private static final Duration TIMEOUT = Duration.ofSeconds(5);

  private static final Logger LOG = LoggerFactory.getLogger(CallsTopic.class);

  private CallsTopic() {}

  /** The result of a request for the topic's description. */
  sealed interface Description {}

  /** The topic exists. */
  record Known(int partitions) implements Description {}

  /** The topic does not exist, or Kafka did not reply. */
  record Unknown(String detail, Throwable cause) implements Description {}

  /** Requests the description from Kafka once. Blocks for at most 5 s. */
  static Description describe(RecordConfig config) {
    Map<String, Object> settings = new HashMap<>();
    settings.put(AdminClientConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, (int) TIMEOUT.toMillis());
    settings.put(AdminClientConfig.REQUEST_TIMEOUT_MS_CONFIG, (int) TIMEOUT.toMillis());
    try (Admin admin = config.kafka().admin(settings)) {
      Map<String, TopicDescription> topics =
          admin
              .describeTopics(List.of(Topics.CALLS.name()))
              .allTopicNames()
              .get(TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
      TopicDescription topic = topics == null ? null : topics.get(Topics.CALLS.name());
      if (topic == null) {
        throw new IllegalStateException("Kafka's reply does not contain the requested topic");
      }
      return new Known(topic.partitions().size());
    } catch (ExecutionException failed) {
      Throwable cause = failed.getCause() == null ? failed : failed.getCause();
      return new Unknown(String.valueOf(cause), cause);
    } catch (TimeoutException | KafkaException failed) {
      return new Unknown(String.valueOf(failed), failed);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      return new Unknown("interrupted", interrupted);
    }
  }

  /**
   * Waits until the topic exists, and returns its number of partitions.
   *
   * @throws CallLogStartException if Kafka did not describe the topic within the start timeout
   */
  static int awaitPartitions(RecordConfig config) {
    LocalClock clock = LocalClock.ofSystem();
    long deadlineNanos = clock.nowNanos() + config.startTimeout().toNanos();
    boolean isLogged = false;
    while (true) {
      Description description = describe(config);
      if (description instanceof Known known) {
        return known.partitions();
      }
      if (description instanceof Unknown unknown
          && (clock.nowNanos() > deadlineNanos || Thread.currentThread().isInterrupted())) {
        throw new CallLogStartException(
            (unknown.cause() instanceof UnknownTopicOrPartitionException
                    ? "Kafka (WEIR_KAFKA) at "
                        + config.kafka()
                        + " has no topic "
                        + Topics.CALLS.name()
                        + "; create the topics with 'weir topics create'"
                    : "Kafka (WEIR_KAFKA) at "
                        + config.kafka()
                        + " did not describe topic "
                        + Topics.CALLS.name()
                        + " within "
                        + config.startTimeout().toSeconds()
                        + " s")
                + "; a node that has no journal yet cannot start without this topic ("
                + unknown.detail()
                + ")",
            unknown.cause());
      }
      if (!isLogged && description instanceof Unknown unknown) {
        isLogged = true;
        LOG.warn(
            "kafka_awaited servers={} at_most_s={} detail=\"{}\"",
            config.kafka(),
            config.startTimeout().toSeconds(),
            unknown.detail());
      }
      LockSupport.parkNanos(100_000_000);
    }
  }

  /**
   * Checks that the topic and the journal have the same number of partitions, if Kafka described
   * the topic.
   *
   * @throws CallLogStartException if the numbers differ
   */
  static void requireSamePartitions(RecordConfig config, Description found, int partitions) {
    if (found instanceof Known known && known.partitions() != partitions) {
      throw new CallLogStartException(
          "topic "
              + Topics.CALLS.name()
              + " must have "
              + partitions
              + " partitions, like the journal in "
              + config.journalFolder()
              + ", but has "
              + known.partitions()
              + "; create the topic with "
              + partitions
              + " partitions");
    }
  }
}
