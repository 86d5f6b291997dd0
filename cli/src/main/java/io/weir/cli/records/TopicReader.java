// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.records;

import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.catalog.Topic;
import io.weir.topics.kafka.KafkaConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import java.util.function.IntPredicate;
import java.util.function.LongConsumer;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.jspecify.annotations.Nullable;

/** Reads the committed records of a topic from its first record. Not thread-safe. */
public final class TopicReader implements AutoCloseable {
  private static final Duration POLL = Duration.ofMillis(500);
  private static final Duration CALL_TIMEOUT = Duration.ofSeconds(20);

  /**
   * Maximum number of records in memory. Records in memory are uncompressed, and each can have 4
   * MiB, so Kafka's default of 500 records would not fit into the heap.
   */
  private static final int MAX_POLL_RECORDS = 32;

  /** Maximum number of bytes that are prefetched, compressed. */
  private static final int MAX_FETCH_BYTES = 16 * 1024 * 1024;

  /**
   * Bounds the duration of a close. A close waits for the current fetch, even at the end of a
   * topic.
   */
  private static final int MAX_FETCH_WAIT_MILLIS = 20;

  private final KafkaConsumer<@Nullable String, byte @Nullable []> consumer;
  private final List<TopicPartition> partitions = new ArrayList<>();
  private final Map<Integer, Long> begins = new HashMap<>();
  private final int partitionCount;

  /** Creates a reader of all partitions. */
  public TopicReader(KafkaConnection kafka, Topic topic) {
    this(kafka, topic, partition -> true);
  }

  /** Creates a reader of the wanted partitions. */
  public TopicReader(KafkaConnection kafka, Topic topic, IntPredicate wanted) {
    this(count -> wanted, kafka, topic);
  }

  /** Creates a reader of the partition of a client; of all partitions if the client is null. */
  public static TopicReader ofClient(KafkaConnection kafka, Topic topic, @Nullable String client) {
    return new TopicReader(
        count ->
            client == null
                ? partition -> true
                : partition -> partition == ClientPartitioner.partition(client, count),
        kafka,
        topic);
  }

  /**
   * Creates a reader.
   *
   * @param wanted returns which partitions to read; its argument is the topic's number of
   *     partitions
   */
  private TopicReader(IntFunction<IntPredicate> wanted, KafkaConnection kafka, Topic topic) {
    Map<String, Object> settings = new HashMap<>();
    settings.put(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, MAX_POLL_RECORDS);
    settings.put(ConsumerConfig.FETCH_MAX_BYTES_CONFIG, MAX_FETCH_BYTES);
    settings.put(ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG, MAX_FETCH_WAIT_MILLIS);
    settings.put(ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, (int) CALL_TIMEOUT.toMillis());
    consumer = kafka.consumer(settings, new StringDeserializer(), new ByteArrayDeserializer());
    List<PartitionInfo> all = consumer.partitionsFor(topic.name());
    if (all.isEmpty()) {
      consumer.close();
      throw missing(topic);
    }
    partitionCount = all.size();
    for (PartitionInfo partition : all) {
      if (wanted.apply(partitionCount).test(partition.partition())) {
        partitions.add(new TopicPartition(topic.name(), partition.partition()));
      }
    }
    consumer.assign(partitions);
    consumer.seekToBeginning(partitions);
    consumer
        .beginningOffsets(partitions)
        .forEach((partition, begin) -> begins.put(partition.partition(), begin));
  }

  /**
   * Returns the exception for a missing topic. A cluster without this topic is not one of Weir's
   * clusters.
   */
  public static UnknownTopicOrPartitionException missing(Topic topic) {
    return new UnknownTopicOrPartitionException(
        "there is no topic " + topic.name() + "; 'weir topics create' creates Weir's topics");
  }

  /** Receives each record. */
  public interface Visitor {
    void visit(ConsumerRecord<@Nullable String, byte @Nullable []> record);
  }

  /** Returns the number of partitions of the topic, including those that are not read. */
  public int partitionCount() {
    return partitionCount;
  }

  /** Returns the first offset of each partition when the reader was created. */
  public Map<Integer, Long> begins() {
    return begins;
  }

  /** Returns the current end of each partition: the offset after its last committed record. */
  public Map<Integer, Long> ends() {
    Map<Integer, Long> ends = new HashMap<>();
    consumer
        .endOffsets(partitions)
        .forEach((partition, end) -> ends.put(partition.partition(), end));
    return ends;
  }

