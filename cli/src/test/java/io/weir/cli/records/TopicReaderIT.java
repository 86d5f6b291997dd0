// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.records;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.servers.testing.TestKafka;
import io.weir.testing.Await;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A topic is read to an end, and then what comes behind it. */
final class TopicReaderIT {
  private final TestKafka kafka = TestKafka.borrow();

  @AfterEach
  void giveBack() {
    kafka.close();
  }

  @Test
  void follow_afterAReadToTheEnd_seesWhatCameLater_once() throws Exception {
    try (TopicAdmin topics = TopicAdmin.connect(KafkaConnection.to(kafka.bootstrapServers()))) {
      topics.createMissing(2, Optional.empty());
    }
    List<String> seen = new ArrayList<>();
    send(0, "first");
    try (TopicReader reader =
        new TopicReader(KafkaConnection.to(kafka.bootstrapServers()), Topics.STATE)) {
      reader.read(reader.ends(), record -> seen.add(record.key()), done -> {});
      assertEquals(List.of("first"), seen);

      send(0, "second");
      send(1, "third");
      Await.until(
          () -> "three records: " + seen,
          () -> {
            reader.follow(record -> seen.add(record.key()));
            return seen.size() >= 3;
          });
    }
    assertEquals(List.of("first", "second", "third"), seen.stream().sorted().toList());
  }

  /** Regression: a cluster without Weir's topics was "recounted", and proven. */
  @Test
  void missingTopic_isReportedAndNotCreated() throws Exception {
    KafkaException missing =
        assertThrows(
            KafkaException.class,
            () -> new TopicReader(KafkaConnection.to(kafka.bootstrapServers()), Topics.STATE));

    assertTrue(missing.toString().contains(Topics.STATE.name()), missing::toString);
    assertThrows(
        KafkaException.class,
        () -> new TopicReader(KafkaConnection.to(kafka.bootstrapServers()), Topics.STATE));
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()))) {
      assertFalse(admin.listTopics().names().get().contains(Topics.STATE.name()));
    }
  }

  @Test
  void recordWrittenAfterTheEnd_duringTheRead_isLeftToFollow() throws Exception {
    try (TopicAdmin topics = TopicAdmin.connect(KafkaConnection.to(kafka.bootstrapServers()))) {
      topics.createMissing(2, Optional.empty());
    }
    List<String> seen = new ArrayList<>();
    send(0, "first");
    try (TopicReader reader =
        new TopicReader(KafkaConnection.to(kafka.bootstrapServers()), Topics.STATE)) {
      Map<Integer, Long> ends = reader.ends();
      send(0, "second"); // comes in one answer with the first

      reader.read(ends, record -> seen.add(record.key()), done -> {});
      assertEquals(List.of("first"), seen);

      Await.until(
          () -> "two records: " + seen,
          () -> {
            reader.follow(record -> seen.add(record.key()));
            return seen.size() >= 2;
          });
    }
    assertEquals(List.of("first", "second"), seen);
  }

  private void send(int partition, String key) throws Exception {
    try (KafkaProducer<String, byte[]> producer =
        new KafkaProducer<>(
            Map.of("bootstrap.servers", kafka.bootstrapServers()),
            new StringSerializer(),
            new ByteArraySerializer())) {
      producer.send(new ProducerRecord<>(Topics.STATE.name(), partition, key, new byte[0])).get();
    }
  }
}
