// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.log.CallsReader;
import io.weir.topics.log.CallsReader.Slice;
import io.weir.topics.process.FairTurns;
import java.time.Duration;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.errors.TimeoutException;

/**
 * A pool of Kafka consumers that all searches share. A search borrows a consumer for one request of
 * some milliseconds. Each client has at most one request in progress, and the pool serves waiting
 * clients in rotation. The consumers belong to no consumer group. Thread-safe.
 */
final class LogConsumers implements AutoCloseable {
  /** Maximum number of concurrent requests to Kafka. */
  static final int MAX_CONSUMERS = 4;

  /**
   * Maximum number of bytes that one request returns. A single record above this size is returned
   * completely.
   */
  static final int SLICE_BYTES = 256 << 10;

  /**
   * Maximum time that Kafka waits for records before it answers a fetch. The time is short, because
   * a prefetch at the end of a partition must not delay the next request.
   */
  private static final int MAX_FETCH_WAIT_MILLIS = 10;

  private static final Duration POLL = Duration.ofMillis(100);

  private final KafkaConnection kafka;
  private final String node;
  private final int timeoutMillis;
  private final FairTurns turns = new FairTurns(MAX_CONSUMERS, 1);
  private final Queue<CallsReader> idle = new ConcurrentLinkedQueue<>();
  private final AtomicLong opened = new AtomicLong();
  private final LongAdder bytesRead = new LongAdder();

  /**
   * Creates a pool without an open consumer.
   *
   * @param timeout maximum wait for a consumer, and for Kafka's reply to one request
   */
  LogConsumers(KafkaConnection kafka, String node, Duration timeout) {
    this.kafka = kafka;
    this.node = node;
    this.timeoutMillis = Math.toIntExact(timeout.toMillis());
  }

  /** Returns a reader of a partition on behalf of a client. */
  PartitionReader reader(String client, int partition) {
    return new Reader(client, partition);
  }

  /** Returns the number of bytes that all searches have read since the start. */
  long bytesRead() {
    return bytesRead.sum();
  }

  private final class Reader implements PartitionReader {
    private final String client;
    private final int partition;

    Reader(String client, int partition) {
      this.client = client;
      this.partition = partition;
    }

    @Override
    public long begin() throws InterruptedException {
      return ask(client, log -> log.begin(partition));
    }

    @Override
    public long end() throws InterruptedException {
      return ask(client, log -> log.end(partition));
    }

    @Override
    public long offsetAt(long epochMillis) throws InterruptedException {
      return ask(client, log -> log.offsetAt(partition, epochMillis));
    }

    @Override
    public Slice read(long offset) throws InterruptedException {
      Slice slice = ask(client, log -> fetch(log, partition, offset));
      bytesRead.add(slice.bytes());
      return slice;
    }
  }

  private Slice fetch(CallsReader log, int partition, long offset) {
    long deadlineNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
    while (true) {
      Slice slice = log.read(partition, offset, POLL);
      if (slice.next() > offset) {
        return slice;
      }
      if (System.nanoTime() - deadlineNanos > 0) {
        throw new TimeoutException(
            "timed out while waiting for a record of partition "
                + partition
                + " from offset "
                + offset);
      }
    }
  }

  private <T> T ask(String client, Function<CallsReader, T> question) throws InterruptedException {
    if (!turns.acquire(client, TimeUnit.MILLISECONDS.toNanos(timeoutMillis))) {
      throw new TimeoutException("timed out while waiting for a Kafka consumer");
    }
    CallsReader log = null;
    boolean isGood = false;
    try {
      log = idle.poll();
      if (log == null) {
        log = open();
      }
      T answer = question.apply(log);
      isGood = true;
      return answer;
    } finally {
      if (isGood && log != null) {
        idle.add(log);
      } else if (log != null) {
        log.close();
      }
      turns.release(client);
    }
  }

  private CallsReader open() {
    return new CallsReader(
        kafka.consumer(
            Map.of(
                ConsumerConfig.CLIENT_ID_CONFIG,
                "weir-settle-" + node + "-" + opened.incrementAndGet(),
                ConsumerConfig.MAX_PARTITION_FETCH_BYTES_CONFIG,
                SLICE_BYTES,
                ConsumerConfig.FETCH_MAX_BYTES_CONFIG,
                SLICE_BYTES,
                ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG,
                MAX_FETCH_WAIT_MILLIS,
                ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG,
                timeoutMillis,
                ConsumerConfig.REQUEST_TIMEOUT_MS_CONFIG,
                timeoutMillis)));
  }

  /** Closes all idle consumers. Must be called when no search is in progress. */
  @Override
  public void close() {
    for (CallsReader each = idle.poll(); each != null; each = idle.poll()) {
      each.close();
    }
  }
}
