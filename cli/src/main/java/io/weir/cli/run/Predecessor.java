// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.run;

import io.weir.aggregator.topology.StreamsSettings;
import io.weir.topics.kafka.KafkaConnection;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.ListTransactionsOptions;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.admin.TransactionListing;
import org.apache.kafka.clients.admin.TransactionState;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Cleans up after a killed aggregator that used the same data folder. Removes the aggregator's
 * membership in the consumer group from the embedded broker, and aborts the aggregator's open
 * transactions, which block readers. Without this cleanup, membership and transactions last until
 * they time out, about 10 to 30 s.
 *
 * <p>Use this class only for a broker that starts together with its only aggregator in a locked
 * folder. Any member that such a broker still lists is dead.
 */
final class Predecessor {
  private static final Logger LOG = LoggerFactory.getLogger(Predecessor.class);

  /** Timeout of each request. The cleanup only saves time, so it must not take long itself. */
  private static final Duration TIMEOUT = Duration.ofSeconds(10);

  private Predecessor() {}

  /**
   * Removes the group members and aborts the transactions. If Kafka does not respond in time, logs
   * a warning. Members and transactions then end when they time out.
   */
  static void fence(KafkaConnection kafka, String applicationPrefix) throws InterruptedException {
    int timeoutMillis = Math.toIntExact(TIMEOUT.toMillis());
    try (Admin admin =
        kafka.admin(
            Map.of(
                AdminClientConfig.DEFAULT_API_TIMEOUT_MS_CONFIG,
                timeoutMillis,
                AdminClientConfig.REQUEST_TIMEOUT_MS_CONFIG,
                timeoutMillis))) {
      fenceTransactions(admin, applicationPrefix);
      removeMembers(admin, StreamsSettings.applicationId(applicationPrefix));
    } catch (ExecutionException | TimeoutException failed) {
      LOG.warn(
          "could not fence the killed aggregator; its session will time out: {}",
          failed.toString());
    }
  }

  private static void fenceTransactions(Admin admin, String applicationPrefix)
      throws InterruptedException, ExecutionException, TimeoutException {
    List<String> open =
        admin
            .listTransactions(
                new ListTransactionsOptions().filterStates(Set.of(TransactionState.ONGOING)))
            .all()
            .get(TIMEOUT.toMillis(), TimeUnit.MILLISECONDS)
            .stream()
            .map(TransactionListing::transactionalId)
            .filter(id -> id.startsWith(StreamsSettings.applicationId(applicationPrefix) + "-"))
            .toList();
    if (!open.isEmpty()) {
      LOG.info("aborting transactions of a killed aggregator {}", open);
      admin.fenceProducers(open).all().get(TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
    }
  }

  private static void removeMembers(Admin admin, String group)
      throws InterruptedException, ExecutionException, TimeoutException {
    boolean isKnown =
        admin.listGroups().all().get(TIMEOUT.toMillis(), TimeUnit.MILLISECONDS).stream()
            .map(GroupListing::groupId)
            .anyMatch(group::equals);
    if (!isKnown) {
      return;
    }
    boolean isEmpty =
        admin
            .describeConsumerGroups(List.of(group))
            .all()
            .get(TIMEOUT.toMillis(), TimeUnit.MILLISECONDS)
            .values()
            .stream()
            .allMatch(description -> description.members().isEmpty());
    if (!isEmpty) {
      LOG.info("removing members of a killed aggregator group={}", group);
      admin
          .removeMembersFromConsumerGroup(group, new RemoveMembersFromConsumerGroupOptions())
          .all()
          .get(TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
    }
  }
}
