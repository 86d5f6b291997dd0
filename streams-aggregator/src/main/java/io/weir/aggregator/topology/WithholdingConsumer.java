// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.jspecify.annotations.Nullable;

/**
 * A consumer that withholds the record at which a partition has stopped, and all later records. The
 * consumer's position stays at the withheld record. Kafka Streams cannot stop a single partition.
 * So this consumer withholds the records, which Kafka Streams then neither counts nor commits. Not
 * thread-safe, like its superclass.
 */
final class WithholdingConsumer extends KafkaConsumer<byte[], byte[]> {
  private final StoppedPartitions stopped;

  WithholdingConsumer(Map<String, Object> config, StoppedPartitions stopped) {
    super(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    this.stopped = stopped;
  }

  @Override
  public ConsumerRecords<byte[], byte[]> poll(Duration timeout) {
    ConsumerRecords<byte[], byte[]> polled = super.poll(timeout);
    if (polled.partitions().stream().allMatch(one -> stopped.withheldFrom(one) == null)) {
      return polled;
    }
    Map<TopicPartition, List<ConsumerRecord<byte[], byte[]>>> records = new HashMap<>();
    Map<TopicPartition, OffsetAndMetadata> next = new HashMap<>(polled.nextOffsets());
    for (TopicPartition partition : polled.partitions()) {
      List<ConsumerRecord<byte[], byte[]>> given =
          before(polled.records(partition), stopped.withheldFrom(partition));
      if (!given.isEmpty()) {
        records.put(partition, given);
      }
      if (given.size() < polled.records(partition).size()) {
        ConsumerRecord<byte[], byte[]> first = polled.records(partition).get(given.size());
        seek(partition, first.offset());
        super.pause(Set.of(partition));
        if (given.isEmpty()) {
          next.remove(partition);
        } else {
          next.put(partition, new OffsetAndMetadata(first.offset()));
        }
      }
    }
    return new ConsumerRecords<>(records, next);
  }

  private static List<ConsumerRecord<byte[], byte[]>> before(
      List<ConsumerRecord<byte[], byte[]>> records, @Nullable Long end) {
    if (end == null) {
      return records;
    }
    int count = 0;
    while (count < records.size() && records.get(count).offset() < end) {
      count++;
    }
    return records.subList(0, count);
  }

  /** Resumes partitions that Kafka Streams has paused. A stopped partition stays paused. */
  @Override
  public void resume(Collection<TopicPartition> partitions) {
    List<TopicPartition> flowing = new ArrayList<>(partitions);
    flowing.removeIf(this::isAtItsEnd);
    super.resume(flowing);
  }

  private boolean isAtItsEnd(TopicPartition partition) {
    Long end = stopped.withheldFrom(partition);
    return end != null && position(partition) >= end;
  }
}
