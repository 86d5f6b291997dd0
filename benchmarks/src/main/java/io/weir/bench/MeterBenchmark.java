// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import io.weir.aggregator.Aggregator;
import io.weir.aggregator.AggregatorConfig;
import io.weir.aggregator.AggregatorStartException;
import io.weir.launcher.verify.LedgerListing;
import io.weir.servers.EmbeddedKafka;
import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.TopicAdmin.TopicAdminException;
import io.weir.topics.catalog.Topics;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.BucketKeys;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.Stamp;
import io.weir.topics.model.TokenBucketLimit;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.CallLineCodec;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.jspecify.annotations.Nullable;

/**
 * Calls a second through meter-core on one thread, under exactly-once, over a backlog in a real
 * broker: from the start of the aggregator's work on it until the ledger holds every call.
 */
final class MeterBenchmark {
  private static final int LINES_A_BATCH = 500;
  private static final TokenBucketLimit LIMIT = new TokenBucketLimit(100, 100, 60_000_000);

  private static final int CLIENTS = 1_000;
  private static final int ENDPOINTS = 5;
  private static final long WINDOW_MILLIS = 60_000;
  private static final int WINDOWS = 5;

  private final int calls;
  private final PrintStream out;

  MeterBenchmark(int calls, PrintStream out) {
    this.calls = calls;
    this.out = out;
  }

  void run(Path folder)
      throws IOException, InterruptedException, TopicAdminException, AggregatorStartException {
    try (EmbeddedKafka kafka = EmbeddedKafka.start(folder.resolve("kafka"), 0)) {
      try (TopicAdmin topics = TopicAdmin.connect(kafka.bootstrapServers())) {
        topics.createMissing(1, Optional.empty());
      }
      // a small backlog first, so that what is measured runs on warm code
      int warm = calls / 4;
      Backlog backlog = new Backlog(kafka.bootstrapServers());
      backlog.write(warm);
      try (Aggregator aggregator = Aggregator.start(config(kafka, folder))) {
        awaitLedger(kafka, warm);
        long begun = System.nanoTime();
        backlog.write(calls);
        long written = System.nanoTime();
        awaitLedger(kafka, warm + calls);
        long done = System.nanoTime();
        out.printf(
            "meter-core, one thread, exactly once, ledger written, %,d calls, batches of %d%n",
            calls, LINES_A_BATCH);
        out.printf(
            "%,.0f calls/s while the backlog was being written and counted (%.1f s; writing"
                + " alone took %.1f s)%n",
            calls * 1e9 / (done - begun), (done - begun) / 1e9, (written - begun) / 1e9);
        out.println("reports are served on " + aggregator.reportsPort() + " meanwhile");
      }
    }
    restart(folder);
  }

  /** The same backlog again from the start, by a new application: nothing writes meanwhile. */
  private void restart(Path folder)
      throws IOException, InterruptedException, AggregatorStartException, TopicAdminException {
    Path second = folder.resolve("second");
    try (EmbeddedKafka kafka = EmbeddedKafka.start(second.resolve("kafka"), 0)) {
      try (TopicAdmin topics = TopicAdmin.connect(kafka.bootstrapServers())) {
        topics.createMissing(1, Optional.empty());
      }
      new Backlog(kafka.bootstrapServers()).write(calls);
      long begun = System.nanoTime();
      try (Aggregator aggregator = Aggregator.start(config(kafka, second))) {
        awaitLedger(kafka, calls);
        long done = System.nanoTime();
        out.printf(
            "%,.0f calls/s from a cold start of the aggregator on port %d to the last row"
                + " (%.1f s, start and rebalance included)%n",
            calls * 1e9 / (done - begun), aggregator.reportsPort(), (done - begun) / 1e9);
      }
    }
  }

  private static AggregatorConfig config(EmbeddedKafka kafka, Path folder) {
    return AggregatorConfig.of(
        Map.of(
            "WEIR_SINGLE_COPY",
            "allow",
            "WEIR_KAFKA",
            kafka.bootstrapServers(),
            "WEIR_DATA",
            folder.resolve("data").toString(),
            "WEIR_REPORTS_PORT",
            "0",
            "WEIR_WINDOW",
            "PT1M",
            "WEIR_GRACE",
            "PT0S"));
  }

  private static void awaitLedger(EmbeddedKafka kafka, long calls) throws InterruptedException {
    while (LedgerListing.read(kafka.bootstrapServers(), 0).allowed() < calls) {
      TimeUnit.MILLISECONDS.sleep(20);
    }
  }

  /** One node's batches, in windows that end in the past so that the last heartbeat closes all. */
  private static final class Backlog {
    private final String bootstrapServers;
    private final AtomicReference<@Nullable Exception> failure = new AtomicReference<>();
    private long sequence;
    private long lines;
    private long windowStart =
        System.currentTimeMillis() / WINDOW_MILLIS * WINDOW_MILLIS - 3_600_000;

    Backlog(String bootstrapServers) {
      this.bootstrapServers = bootstrapServers;
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
        int inWindow = calls / WINDOWS;
        for (int window = 0; window < WINDOWS; window++) {
          for (int n = 0; n < inWindow; n += LINES_A_BATCH) {
            send(producer, batch(Math.min(LINES_A_BATCH, inWindow - n)));
          }
          windowStart += WINDOW_MILLIS;
        }
        send(producer, new byte[0]);
        producer.flush();
      }
      Exception failed = failure.get();
      if (failed != null) {
        throw new IllegalStateException("the backlog could not be written", failed);
      }
    }

    private byte[] batch(int count) {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream(count * 280);
      for (int i = 0; i < count; i++) {
        long n = lines + i;
        String client = "client-" + n % CLIENTS;
        CallEvent call =
            new CallEvent(
                String.format("01a1fc38-8725-78d4-a9f7-%012d", n),
                false,
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
                        BucketKeys.ofClient("burst", client),
                        1,
                        LIMIT,
                        new Stamp(
                            1_763_690_000_000_000L,
                            0,
                            n / CLIENTS + 1,
                            (windowStart + WINDOW_MILLIS) * 1_000))));
        bytes.writeBytes(CallLineCodec.encode(call));
        bytes.write('\n');
      }
      lines += count;
      return bytes.toByteArray();
    }

    @SuppressWarnings("FutureReturnValueIgnored") // the callback is told of every failure
    private void send(KafkaProducer<byte[], byte[]> producer, byte[] value) {
      int count = 0;
      for (byte b : value) {
        count += b == '\n' ? 1 : 0;
      }
      if (count > 0) {
        sequence++;
      }
      BatchHeader header =
          new BatchHeader("bench", 1, sequence, count, windowStart, lines - count, false);
      ProducerRecord<byte[], byte[]> record =
          new ProducerRecord<>(
              Topics.CALLS.name(), ClientPartitioner.partition("any", 1), null, value);
      BatchHeaderCodec.encode(header).forEach((name, bytes) -> record.headers().add(name, bytes));
      producer.send(
          record,
          (metadata, failed) -> {
            if (failed != null) {
              failure.compareAndSet(null, failed);
            }
          });
    }
  }
}
