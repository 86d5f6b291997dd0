// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import io.weir.topics.calls.CallBatchWriter;
import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.log.CallsRecord;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.Stamp;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.jspecify.annotations.Nullable;

/**
 * Writes batches of nodes to the calls topic. All calls are in windows that have ended. A window
 * closes when the backlog has written the heartbeats at its end. Not thread-safe.
 */
final class Backlog implements AutoCloseable {
  static final long WINDOW_MILLIS = 60_000;

  private static final int ENDPOINTS = 5;
  private static final long HOUR_MILLIS = 3_600_000;

  /**
   * A prime above every number of clients. So every client makes one call before any client makes
   * its next call, and the order of the clients is unlike the order of their names.
   */
  private static final long STRIDE = 7_368_787;

  private final Shape shape;
  private final KafkaProducer<byte[], byte[]> producer;
  private final AtomicReference<@Nullable Exception> failure = new AtomicReference<>();
  private final SplittableRandom random = new SplittableRandom(1);
  private final CallBatchWriter[] batches;

  /** By partition and offset, the number of calls in the records up to the offset. */
  private final List<List<Long>> callsThrough;

  /** Positions by node and partition. */
  private final long[][] sequences;

  private final long[][] lines;
  private String group = "client-";
  private int clients;
  private long calls;
  private long windowStart;

  /**
   * The dimensions of a backlog.
   *
   * @param nodes number of nodes, which send the batches of a partition in turn
   * @param callsABatch maximum number of calls of a batch
   * @param callerIdEvery with {@code n}, every n-th call has an id of its caller; with 0, no call
   *     has one
   */
  record Shape(int clients, int nodes, int partitions, int callsABatch, int callerIdEvery) {
    /** Returns a backlog of one node and one partition. */
    static Shape ofOneNode(int callerIdEvery) {
      return new Shape(1_000, 1, 1, 500, callerIdEvery);
    }
  }

  /** Creates an empty backlog. Its producer compresses each batch alone. */
  Backlog(String bootstrapServers, Shape shape) {
    this.shape = shape;
    this.clients = shape.clients();
    this.batches =
        Stream.generate(CallBatchWriter::new)
            .limit(shape.partitions())
            .toArray(CallBatchWriter[]::new);
    this.callsThrough =
        Stream.<List<Long>>generate(ArrayList::new).limit(shape.partitions()).toList();
    this.sequences = new long[shape.nodes()][shape.partitions()];
    this.lines = new long[shape.nodes()][shape.partitions()];
    this.windowStart = System.currentTimeMillis() / WINDOW_MILLIS * WINDOW_MILLIS - 3 * HOUR_MILLIS;
    this.producer =
        new KafkaProducer<>(
            Map.of(
                "bootstrap.servers", bootstrapServers, "compression.type", "lz4", "batch.size", 0),
            new ByteArraySerializer(),
            new ByteArraySerializer());
  }

  /** Makes all further calls calls of new clients, whose names begin with the group. */
  void useClients(String group, int clients) {
    this.group = group;
    this.clients = clients;
    calls = 0;
  }

  /** Writes calls, and closes a window after each equal part of them. */
  void write(int calls, int windows) {
    for (int window = 0; window < windows; window++) {
      write(calls / windows);
      closeWindow();
    }
  }

  /** Writes calls of the current window. */
  void write(int count) {
    for (int i = 0; i < count; i++) {
      int number = (int) (calls * STRIDE % clients);
      String client = group + number;
      Stamp stamp =
          new Stamp(
              1_763_690_000_000_000L,
              0,
              calls / clients + 1,
              (windowStart + WINDOW_MILLIS) * 1_000);
      boolean ofCaller = shape.callerIdEvery() > 0 && calls % shape.callerIdEvery() == 0;
      long millis = windowStart + calls % WINDOW_MILLIS;
      int partition = ClientPartitioner.partition(client, shape.partitions());
      batches[partition].add(
          CallsBenchmark.call(random, ofCaller, client, number % ENDPOINTS, millis, stamp));
      if (batches[partition].count() == shape.callsABatch()) {
        sendBatch(partition);
      }
      calls++;
    }
    for (int partition = 0; partition < shape.partitions(); partition++) {
      if (batches[partition].count() > 0) {
        sendBatch(partition);
      }
    }
    flush();
  }

  /** Begins the next window. Each node sends a heartbeat, so that the current window closes. */
  void closeWindow() {
    windowStart += WINDOW_MILLIS;
    for (int node = 0; node < shape.nodes(); node++) {
      for (int partition = 0; partition < shape.partitions(); partition++) {
        send(node, partition, 0, new byte[0]);
      }
    }
    flush();
  }

  /** Returns the start of the current window. */
  long windowStartEpochMillis() {
    return windowStart;
  }

  /** Returns the number of calls in the records of a partition before an offset. */
  long callsBefore(int partition, long offset) {
    return offset <= 0 ? 0 : callsThrough.get(partition).get((int) offset - 1);
  }

  private void sendBatch(int partition) {
    int node = callsThrough.get(partition).size() % shape.nodes();
    int count = batches[partition].count();
    sequences[node][partition]++;
    send(node, partition, count, batches[partition].take());
  }

  @SuppressWarnings("FutureReturnValueIgnored") // the callback receives every failure
  private void send(int node, int partition, int count, byte[] value) {
    BatchHeader header =
        new BatchHeader(
            "bench-" + node,
            1,
            sequences[node][partition],
            count,
            windowStart,
            lines[node][partition],
            false);
    lines[node][partition] += count;
    List<Long> through = callsThrough.get(partition);
    through.add(callsBefore(partition, through.size()) + count);
    producer.send(
        CallsRecord.produced(partition, header, value),
        (metadata, failed) -> {
          if (failed != null) {
            failure.compareAndSet(null, failed);
          }
        });
  }

  private void flush() {
    producer.flush();
    Exception failed = failure.get();
    if (failed != null) {
      throw new IllegalStateException("the backlog could not be written", failed);
    }
  }

  @Override
  public void close() {
    producer.close();
  }
}
