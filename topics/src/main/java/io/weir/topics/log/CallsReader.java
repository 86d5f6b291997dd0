// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.log;

import io.weir.topics.catalog.Topics;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.common.TopicPartition;

/**
 * Reads ranges of the calls topic over one consumer, a fetch at a time. Partitions may be read in
 * any order; reading on where the last read ended uses what the consumer has prefetched. Every
 * method may throw {@link org.apache.kafka.common.KafkaException}, also if Kafka does not answer
 * within the consumer's {@code default.api.timeout.ms}. Not thread-safe.
 */
public final class CallsReader implements AutoCloseable {
  /** Bounds a close, which waits for the fetch in progress. */
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(1);

  private final Consumer<byte[], byte[]> consumer;

  /**
   * The result of one read.
   *
   * @param records the records, in the order of the log
   * @param next the offset at which the next read continues; the one at which this read began if
   *     nothing was there to be read. It is past the offset after the last record if markers of
   *     transactions, which are no records, follow that record
   * @param bytes total size of the values of the records
   */
  public record Slice(List<CallsRecord> records, long next, long bytes) {
    public Slice {
      records = List.copyOf(records);
    }
  }

  /**
   * Creates a reader.
   *
   * @param consumer used by this reader alone, and closed with it. Its settings bound what one read
   *     returns
   */
  public CallsReader(Consumer<byte[], byte[]> consumer) {
    this.consumer = consumer;
  }

  /** Returns the offset of the oldest record that a partition holds. */
  public long begin(int partition) {
    TopicPartition calls = calls(partition);
    return consumer.beginningOffsets(List.of(calls)).getOrDefault(calls, 0L);
  }

  /** Returns the offset after the newest committed record of a partition. */
  public long end(int partition) {
    TopicPartition calls = calls(partition);
    return consumer.endOffsets(List.of(calls)).getOrDefault(calls, 0L);
  }

  /**
   * Returns the offset of the first record that the broker appended at or after a time, or the end
   * of the partition if there is none.
   *
   * @param epochMillis the time by the broker's clock, ≥ 0
   */
  public long offsetAt(int partition, long epochMillis) {
    TopicPartition calls = calls(partition);
    OffsetAndTimestamp found = consumer.offsetsForTimes(Map.of(calls, epochMillis)).get(calls);
    return found == null ? end(partition) : found.offset();
  }

  /**
   * Reads the records of one fetch, or as many of them as one poll returns. If the offset is no
   * longer held, reading begins where the consumer's {@code auto.offset.reset} says.
   *
   * @param offset offset of the first record, ≥ 0
   * @param atMost how long to wait for a record if none is there yet
   */
  public Slice read(int partition, long offset, Duration atMost) {
    TopicPartition calls = calls(partition);
    consumer.assign(List.of(calls));
    consumer.seek(calls, offset);
    List<CallsRecord> records =
        consumer.poll(atMost).records(calls).stream().map(CallsRecord::of).toList();
    long bytes = records.stream().mapToLong(record -> record.value().length).sum();
    return new Slice(records, consumer.position(calls), bytes);
  }

  private static TopicPartition calls(int partition) {
    return new TopicPartition(Topics.CALLS.name(), partition);
  }

  /** Closes the consumer. */
  @Override
  public void close() {
    consumer.close(CloseOptions.timeout(CLOSE_TIMEOUT));
  }
}
