// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import io.weir.ingest.gate.CallLog;
import io.weir.ingest.gate.Recorded;
import io.weir.ingest.gate.Ticket;
import io.weir.ingest.record.DecisionClock;
import io.weir.ingest.record.KafkaCallLog;
import io.weir.ingest.record.RecordConfig;
import io.weir.limits.TokenBucketLimit;
import io.weir.servers.EmbeddedKafka;
import io.weir.servers.KafkaNode;
import io.weir.servers.Ports;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.log.HeaderValues;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.Stamp;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.IntStream;
import org.HdrHistogram.Histogram;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Measures the lag of a node's low watermark while the node records calls of one partition at its
 * maximum rate. Callers write in a closed loop. Because the journal is small, few calls wait for
 * Kafka. The benchmark measures several round trip times to Kafka, with one and with twelve
 * policies per call.
 */
final class WatermarkBenchmark {
  private static final List<Integer> ROUND_TRIPS_MILLIS = List.of(0, 20, 100);
  private static final List<Integer> POLICIES = List.of(1, 12);
  private static final int CALLERS = 8;

  /** Number of calls that a caller writes together, like a batch of checks. */
  private static final int CALLS_AT_ONCE = 50;

  /** Maximum size of the journal: the lines that callers write in about 0.2 s. */
  private static final long JOURNAL_BYTES = 16L << 20;

  private static final Duration POLL = Duration.ofMillis(20);

  private final Duration warmUp;
  private final Duration length;
  private final PrintStream out;

  WatermarkBenchmark(Duration warmUp, Duration length, PrintStream out) {
    this.warmUp = warmUp;
    this.length = length;
    this.out = out;
  }

  void run(Path folder) throws Exception {
    out.println("lag of the low watermark behind the clock, one partition, closed loop");
    for (int policies : POLICIES) {
      for (int roundTripMillis : ROUND_TRIPS_MILLIS) {
        Path own = folder.resolve(policies + "-" + roundTripMillis);
        measure(own, Duration.ofMillis(roundTripMillis), policies);
      }
    }
  }

  private void measure(Path folder, Duration roundTrip, int policies) throws Exception {
    int near = Ports.free();
    int far = Ports.free();
    int route = Ports.free();
    KafkaNode node =
        new KafkaNode(
            1,
            Uuid.randomUuid().toString(),
            List.of(Ports.freeForController()),
            List.of(
                new KafkaNode.Listener("NEAR", near, near),
                new KafkaNode.Listener("FAR", far, route)));
    try (EmbeddedKafka kafka = EmbeddedKafka.start(folder.resolve("kafka"), node);
        DelayedRoute slow = DelayedRoute.open(route, far, roundTrip)) {
      try (TopicAdmin topics = TopicAdmin.connect(KafkaConnection.to(kafka.bootstrapServers()))) {
        topics.createMissing(1, Optional.empty());
      }
      RecordConfig config =
          RecordConfig.builder(
                  "bench",
                  KafkaConnection.to("127.0.0.1:" + slow.port()),
                  folder.resolve("journal"))
              .maxJournalBytes(JOURNAL_BYTES)
              .build();
      try (KafkaCallLog log = KafkaCallLog.open(config, DecisionClock.ofSystem())) {
        out.printf(
            "%3d ms round trip to Kafka, %2d policies a call: %s%n",
            roundTrip.toMillis(), policies, load(log, kafka.bootstrapServers(), policies));
      }
    }
  }

  private String load(CallLog log, String bootstrapServers, int policies) throws Exception {
    LongAdder kept = new LongAdder();
    AtomicBoolean over = new AtomicBoolean();
    List<Thread> callers =
        IntStream.range(0, CALLERS)
            .mapToObj(i -> new Thread(() -> call(log, policies, kept, over), "caller-" + i))
            .toList();
    callers.forEach(Thread::start);
    try (KafkaConsumer<byte[], byte[]> consumer =
        new KafkaConsumer<>(
            Map.of("bootstrap.servers", bootstrapServers),
            new ByteArrayDeserializer(),
            new ByteArrayDeserializer())) {
      consumer.assign(List.of(new TopicPartition(Topics.CALLS.name(), 0)));
      consumer.seekToBeginning(consumer.assignment());
      watch(consumer, warmUp, new Histogram(3));
      long keptBefore = kept.sum();
      Histogram lagMillis = new Histogram(3);
      watch(consumer, length, lagMillis);
      return String.format(
          "%,9.0f calls/s, lag p50 %4d ms, p99 %4d ms, max %4d ms",
          (kept.sum() - keptBefore) * 1e9 / length.toNanos(),
          lagMillis.getValueAtPercentile(50),
          lagMillis.getValueAtPercentile(99),
          lagMillis.getMaxValue());
    } finally {
      over.set(true);
      for (Thread caller : callers) {
        caller.join();
      }
    }
  }

  /**
   * Records, every few milliseconds, the age of the newest low watermark that a consumer can read.
   */
  private static void watch(
      KafkaConsumer<byte[], byte[]> consumer, Duration length, Histogram lagMillis)
      throws MalformedRecordException {
    long end = System.nanoTime() + length.toNanos();
    long promised = 0;
    while (System.nanoTime() < end) {
      for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL)) {
        promised =
            Math.max(
                promised,
                BatchHeaderCodec.decode(HeaderValues.of(record.headers()))
                    .lowWatermarkEpochMillis());
      }
      if (promised > 0) {
        lagMillis.recordValue(Math.max(0, System.currentTimeMillis() - promised));
      }
    }
  }

  private static void call(CallLog log, int policies, LongAdder kept, AtomicBoolean over) {
    while (!over.get()) {
      Ticket ticket = log.begin();
      CallEvent call = call(policies);
      List<Recorded> recorded = log.record(ticket, Collections.nCopies(CALLS_AT_ONCE, call));
      if (recorded.get(0) instanceof Recorded.Durable) {
        kept.add(CALLS_AT_ONCE);
      } else {
        pause();
      }
    }
  }

  private static void pause() {
    try {
      TimeUnit.MILLISECONDS.sleep(1);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private static CallEvent call(int policies) {
    long now = System.currentTimeMillis();
    TokenBucketLimit limit = new TokenBucketLimit(100, 10, 1_000_000);
    List<Charge> charges =
        IntStream.range(0, policies)
            .mapToObj(
                i ->
                    new Charge(
                        "w1:{4:acme}:8:policy" + i,
                        1,
                        limit,
                        new Stamp(now * 1_000, 0, 1, now * 1_000 + 100_000)))
            .toList();
    return new CallEvent(
        UUID.randomUUID().toString(),
        false,
        "acme",
        "GET /v1/items",
        "calls",
        1,
        true,
        DecidedBy.CACHE,
        null,
        1,
        now,
        null,
        charges);
  }
}