  /**
   * Returns for each partition the offset of its first record at or after a time, by the broker's
   * clock, but at most the given end.
   */
  public Map<Integer, Long> offsetsAt(long epochMillis, Map<Integer, Long> ends) {
    Map<TopicPartition, Long> times = new HashMap<>();
    partitions.forEach(partition -> times.put(partition, epochMillis));
    Map<Integer, Long> offsets = new HashMap<>(ends);
    for (Map.Entry<TopicPartition, @Nullable OffsetAndTimestamp> found :
        consumer.offsetsForTimes(times).entrySet()) {
      OffsetAndTimestamp first = found.getValue();
      if (first != null) {
        offsets.merge(found.getKey().partition(), first.offset(), Math::min);
      }
    }
    return offsets;
  }

  /**
   * Returns the number of offsets from the first offset to the given end, summed over the
   * partitions.
   */
  public long size(Map<Integer, Long> ends) {
    long size = 0;
    for (TopicPartition partition : partitions) {
      size += Math.max(0, end(ends, partition) - begins.getOrDefault(partition.partition(), 0L));
    }
    return size;
  }

  /** Visits all records that are committed now, each partition in order. */
  public void read(Visitor visitor) {
    read("", visitor, (what, done, total) -> {});
  }

  /**
   * Visits all records that are committed now, each partition in order.
   *
   * @param what the description of the progress; the progress is the number of offsets passed
   */
  public void read(String what, Visitor visitor, ReadProgress progress) {
    Map<Integer, Long> ends = ends();
    long size = size(ends);
    read(ends, visitor, done -> progress.step(what, done, size));
  }

  /**
   * Visits the records that this reader has not visited yet, each partition in order.
   *
   * @param ends the end offset of each partition, exclusive
   * @param progress receives the number of offsets passed
   */
  public void read(Map<Integer, Long> ends, Visitor visitor, LongConsumer progress) {
    while (true) {
      List<TopicPartition> done = new ArrayList<>();
      long position = 0;
      for (TopicPartition partition : partitions) {
        // a position also advances past transaction markers, which are offsets without a record
        long at = consumer.position(partition);
        if (at >= end(ends, partition)) {
          done.add(partition);
        }
        position += Math.max(0, at - begins.getOrDefault(partition.partition(), 0L));
      }
      progress.accept(position);
      if (done.size() == partitions.size()) {
        return;
      }
      consumer.pause(done); // follow() reads the records after the end
      for (ConsumerRecord<@Nullable String, byte @Nullable []> record : consumer.poll(POLL)) {
        if (record.offset() < ends.getOrDefault(record.partition(), 0L)) {
          visitor.visit(record);
        }
      }
      for (TopicPartition partition : partitions) {
        // follow() also reads the records after the end that came in the same response
        if (consumer.position(partition) > end(ends, partition)
            && begins.getOrDefault(partition.partition(), 0L) <= end(ends, partition)) {
          consumer.seek(partition, end(ends, partition));
        }
      }
    }
  }

  /** Skips the records before the given end offsets. */
  public void skipTo(Map<Integer, Long> ends) {
    for (TopicPartition partition : partitions) {
      consumer.seek(partition, end(ends, partition));
    }
  }

  /** Returns whether all records before the given end offsets have been visited. */
  public boolean hasReached(Map<Integer, Long> ends) {
    return partitions.stream()
        .allMatch(partition -> consumer.position(partition) >= end(ends, partition));
  }

  /** Visits the next records; waits for a moment if there are none. */
  public void follow(Visitor visitor) {
    consumer.resume(partitions);
    consumer.poll(POLL).forEach(visitor::visit);
  }

  /**
   * Returns the value of the record at an offset; null if it has none, has expired or does not come
   * in time. Skips the other records.
   */
  public byte @Nullable [] value(int partition, long offset) {
    TopicPartition sought =
        partitions.stream().filter(one -> one.partition() == partition).findFirst().orElseThrow();
    consumer.pause(partitions);
    consumer.resume(List.of(sought));
    consumer.seek(sought, offset);
    long deadlineNanos = System.nanoTime() + CALL_TIMEOUT.toNanos();
    while (System.nanoTime() - deadlineNanos < 0) {
      for (ConsumerRecord<@Nullable String, byte @Nullable []> record : consumer.poll(POLL)) {
        return record.offset() == offset ? record.value() : null;
      }
    }
    return null;
  }

  private static long end(Map<Integer, Long> ends, TopicPartition partition) {
    return ends.getOrDefault(partition.partition(), 0L);
  }

  @Override
  public void close() {
    consumer.close(CloseOptions.timeout(Duration.ofSeconds(2)));
  }
}
