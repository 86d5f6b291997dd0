// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.servers.testing.TestKafka;
import io.weir.testing.Await;
import io.weir.testing.FullSuite;
import io.weir.topics.catalog.Topic;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.Test;

/** Topics are written to in the moment they are there. */
final class NewTopicsIT {
  private static final int FEW_PARTITIONS = 40;
  private static final int MANY_PARTITIONS = 300;
  private static final int RECORDS = 20;

  /** The time after which a batch that is never accepted would fail. */
  private static final int DELIVERY_TIMEOUT_MILLIS = (int) Await.TIMEOUT.toMillis();

  @Test
  void createMissing_producerWithSeveralRequestsUnderWay_everyRecordIsTaken() throws Exception {
    writeAtOnce(FEW_PARTITIONS);
  }

  @Test
  @FullSuite(reason = "1,800 partitions take a quarter of a minute and more; fewer always run")
  void createMissing_manyPartitions_everyRecordIsTaken() throws Exception {
    writeAtOnce(MANY_PARTITIONS);
  }

  private static void writeAtOnce(int partitions) throws Exception {
    try (TestKafka kafka = TestKafka.start();
        TopicAdmin admin = TopicAdmin.connect(KafkaConnection.to(kafka.bootstrapServers()));
        var producer = producer(kafka)) {
      admin.createMissing(partitions, Optional.empty());

      List<Future<RecordMetadata>> sent = new ArrayList<>();
      for (Topic topic : lastFirst()) {
        for (int record = 0; record < RECORDS; record++) {
          for (int partition = 0; partition < topic.partitions(partitions); partition++) {
            sent.add(
                producer.send(
                    new ProducerRecord<>(topic.name(), partition, new byte[] {1}, new byte[] {1})));
          }
        }
      }
      producer.flush();

      assertEquals(0, sent.stream().filter(NewTopicsIT::hasFailed).count());
    }
  }

  private static KafkaProducer<byte[], byte[]> producer(TestKafka kafka) {
    return new KafkaProducer<>(
        Map.of(
            "bootstrap.servers",
            kafka.bootstrapServers(),
            "acks",
            "all",
            "enable.idempotence",
            true,
            "max.in.flight.requests.per.connection",
            5,
            "request.timeout.ms",
            DELIVERY_TIMEOUT_MILLIS / 2,
            "delivery.timeout.ms",
            DELIVERY_TIMEOUT_MILLIS),
        new ByteArraySerializer(),
        new ByteArraySerializer());
  }

  private static List<Topic> lastFirst() {
    List<Topic> topics = new ArrayList<>(Topics.all());
    Collections.reverse(topics);
    return topics;
  }

  private static boolean hasFailed(Future<RecordMetadata> record) {
    try {
      record.get();
      return false;
    } catch (ExecutionException failed) {
      return true;
    } catch (InterruptedException interrupted) {
      throw new IllegalStateException(interrupted);
    }
  }
}
