// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import io.weir.topics.catalog.Copies;
import io.weir.topics.catalog.SingleCopy;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.TopicAdmin.TopicAdminException;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Checks at the start of a node that the calls topic has enough replicas to survive the loss of a
 * broker. The check and the opening of the call log run concurrently, with the same timeout for
 * Kafka. So the check does not delay a start without Kafka.
 */
final class CopyCheck {
  private static final Logger LOG = LoggerFactory.getLogger(CopyCheck.class);

  /**
   * Maximum time that a start waits for Kafka's reply. The call log has the same timeout for the
   * description of the topic.
   */
  static final Duration TIMEOUT = Duration.ofSeconds(5);

  private final SingleCopy singleCopy;
  private final CompletableFuture<List<String>> lacking;

  private CopyCheck(SingleCopy singleCopy, CompletableFuture<List<String>> lacking) {
    this.singleCopy = singleCopy;
    this.lacking = lacking;
  }

  /** Starts the check in the background. */
  static CopyCheck begin(IngestConfig config) {
    return begin(config, TIMEOUT);
  }

  static CopyCheck begin(IngestConfig config, Duration timeout) {
    return new CopyCheck(
        config.singleCopy(), CompletableFuture.supplyAsync(() -> lacking(config.kafka(), timeout)));
  }

  private static List<String> lacking(KafkaConnection kafka, Duration timeout) {
    try (TopicAdmin admin = TopicAdmin.connect(kafka, timeout)) {
      return admin.lackingCopies(Topics.CALLS.name()::equals);
    } catch (TopicAdminException | IllegalArgumentException unanswered) {
      LOG.warn("copies_unknown reason=\"{}\"", unanswered.getMessage());
      return List.of();
    }
  }

  /**
   * Waits for the result of the check.
   *
   * @return the number of missing replicas and the remedy; the empty string if the topic has enough
   *     replicas or the settings permit fewer
   */
  String objection() {
    List<String> found = lacking.join();
    return found.isEmpty() || singleCopy == SingleCopy.ALLOW ? "" : Copies.advice(found);
  }

  /**
   * Waits for the result of the check.
   *
   * @throws IngestStartException if the topic lacks replicas and the settings do not permit this
   */
  void require() {
    String objection = objection();
    if (!objection.isEmpty()) {
      throw new IngestStartException(objection);
    }
    List<String> found = lacking.join();
    if (!found.isEmpty()) {
      LOG.info("fewer_copies_allowed {}", found);
    }
  }
}
