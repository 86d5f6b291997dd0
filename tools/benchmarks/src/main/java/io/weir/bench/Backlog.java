// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import io.weir.limits.BucketKey;
import io.weir.limits.TokenBucketLimit;
import io.weir.topics.calls.CallBatchWriter;
import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.log.CallsRecord;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.Stamp;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.jspecify.annotations.Nullable;

/**
 * Writes batches of one node to the calls topic. All calls are in windows that have ended, so the
 * last heartbeat closes all windows.
 */
final class Backlog {
  static final int LINES_A_BATCH = 500;
  static final int CLIENTS = 1_000;
  static final long WINDOW_MILLIS = 60_000;

  private static final int ENDPOINTS = 5;
  private static final long HOUR_MILLIS = 3_600_000;
  private static final TokenBucketLimit LIMIT = new TokenBucketLimit(100, 100, 60_000_000);

  private final String bootstrapServers;
  private final int windows;
  private final int callersIdEvery;
  private final AtomicReference<@Nullable Exception> failure = new AtomicReference<>();
  private long sequence;
  private long lines;
  private long windowStart;

  /**
   * Creates an empty backlog.
   *
   * @param windows number of windows among which {@link #write} distributes its calls
   * @param callersIdEvery with {@code n}, every n-th call has an id of its caller; with 0, no call
   *     has one
   */
  Backlog(String bootstrapServers, int windows, int callersIdEvery) {
    this.bootstrapServers = bootstrapServers;
    this.windows = windows;
    this.callersIdEvery = callersIdEvery;
    this.windowStart =
        System.currentTimeMillis() / WINDOW_MILLIS * WINDOW_MILLIS
            - HOUR_MILLIS
            - windows * WINDOW_MILLIS;
  }

  void write(int calls) {
    try (KafkaProducer<byte[], byte[]> producer =
        new KafkaProducer<>(
            Map.of(
                "bootstrap.servers",
                bootstrapServers,
                "compression.type",
                "lz4",
                "linger.ms",
                5,
                "batch.size",
                1 << 20),
            new ByteArraySerializer(),
            new ByteArraySerializer())) {
      int inWindow = calls / windows;
      for (int window = 0; window < windows; window++) {
        for (int n = 0; n < inWindow; n += LINES_A_BATCH) {
          int count = Math.min(LINES_A_BATCH, inWindow - n);
          send(producer, count, batch(count));
        }
        windowStart += WINDOW_MILLIS;
      }
      send(producer, 0, new byte[0]);
      producer.flush();
    }
    Exception failed = failure.get();
    if (failed != null) {
      throw new IllegalStateException("the backlog could not be written", failed);
    }
  }

  /** Returns the start of the window after the last written window. */
  long windowStartEpochMillis() {
    return windowStart;
  }

  private byte[] batch(int count) {
    List<CallEvent> calls = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      long n = lines + i;
      String client = "client-" + n % CLIENTS;
      calls.add(
          new CallEvent(
              String.format("01a1fc38-8725-78d4-a9f7-%012d", n),
              callersIdEvery > 0 && n % callersIdEvery == 0,
              client,
              "GET /v1/items/" + n % ENDPOINTS,
              "calls",
              1,
              true,
              DecidedBy.CACHE,
              "burst",
              1,
              windowStart + n % WINDOW_MILLIS,
              null,
              List.of(
                  new Charge(
                      BucketKey.of("burst", client).text(),
                      1,
                      LIMIT,
                      new Stamp(
                          1_763_690_000_000_000L,
                          0,
                          n / CLIENTS + 1,
                          (windowStart + WINDOW_MILLIS) * 1_000)))));
    }
    lines += count;
    return CallBatchWriter.encode(calls);
  }

  @SuppressWarnings("FutureReturnValueIgnored") // the callback receives every failure
  private void send(KafkaProducer<byte[], byte[]> producer, int count, byte[] value) {
    if (count > 0) {
      sequence++;
    }
    BatchHeader header =
        new BatchHeader("bench", 1, sequence, count, windowStart, lines - count, false);
    producer.send(
        CallsRecord.produced(ClientPartitioner.partition("any", 1), header, value),
        (metadata, failed) -> {
          if (failed != null) {
            failure.compareAndSet(null, failed);
          }
        });
  }
}
