// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.topics.catalog.Topic;
import io.weir.topics.catalog.Topics;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.Replay;
import io.weir.topics.problem.Problem;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.MalformedRecordException;
import io.weir.topics.wire.ReplayCodec;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.Predicate;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The calls topic on a broker. Each reading uses a consumer of its own, without a group. */
final class KafkaAuditLog implements AuditLog {
  private static final Logger LOG = LoggerFactory.getLogger(KafkaAuditLog.class);
  private static final Duration POLL = Duration.ofMillis(200);
  private static final int API_TIMEOUT_MILLIS = 5_000;
  private static final int MAX_FETCH_BYTES = 2 * Topic.MAX_RECORD_BYTES;

  private final String bootstrapServers;
  private final AtomicLong readings = new AtomicLong();

  KafkaAuditLog(String bootstrapServers) {
    this.bootstrapServers = bootstrapServers;
  }

  @Override
  public End read(int partition, Start start, Predicate<Entry> reader, Duration atMost) {
    long deadline = System.nanoTime() + atMost.toNanos();
    TopicPartition calls = new TopicPartition(Topics.CALLS.name(), partition);
    try (KafkaConsumer<byte[], byte[]> consumer = consumer()) {
      consumer.assign(List.of(calls));
      long end = consumer.endOffsets(List.of(calls)).getOrDefault(calls, 0L);
      consumer.seek(calls, firstOffset(consumer, calls, start, end));
      while (consumer.position(calls) < end) {
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL).records(calls)) {
          if (record.offset() >= end) {
            return End.LOG_END;
          }
          if (!reader.test(entry(record))) {
            return End.ENOUGH;
          }
          if (System.nanoTime() - deadline > 0) {
            return End.TIME_UP;
          }
        }
        if (System.nanoTime() - deadline > 0) {
          return End.TIME_UP;
        }
      }
      return End.LOG_END;
    } catch (KafkaException unavailable) {
      LOG.warn("audit log not readable partition={}", partition, unavailable);
      throw new ProblemException(
          Problem.partitionUnavailable(partition, "the audit log cannot be read at present"));
    }
  }

  private static long firstOffset(
      KafkaConsumer<byte[], byte[]> consumer, TopicPartition calls, Start start, long end) {
    if (start.offset() >= 0) {
      return start.offset();
    }
    OffsetAndTimestamp found =
        consumer.offsetsForTimes(Map.of(calls, Math.max(0, start.atEpochMillis()))).get(calls);
    return found == null ? end : found.offset();
  }

  private static Entry entry(ConsumerRecord<byte[], byte[]> record) {
    byte[] value = record.value();
    return new Entry(
        record.offset(), record.timestamp(), header(record), value == null ? new byte[0] : value);
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
      // a replay at the lines' own positions repeats, out of order, what is already there
      return replay == null || replay.hasOwnPositions(batch) ? batch : null;
    } catch (MalformedRecordException noBatch) {
      return null; // quarantined as a whole, or a message about the cache
    }
  }

  private KafkaConsumer<byte[], byte[]> consumer() {
    return new KafkaConsumer<>(
        Map.of(
            ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG,
            bootstrapServers,
            ConsumerConfig.CLIENT_ID_CONFIG,
            "weir-events-" + readings.incrementAndGet(),
            ConsumerConfig.ISOLATION_LEVEL_CONFIG,
            "read_committed",
            ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG,
            false,
            ConsumerConfig.AUTO_OFFSET_RESET_CONFIG,
            "earliest",
            ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG,
            false,
            ConsumerConfig.MAX_PARTITION_FETCH_BYTES_CONFIG,
            MAX_FETCH_BYTES,
            ConsumerConfig.FETCH_MAX_BYTES_CONFIG,
            MAX_FETCH_BYTES,
            ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG,
            API_TIMEOUT_MILLIS,
            ConsumerConfig.REQUEST_TIMEOUT_MS_CONFIG,
            API_TIMEOUT_MILLIS),
        new ByteArrayDeserializer(),
        new ByteArrayDeserializer());
  }
}
