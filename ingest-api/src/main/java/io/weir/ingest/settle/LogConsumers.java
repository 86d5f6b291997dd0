// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.Replay;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.MalformedRecordException;
import io.weir.topics.wire.ReplayCodec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.jspecify.annotations.Nullable;

/**
 * A few consumers shared by all searches. A search holds a consumer for a single request to Kafka,
 * which takes some milliseconds, and then waits for its next turn. A client has one request in
 * progress at a time, and waiting clients are served in rotation. The consumers belong to no group.
 * Thread-safe.
 */
final class LogConsumers implements AutoCloseable {
  /** Most requests to Kafka at once. */
  static final int MAX_CONSUMERS = 4;

  /** Most bytes that one request returns, unless a single record is larger. */
  static final int SLICE_BYTES = 256 << 10;

  /** A consumer prefetches; at the end of the log that must not delay the next request. */
  private static final int MAX_FETCH_WAIT_MILLIS = 10;

  private static final Duration POLL = Duration.ofMillis(100);
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(1);

  private final String bootstrapServers;
  private final String node;
  private final int timeoutMillis;
  private final FairTurns turns = new FairTurns(MAX_CONSUMERS);
  private final Queue<KafkaConsumer<byte[], byte[]>> idle = new ConcurrentLinkedQueue<>();
  private final AtomicLong opened = new AtomicLong();

  /**
   * Creates the pool; no consumer is open yet.
   *
   * @param timeout longest wait for a turn, and for Kafka's answer to one request
   */
  LogConsumers(String bootstrapServers, String node, Duration timeout) {
    this.bootstrapServers = bootstrapServers;
    this.node = node;
    this.timeoutMillis = Math.toIntExact(timeout.toMillis());
  }

  long begin(TopicPartition partition, String client) throws InterruptedException {
    return ask(
        client,
        consumer -> consumer.beginningOffsets(List.of(partition)).getOrDefault(partition, 0L));
  }

  long end(TopicPartition partition, String client) throws InterruptedException {
    return ask(
        client, consumer -> consumer.endOffsets(List.of(partition)).getOrDefault(partition, 0L));
  }

  /** Returns the first offset at or after a time, or null if no record is that recent. */
  @Nullable Long offsetAt(TopicPartition partition, long epochMillis, String client)
      throws InterruptedException {
    OffsetAndTimestamp found =
        ask(
            client,
            consumer -> consumer.offsetsForTimes(Map.of(partition, epochMillis)).get(partition));
    return found == null ? null : found.offset();
  }

  /** Reads a slice of the log. The log must have records at or after the offset. */
  Slice read(TopicPartition partition, long offset, String client) throws InterruptedException {
    return ask(client, consumer -> read(consumer, partition, offset));
  }

  private Slice read(
      KafkaConsumer<byte[], byte[]> consumer, TopicPartition partition, long offset) {
    consumer.assign(List.of(partition));
    consumer.seek(partition, offset);
    long deadlineNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
    while (true) {
      List<ConsumerRecord<byte[], byte[]>> records = consumer.poll(POLL).records(partition);
      long next = consumer.position(partition);
      if (next > offset) {
        return slice(records, next);
      }
      if (System.nanoTime() - deadlineNanos > 0) {
        throw new TimeoutException("no record of " + partition + " from " + offset + " on came");
      }
    }
  }

  private static Slice slice(List<ConsumerRecord<byte[], byte[]>> records, long next) {
    List<Slice.Batch> batches = new ArrayList<>(records.size());
    long bytes = 0;
    for (ConsumerRecord<byte[], byte[]> record : records) {
      BatchHeader header = header(record);
      byte[] value = record.value();
      bytes += value == null ? 0 : value.length;
      if (header != null && value != null) {
        batches.add(new Slice.Batch(record.offset(), record.timestamp(), header, value));
      }
    }
    return new Slice(batches, next, bytes);
  }

  private static @Nullable BatchHeader header(ConsumerRecord<byte[], byte[]> record) {
    Function<String, byte @Nullable []> headers =
        name -> {
          Header header = record.headers().lastHeader(name);
          return header == null ? null : header.value();
        };
    try {
      BatchHeader batch = BatchHeaderCodec.decode(headers);
      Replay replay = ReplayCodec.decode(headers);
      // a replay at the lines' own positions repeats lines that are elsewhere in the log, out of
      // their order
      return replay == null || replay.hasOwnPositions(batch) ? batch : null;
    } catch (MalformedRecordException noBatch) {
      return null; // is in the quarantine, or is a message about the cache
    }
  }

  private <T extends @Nullable Object> T ask(
      String client, Function<KafkaConsumer<byte[], byte[]>, T> question)
      throws InterruptedException {
    if (!turns.acquire(client, TimeUnit.MILLISECONDS.toNanos(timeoutMillis))) {
      throw new TimeoutException("no turn to ask Kafka came in time");
    }
    KafkaConsumer<byte[], byte[]> consumer = null;
    boolean isGood = false;
    try {
      consumer = idle.poll();
      if (consumer == null) {
        consumer = open();
      }
      T answer = question.apply(consumer);
      isGood = true;
      return answer;
    } finally {
      if (isGood && consumer != null) {
        idle.add(consumer);
      } else if (consumer != null) {
        close(consumer);
      }
      turns.release(client);
    }
  }

  private KafkaConsumer<byte[], byte[]> open() {
    Map<String, Object> settings = new HashMap<>();
    settings.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrapServers);
    settings.put(
        ConsumerConfig.CLIENT_ID_CONFIG, "weir-settle-" + node + "-" + opened.incrementAndGet());
    settings.put(ConsumerConfig.GROUP_PROTOCOL_CONFIG, "classic");
    settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
    settings.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
    settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
    settings.put(ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG, false);
    settings.put(ConsumerConfig.MAX_PARTITION_FETCH_BYTES_CONFIG, SLICE_BYTES);
    settings.put(ConsumerConfig.FETCH_MAX_BYTES_CONFIG, SLICE_BYTES);
    settings.put(ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG, MAX_FETCH_WAIT_MILLIS);
    settings.put(ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, timeoutMillis);
    settings.put(ConsumerConfig.REQUEST_TIMEOUT_MS_CONFIG, timeoutMillis);
    return new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
  }

  private static void close(KafkaConsumer<byte[], byte[]> consumer) {
    consumer.close(CloseOptions.timeout(CLOSE_TIMEOUT));
  }

  /** Closes the consumers that are not in use. Must be called when no search is in progress. */
  @Override
  public void close() {
    for (KafkaConsumer<byte[], byte[]> each = idle.poll(); each != null; each = idle.poll()) {
      close(each);
    }
  }
}
