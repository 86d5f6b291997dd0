// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.servers.testing.TopicContents;
import io.weir.testing.Await;
import io.weir.topics.calls.CallBatchReader;
import io.weir.topics.catalog.Topics;
import io.weir.topics.log.HeaderValues;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.CacheLossCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** Reads the whole calls topic in its current state. */
public final class CallsTopicReader {
  private CallsTopicReader() {}

  /** One record of the topic, with its decoded calls. */
  @SuppressWarnings("ArrayRecordComponent") // tests compare the bytes explicitly
  public record Batch(
      int partition, long offset, BatchHeader header, byte[] value, List<CallEvent> calls) {}

  public static void create(String bootstrapServers, int partitions) throws Exception {
    try (Admin admin = admin(bootstrapServers)) {
      NewTopic topic = new NewTopic(Topics.CALLS.name(), partitions, (short) 1);
      admin.createTopics(List.of(topic.configs(Topics.CALLS.configs()))).all().get();
    }
  }

  static void grow(String bootstrapServers, int partitions) throws Exception {
    try (Admin admin = admin(bootstrapServers)) {
      admin
          .createPartitions(Map.of(Topics.CALLS.name(), NewPartitions.increaseTo(partitions)))
          .all()
          .get();
      // the controller confirms before every broker knows the topic
      Await.until(
          "the new partitions to be known",
          () -> {
            List<String> topics = List.of(Topics.CALLS.name());
            return admin.describeTopics(topics).allTopicNames().get().values().stream()
                .allMatch(topic -> topic.partitions().size() == partitions);
          });
    }
  }

  private static Admin admin(String bootstrapServers) {
    return Admin.create(Map.of("bootstrap.servers", bootstrapServers));
  }

  /** All records of all partitions, in order in each. */
  public static List<Batch> read(String bootstrapServers) throws MalformedRecordException {
    List<Batch> batches = new ArrayList<>();
    for (ConsumerRecord<byte[], byte[]> record :
        TopicContents.read(bootstrapServers, Topics.CALLS.name())) {
      String type = HeaderValues.text(record.headers(), BatchHeaderCodec.TYPE_HEADER);
      if (!CacheLossCodec.TYPE.equals(type)) {
        batches.add(
            new Batch(
                record.partition(),
                record.offset(),
                BatchHeaderCodec.decode(HeaderValues.of(record.headers())),
                record.value(),
                CallBatchReader.decode(record.value())));
      }
    }
    return batches;
  }
}
