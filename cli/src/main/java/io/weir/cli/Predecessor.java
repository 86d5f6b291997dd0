// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

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
 * Ends what a killed predecessor over the same data folder has left open in the embedded broker:
 * its membership in the aggregator's consumer group, and its transactions, beyond which nothing can
 * be read. Otherwise both last until their sessions time out, about 10 to 30 s.
 *
 * <p>Only for a broker that is started together with its only aggregator over a locked folder: any
 * member that it still lists is dead.
 */
final class Predecessor {
  private static final Logger LOG = LoggerFactory.getLogger(Predecessor.class);

  /** The fencing only saves time, so it must not take long itself. */
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private Predecessor() {}

  /**
   * Removes the group members and aborts the transactions. If Kafka does not do so in time, they
   * end by themselves.
   */
  static void fence(KafkaConnection kafka, String applicationPrefix) throws InterruptedException {
    int patienceMillis = Math.toIntExact(PATIENCE.toMillis());
    try (Admin admin =
        kafka.admin(
            Map.of(
                AdminClientConfig.DEFAULT_API_TIMEOUT_MS_CONFIG,
                patienceMillis,
                AdminClientConfig.REQUEST_TIMEOUT_MS_CONFIG,
                patienceMillis))) {
      fenceTransactions(admin, applicationPrefix);
      removeMembers(admin, StreamsSettings.applicationId(applicationPrefix));
    } catch (ExecutionException | TimeoutException failed) {
      LOG.warn("predecessor is not fenced, it ends with its session: {}", failed.toString());
    }
  }

  private static void fenceTransactions(Admin admin, String applicationPrefix)
      throws InterruptedException, ExecutionException, TimeoutException {
    List<String> open =
        admin
            .listTransactions(
                new ListTransactionsOptions().filterStates(Set.of(TransactionState.ONGOING)))
            .all()
            .get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS)
            .stream()
            .map(TransactionListing::transactionalId)
            .filter(id -> id.startsWith(StreamsSettings.applicationId(applicationPrefix) + "-"))
            .toList();
    if (!open.isEmpty()) {
      LOG.info("predecessor's transactions end {}", open);
      admin.fenceProducers(open).all().get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
    }
  }

  private static void removeMembers(Admin admin, String group)
      throws InterruptedException, ExecutionException, TimeoutException {
    boolean isKnown =
        admin.listGroups().all().get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS).stream()
            .map(GroupListing::groupId)
            .anyMatch(group::equals);
    if (!isKnown) {
      return;
    }
    boolean isEmpty =
        admin
            .describeConsumerGroups(List.of(group))
            .all()
            .get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS)
            .values()
            .stream()
            .allMatch(description -> description.members().isEmpty());
    if (!isEmpty) {
      LOG.info("predecessor's membership ends group={}", group);
      admin
          .removeMembersFromConsumerGroup(group, new RemoveMembersFromConsumerGroupOptions())
          .all()
          .get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
    }
  }
}
