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
 * A reader of ranges of the calls topic. A reader uses one consumer, and reads one fetch at a time
 * from any partition. A read that continues at the end of the last read uses the records that the
 * consumer has prefetched. Every method may throw {@link org.apache.kafka.common.KafkaException},
 * for example if Kafka does not reply within the consumer's {@code default.api.timeout.ms}. Not
 * thread-safe.
 */
public final class CallsReader implements AutoCloseable {
  /** Maximum time for which {@link #close} waits for the fetch in progress. */
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(1);

  private final Consumer<byte[], byte[]> consumer;

  /**
   * The result of one read.
   *
   * @param records the records, in the order of the log
   * @param next offset at which the next read continues; the start of this read if there was
   *     nothing to read. Transaction markers also advance the offset
   * @param bytes total size of the records' values, in bytes
   */
  public record Slice(List<CallsRecord> records, long next, long bytes) {
    public Slice {
      records = List.copyOf(records);
    }
  }

  /**
   * Creates a reader.
   *
   * @param consumer consumer that only this reader uses and closes; its settings bound the result
   *     of one read
   */
  public CallsReader(Consumer<byte[], byte[]> consumer) {
    this.consumer = consumer;
  }

  /** Returns the offset of the oldest record in a partition. */
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
   * Returns the offset of the first record that the broker appended at or after a time. Without
   * such a record, returns the end of the partition.
   *
   * @param epochMillis the time by the broker's clock, ≥ 0
   */
  public long offsetAt(int partition, long epochMillis) {
    TopicPartition calls = calls(partition);
    OffsetAndTimestamp found = consumer.offsetsForTimes(Map.of(calls, epochMillis)).get(calls);
    return found == null ? end(partition) : found.offset();
  }

  /**
   * Reads the records of one poll, at most one fetch. If the partition no longer has the offset,
   * the consumer's {@code auto.offset.reset} determines the first record.
   *
   * @param offset offset of the first record, ≥ 0
   * @param atMost maximum time to wait for the first record
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
