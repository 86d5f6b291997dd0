// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.servers.testing.TestKafka;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.Test;

/** Gaps in the offsets of a real log: deleted records and transaction markers. */
final class CallsTopicLogIT {
  private static final String TOPIC = Topics.CALLS.name();

  @Test
  void holdsRecord_forDeletedRecordsAndMarkers_isFalse() throws Exception {
    try (TestKafka kafka = TestKafka.borrow();
        TopicAdmin topics = TopicAdmin.connect(KafkaConnection.to(kafka.bootstrapServers()));
        Admin admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()));
        KafkaProducer<byte[], byte[]> producer = transactional(kafka)) {
      topics.createMissing(1, Optional.empty());
      producer.initTransactions();
      long marker = send(producer); // offsets 0 and 1, and the marker behind them
      send(producer);
      CallsTopicLog log =
          new CallsTopicLog(
              Map.of(
                  "bootstrap.servers",
                  kafka.bootstrapServers(),
                  "isolation.level",
                  "read_committed"));

      assertTrue(log.holdsRecord(0, 0, 1));
      assertTrue(log.holdsRecord(0, 1, marker));
      assertFalse(log.holdsRecord(0, marker, marker + 1));
      assertTrue(log.holdsRecord(0, marker, marker + 2));

      admin
          .deleteRecords(Map.of(new TopicPartition(TOPIC, 0), RecordsToDelete.beforeOffset(marker)))
          .all()
          .get();

      assertFalse(log.holdsRecord(0, 0, marker));
      assertTrue(log.holdsRecord(0, 0, marker + 2));
    }
  }

  private static KafkaProducer<byte[], byte[]> transactional(TestKafka kafka) {
    return new KafkaProducer<>(
        Map.of("bootstrap.servers", kafka.bootstrapServers(), "transactional.id", "gap"),
        new ByteArraySerializer(),
        new ByteArraySerializer());
  }

  /** Sends two records in a transaction; the offset of its marker. */
  private static long send(KafkaProducer<byte[], byte[]> producer) throws Exception {
    producer.beginTransaction();
    producer.send(new ProducerRecord<>(TOPIC, 0, null, new byte[1])).get();
    long last = producer.send(new ProducerRecord<>(TOPIC, 0, null, new byte[1])).get().offset();
    producer.commitTransaction();
    return last + 1;
  }
}
