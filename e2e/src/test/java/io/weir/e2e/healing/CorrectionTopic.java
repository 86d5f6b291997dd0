// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.healing;

import io.weir.limits.correction.Correction;
import io.weir.topics.catalog.Topics;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.CorrectionCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.jspecify.annotations.Nullable;

/** What stands in the corrections topic now. */
final class CorrectionTopic {
  private static final Duration POLL = Duration.ofMillis(100);

  private CorrectionTopic() {}

  /** Every committed record, each partition in order. */
  static List<ConsumerRecord<byte @Nullable [], byte @Nullable []>> records(
      String bootstrapServers) {
    List<ConsumerRecord<byte @Nullable [], byte @Nullable []>> records = new ArrayList<>();
    try (KafkaConsumer<byte @Nullable [], byte @Nullable []> consumer =
        new KafkaConsumer<>(
            Map.of(
                "bootstrap.servers", bootstrapServers,
                "isolation.level", "read_committed",
                "auto.offset.reset", "earliest"),
            new ByteArrayDeserializer(),
            new ByteArrayDeserializer())) {
      List<TopicPartition> partitions =
          consumer.partitionsFor(Topics.CORRECTIONS.name()).stream()
              .map(info -> new TopicPartition(info.topic(), info.partition()))
              .toList();
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
      while (partitions.stream()
          .anyMatch(partition -> consumer.position(partition) < ends.getOrDefault(partition, 0L))) {
        consumer.poll(POLL).forEach(records::add);
      }
    }
    return records;
  }

  /** Every correction, in the order of its bucket. */
  static List<Correction> corrections(String bootstrapServers) throws MalformedRecordException {
    List<Correction> corrections = new ArrayList<>();
    for (ConsumerRecord<byte @Nullable [], byte @Nullable []> record : records(bootstrapServers)) {
      Header type = record.headers().lastHeader(BatchHeaderCodec.TYPE_HEADER);
      byte[] value = record.value();
      if (value != null
          && type != null
          && CorrectionCodec.TYPE.equals(new String(type.value(), StandardCharsets.UTF_8))) {
        corrections.add(CorrectionCodec.decode(value));
      }
    }
    return corrections;
  }
}
