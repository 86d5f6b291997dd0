// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.healing;

import io.weir.testing.Await;
import io.weir.topics.calls.CallBatchReader;
import io.weir.topics.catalog.Topics;
import io.weir.topics.log.HeaderValues;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** All calls of the audit log, each batch once: the truth the oracle replays. Not thread-safe. */
final class CallTopic implements AutoCloseable {
  private static final Duration POLL = Duration.ofMillis(100);

  private final KafkaConsumer<byte[], byte[]> consumer;
  private final List<CallEvent> calls = new ArrayList<>();
  private final Set<String> batches = new HashSet<>();
  private final Map<String, Long> watermarks = new HashMap<>();

  CallTopic(String bootstrapServers) {
    consumer =
        new KafkaConsumer<>(
            Map.of(
                "bootstrap.servers",
                bootstrapServers,
                "isolation.level",
                "read_committed",
                "auto.offset.reset",
                "earliest",
                "max.poll.records",
                2_000),
            new ByteArrayDeserializer(),
            new ByteArrayDeserializer());
    List<TopicPartition> partitions =
        consumer.partitionsFor(Topics.CALLS.name()).stream()
            .map(info -> new TopicPartition(info.topic(), info.partition()))
            .toList();
    consumer.assign(partitions);
    consumer.seekToBeginning(partitions);
  }

  /**
   * Reads until every node has promised that all calls it decided before the time are in Kafka.
   *
   * @param nodes how many nodes there are
   * @return every call read so far, in no certain order
   */
  List<CallEvent> through(long epochMillis, int nodes) throws Exception {
    Await.until(
        () -> "promises of nodes by partition are " + watermarks + ", not " + epochMillis,
        () -> {
          for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL)) {
            read(record);
          }
          return watermarks.size() >= nodes * Fleet.PARTITIONS
              && watermarks.values().stream().allMatch(promise -> promise > epochMillis);
        });
    return List.copyOf(calls);
  }

  private void read(ConsumerRecord<byte[], byte[]> record) throws MalformedRecordException {
    String type = HeaderValues.text(record.headers(), BatchHeaderCodec.TYPE_HEADER);
    if (!BatchHeaderCodec.TYPE.equals(type)) {
      return;
    }
    BatchHeader header = BatchHeaderCodec.decode(HeaderValues.of(record.headers()));
    String node = record.partition() + "/" + header.node();
    watermarks.merge(node, header.lowWatermarkEpochMillis(), Math::max);
    String batch = node + "/" + header.nodeEpoch() + "/" + header.batchSequence();
    byte[] value = record.value();
    if (value == null || header.isHeartbeat() || !batches.add(batch)) {
      return;
    }
    calls.addAll(CallBatchReader.decode(value));
  }

  @Override
  public void close() {
    consumer.close();
  }
}
