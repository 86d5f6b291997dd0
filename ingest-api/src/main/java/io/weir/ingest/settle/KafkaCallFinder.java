// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.catalog.Topics;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads the client's partition of the calls topic until the call is found. Few searches at once,
 * each with a consumer of its own, which is kept for the next.
 */
public final class KafkaCallFinder implements CallFinder {
  /** Searches at once; each may hold some fetched batches of up to 4 MiB. */
  static final int MAX_SEARCHES = 4;

  /** How long a search waits for its turn. */
  static final Duration MAX_QUEUEING = Duration.ofSeconds(1);

  /** How long one search may take. */
  static final Duration MAX_TIME = Duration.ofSeconds(10);

  /**
   * How long a call that is not there is waited for: another node may have answered it and hold it
   * in its journal for some tens of milliseconds.
   */
  static final Duration ARRIVAL_PATIENCE = Duration.ofSeconds(2);

  /** How much of the log behind a call is read for an earlier settlement of it. */
  static final long MAX_BEHIND_CALL_BYTES = 16L << 20;

  private static final Duration POLL = Duration.ofMillis(100);
  private static final Logger LOG = LoggerFactory.getLogger(KafkaCallFinder.class);

  private final String bootstrapServers;
  private final String node;
  private final int partitions;
  private final long horizonMillis;
  private final LongSupplier clockEpochMillis;
  private final Semaphore turns = new Semaphore(MAX_SEARCHES, true);
  private final Queue<KafkaConsumer<byte[], byte[]>> idle = new ConcurrentLinkedQueue<>();

  /**
   * A finder; Kafka is not asked yet.
   *
   * @param partitions of the calls topic
   * @param horizon how far back calls are looked for whose id does not tell their time
   * @param clockEpochMillis a clock near the broker's
   */
  public KafkaCallFinder(
      String bootstrapServers,
      String node,
      int partitions,
      Duration horizon,
      LongSupplier clockEpochMillis) {
    this.bootstrapServers = bootstrapServers;
    this.node = node;
    this.partitions = partitions;
    this.horizonMillis = horizon.toMillis();
    this.clockEpochMillis = clockEpochMillis;
  }

  @Override
  public Finding find(CallQuery query) {
    try {
      if (!turns.tryAcquire(MAX_QUEUEING.toMillis(), TimeUnit.MILLISECONDS)) {
        return new Unknown("too many calls are being settled at once");
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      return new Unknown("the node is stopping");
    }
    KafkaConsumer<byte[], byte[]> consumer = idle.poll();
    try {
      if (consumer == null) {
        consumer = SearchConsumer.open(bootstrapServers, node);
      }
      Finding finding = new Search(consumer, query).run();
      idle.add(consumer);
      return finding;
    } catch (KafkaException unavailable) {
      LOG.warn("audit log not readable, a call cannot be settled", unavailable);
      if (consumer != null) {
        SearchConsumer.close(consumer);
      }
      return new Unknown("the audit log cannot be read at present");
    } finally {
      turns.release();
    }
  }

  /** One search. */
  private final class Search {
    private final KafkaConsumer<byte[], byte[]> consumer;
    private final CallQuery query;
    private final TopicPartition calls;
    private final CallTrace trace;
    private final long nowMillis = clockEpochMillis.getAsLong();
    private final long deadlineNanos = System.nanoTime() + MAX_TIME.toNanos();

    /** From here to now everything was read; parts go back in time, after one around the id's. */
    private long readFromMillis = Long.MAX_VALUE;

    /** Bytes read since the call was found. */
    private long behindCallBytes;

    Search(KafkaConsumer<byte[], byte[]> consumer, CallQuery query) {
      this.consumer = consumer;
      this.query = query;
      int partition = ClientPartitioner.partition(query.client(), partitions);
      this.calls = new TopicPartition(Topics.CALLS.name(), partition);
      this.trace = new CallTrace(query, partition);
    }

    Finding run() {
      consumer.assign(List.of(calls));
      List<SearchPlan.Part> parts =
          SearchPlan.of(query.id(), nowMillis, horizonMillis, Topics.LATENESS.toMillis());
      for (SearchPlan.Part part : parts) {
        if (!read(part)) {
          return new Unknown(
              "the call was not found within "
                  + MAX_TIME.toSeconds()
                  + " s; its Usage-Position tells where to look");
        }
        if (trace.hasCall()) {
          break;
        }
        if (trace.isToCome()) {
          return new Unknown("the call's node has not sent it yet");
        }
      }
      Finding finding = trace.finding();
      return finding == null ? new NotFound(readFromMillis, nowMillis) : finding;
    }

    /** Reads a part of the log; false when time was up. */
    private boolean read(SearchPlan.Part part) {
      long end = consumer.endOffsets(List.of(calls)).getOrDefault(calls, 0L);
      long from = offsetAt(part.fromEpochMillis(), end);
      long to = part.isOpen() ? end : Math.min(end, offsetAt(part.toEpochMillis(), end));
      if (part.isOpen() || readFromMillis < Long.MAX_VALUE) {
        readFromMillis = part.fromEpochMillis();
      }
      consumer.seek(calls, from);
      while (consumer.position(calls) < to && !isEnough()) {
        // behind an open part there is no other: what came since its end was asked for is its own
        take(part.isOpen() ? Long.MAX_VALUE : to);
        if (System.nanoTime() - deadlineNanos > 0) {
          return false;
        }
      }
      if (part.isOpen()) {
        awaitArrival();
      }
      return true;
    }

    private long offsetAt(long epochMillis, long end) {
      OffsetAndTimestamp found =
          consumer.offsetsForTimes(Map.of(calls, Math.max(0, epochMillis))).get(calls);
      return found == null ? end : found.offset();
    }

    /** Reads on behind the end of the log for a while, unless the call must stand before. */
    private void awaitArrival() {
      long arrivalDeadlineNanos = System.nanoTime() + ARRIVAL_PATIENCE.toNanos();
      while (!trace.hasCall()
          && !trace.isBefore()
          && System.nanoTime() - arrivalDeadlineNanos < 0) {
        take(Long.MAX_VALUE);
      }
    }

    private boolean isEnough() {
      return trace.hasCall() && behindCallBytes > MAX_BEHIND_CALL_BYTES;
    }

    private void take(long to) {
      for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL).records(calls)) {
        BatchHeader header = header(record);
        byte[] value = record.value();
        if (record.offset() < to && header != null && value != null) {
          behindCallBytes += trace.hasCall() ? value.length : 0;
          trace.take(record.offset(), header, value);
        }
      }
    }
  }

  private static @Nullable BatchHeader header(ConsumerRecord<byte[], byte[]> record) {
    try {
      return BatchHeaderCodec.decode(
          name -> {
            Header header = record.headers().lastHeader(name);
            return header == null ? null : header.value();
          });
    } catch (MalformedRecordException noBatch) {
      return null; // in quarantine, or a word about the cache
    }
  }

  /** Closes what no search uses; a search under way closes with its process. */
  @Override
  public void close() {
    for (KafkaConsumer<byte[], byte[]> one = idle.poll(); one != null; one = idle.poll()) {
      SearchConsumer.close(one);
    }
  }
}
