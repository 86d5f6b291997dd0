// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.run;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.servers.EmbeddedKafka;
import io.weir.testing.Await;
import io.weir.topics.kafka.KafkaConnection;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListTransactionsOptions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TransactionListing;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Only the open transactions and members of the killed process end at once. */
final class PredecessorIT {
  private static final String GROUP = "weir-meter-core";
  private static final String TOPIC = "counted";

  /** Longer than any wait of a test. */
  private static final int SESSION_MILLIS = 600_000;

  @TempDir private Path folder;

  @Test
  void fence_membersAndTransactionsOfTheKilled_endAtOnce() throws Exception {
    try (EmbeddedKafka kafka = EmbeddedKafka.start(folder, 0);
        Admin admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()));
        KafkaProducer<String, String> killed = producer(kafka, GROUP + "-p-1");
        KafkaProducer<String, String> other = producer(kafka, "billing-1")) {
      admin.createTopics(List.of(new NewTopic(TOPIC, 1, (short) 1))).all().get();
      leaveOpen(killed);
      leaveOpen(other);
      leaveMember(kafka);
      assertEquals(Set.of(GROUP + "-p-1", "billing-1"), open(admin));
      assertEquals(1, members(admin));

      Predecessor.fence(KafkaConnection.to(kafka.bootstrapServers()), "weir-");

      Await.until("its transaction to end", () -> open(admin).equals(Set.of("billing-1")));
      assertEquals(0, members(admin));
    }
  }

  private static KafkaProducer<String, String> producer(EmbeddedKafka kafka, String id) {
    return new KafkaProducer<>(
        Map.of(
            "bootstrap.servers", kafka.bootstrapServers(),
            "transactional.id", id,
            "transaction.timeout.ms", SESSION_MILLIS),
        new StringSerializer(),
        new StringSerializer());
  }

  private static void leaveOpen(KafkaProducer<String, String> producer) throws Exception {
    producer.initTransactions();
    producer.beginTransaction();
    producer.send(new ProducerRecord<>(TOPIC, "uncommitted")).get();
  }

  /** A member with a name of its own stays when it is closed, as when it is killed. */
  private static void leaveMember(EmbeddedKafka kafka) throws Exception {
    try (KafkaConsumer<String, String> member =
        new KafkaConsumer<>(
            Map.of(
                "bootstrap.servers",
                kafka.bootstrapServers(),
                "group.id",
                GROUP,
                "group.instance.id",
                "local-1",
                "session.timeout.ms",
                SESSION_MILLIS),
            new StringDeserializer(),
            new StringDeserializer())) {
      member.subscribe(List.of(TOPIC));
      Await.until(
          "the member to have its partition",
          () -> {
            member.poll(Duration.ofMillis(100));
            return !member.assignment().isEmpty();
          });
    }
  }

  private static Set<String> open(Admin admin) throws Exception {
    return admin
        .listTransactions(
            new ListTransactionsOptions().filterStates(Set.of(TransactionState.ONGOING)))
        .all()
        .get()
        .stream()
        .map(TransactionListing::transactionalId)
        .collect(Collectors.toSet());
  }

  private static int members(Admin admin) throws Exception {
    return admin
        .describeConsumerGroups(List.of(GROUP))
        .all()
        .get()
        .values()
        .iterator()
        .next()
        .members()
        .size();
  }
}
