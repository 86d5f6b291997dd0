// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import static org.junit.jupiter.api.Assertions.assertFalse;

import io.weir.testing.Await;
import io.weir.testing.FullSuite;
import io.weir.topics.catalog.Topics;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Kafka fences a static member when another member joins under its name. The other join may be the
 * member's own: it abandoned the request while a broker was away, and the broker processed it later
 * (KAFKA-20983).
 */
final class FencedNameIT {
  private static final String GROUP = "weir-meter-core";

  @TempDir Path folder;
  private Broker broker;

  @BeforeEach
  void startBroker() throws Exception {
    broker = new Broker(1);
  }

  @AfterEach
  void stopBroker() {
    broker.close();
  }

  @Test
  void fencedByItsOwnLateJoin_rejoinsAndContinuesCounting() throws Exception {
    try (Aggregator aggregator = Aggregator.start(config())) {
      Await.until("ready", aggregator::ready);

      double rebalances = rebalances(aggregator);
      join(Fleet.SHORT_SESSION).close();
      Await.until("fenced, and joined again", () -> rebalances(aggregator) > rebalances);
      long decidedAt = System.currentTimeMillis();
      broker.send(
          0,
          Calls.batch("n", 1, 1, decidedAt, 0),
          Calls.value(List.of(Calls.allowed("id", "acme", 1, decidedAt))));
      broker.flush();

      Await.until("counted", () -> !broker.read(Topics.STATE).isEmpty());
      Await.until("ready again", aggregator::ready);
      assertFalse(aggregator.failed());
    }
  }

  @Test
  @FullSuite(reason = "waits for longer than a session")
  void fencedByAnotherLiveProcess_stopsInsteadOfRejoining() throws Exception {
    try (Aggregator aggregator = Aggregator.start(config())) {
      Await.until("ready", aggregator::ready);

      try (KafkaConsumer<byte[], byte[]> other = join(Fleet.ENDLESS_SESSION)) {
        Await.until("stopped", aggregator::failed);
        assertFalse(other.groupMetadata().memberId().isEmpty());
      }
    }
  }

  private AggregatorConfig config() {
    return AggregatorConfig.of(
        Map.of(
            "WEIR_SINGLE_COPY",
            "allow",
            "WEIR_KAFKA",
            broker.bootstrapServers(),
            "WEIR_DATA",
            folder.toString(),
            "WEIR_REPORTS_PORT",
            "0",
            "WEIR_INSTANCE",
            "it",
            "WEIR_SESSION_TIMEOUT",
            Fleet.SHORT_SESSION.toString()));
  }

  private static double rebalances(Aggregator aggregator) throws Exception {
    return Reports.metric(aggregator, "weir_rebalances_total");
  }

  /**
   * Joins as a process that has just started, under the aggregator's name.
   *
   * @param session how long it is a member after it was heard of last
   */
  private KafkaConsumer<byte[], byte[]> join(Duration session) throws Exception {
    KafkaConsumer<byte[], byte[]> consumer =
        new KafkaConsumer<>(
            Map.of(
                "bootstrap.servers",
                broker.bootstrapServers(),
                "group.id",
                GROUP,
                "group.instance.id",
                "it-1",
                "session.timeout.ms",
                Math.toIntExact(session.toMillis()),
                "partition.assignment.strategy",
                List.of(AsStreams.class)),
            new ByteArrayDeserializer(),
            new ByteArrayDeserializer());
    consumer.subscribe(List.of(Topics.CALLS.name()));
    Await.until(
        "joined",
        () -> {
          consumer.poll(Duration.ofMillis(100));
          return !consumer.groupMetadata().memberId().isEmpty();
        });
    return consumer;
  }

  /** An assignor with the name of Streams' assignor, so that the group accepts the member. */
  public static final class AsStreams implements ConsumerPartitionAssignor {
    @Override
    public GroupAssignment assign(Cluster metadata, GroupSubscription subscriptions) {
      throw new IllegalStateException("not meant to lead");
    }

    @Override
    public String name() {
      return "stream";
    }
  }
}
