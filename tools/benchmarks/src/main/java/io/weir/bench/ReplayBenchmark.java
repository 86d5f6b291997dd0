// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import io.weir.cli.WeirCommand;
import io.weir.limits.BucketKey;
import io.weir.limits.TokenBucketLimit;
import io.weir.topics.calls.CallBatchWriter;
import io.weir.topics.catalog.Topics;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.Stamp;
import io.weir.topics.wire.BatchHeaderCodec;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Measures calls per second and processor time per call of {@code weir replay --check} in a
 * separate process, with consistent calls from a local broker.
 */
final class ReplayBenchmark {
  private static final String HEAP = "512m";
  private static final int CLIENTS = 1_000;
  private static final int LINES_A_BATCH = 500;
  private static final long MICROS_PER_MILLI = 1_000;
  private static final long TOKEN_MICROS = 600_000;
  private static final TokenBucketLimit LIMIT = new TokenBucketLimit(100, 100, 60_000_000);

  private final int calls;
  private final PrintStream out;

  ReplayBenchmark(int calls, PrintStream out) {
    this.calls = calls;
    this.out = out;
  }

  void run(Path folder) throws Exception {
    try (Ground ground = Ground.start(folder, 1)) {
      long from = System.currentTimeMillis() - calls;
      write(ground.kafka(), from);
      replay(ground, folder, from);
    }
  }

  @SuppressWarnings("FutureReturnValueIgnored") // the replay reports missing calls
  private void write(String kafka, long from) {
    try (KafkaProducer<byte[], byte[]> producer =
        new KafkaProducer<>(
            Map.of("bootstrap.servers", kafka, "compression.type", "lz4", "linger.ms", 5),
            new ByteArraySerializer(),
            new ByteArraySerializer())) {
      long sent = 0;
      for (long batch = 1; sent <= calls; batch++) {
        int count = (int) Math.min(LINES_A_BATCH, calls - sent);
        BatchHeader header =
            new BatchHeader(
                "bench",
                1,
                count == 0 ? batch - 1 : batch,
                count,
                count == 0 ? from + calls : from + sent,
                sent,
                count == 0);
        List<CallEvent> lines = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
          lines.add(call(from, sent + i));
        }
        ProducerRecord<byte[], byte[]> record =
            new ProducerRecord<>(Topics.CALLS.name(), 0, null, CallBatchWriter.encode(lines));
        BatchHeaderCodec.encode(header).forEach((name, value) -> record.headers().add(name, value));
        producer.send(record);
        if (count == 0) {
          break;
        }
        sent += count;
      }
      producer.flush();
    }
  }

  /**
   * Returns a call. All clients together make one call per millisecond. Each client makes one call
   * per second, so its bucket is always full.
   */
  private static CallEvent call(long from, long number) {
    String client = "client-" + number % CLIENTS;
    long round = number / CLIENTS;
    long epoch = (from + number % CLIENTS) * MICROS_PER_MILLI;
    long at = from + number;
    return new CallEvent(
        String.format("01a1fc38-8725-78d4-a9f7-%012d", number),
        false,
        client,
        "GET /v1/items/" + number % 5,
        "calls",
        1,
        true,
        DecidedBy.CACHE,
        "burst",
        0,
        at,
        null,
        List.of(
            new Charge(
                BucketKey.of("burst", client).text(),
                1,
                LIMIT,
                new Stamp(epoch, 0, round + 1, at * MICROS_PER_MILLI + TOKEN_MICROS))));
  }

  private void replay(Ground ground, Path folder, long from) throws Exception {
    Path policies = folder.resolve("policies.yml");
    Files.writeString(
        policies,
        """
        policies:
          - name: burst
            limit: {capacity: 100, refill_tokens: 100, refill_period: PT1M}
        """);
    Path said = folder.resolve("said");
    ProcessBuilder command =
        new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Xmx" + HEAP,
            "-cp",
            System.getProperty("java.class.path"),
            WeirCommand.class.getName(),
            "replay",
            "--check",
            "--policies",
            policies.toString(),
            "--from",
            Instant.ofEpochMilli(from).toString(),
            "--to",
            Instant.ofEpochMilli(from + calls).toString(),
            "--scratch",
            folder.toString());
    command.environment().put("WEIR_KAFKA", ground.kafka());
    long begun = System.nanoTime();
    Process process = command.redirectOutput(said.toFile()).redirectErrorStream(true).start();
    double cpuSeconds = 0;
    while (process.isAlive()) {
      cpuSeconds =
          Math.max(
              cpuSeconds,
              process.info().totalCpuDuration().map(spent -> spent.toMillis() / 1e3).orElse(0.0));
      process.waitFor(100, TimeUnit.MILLISECONDS);
    }
    double seconds = (System.nanoTime() - begun) / 1e9;
    out.printf(
        "weir replay, -Xmx%s, %,d calls of %,d clients: exit %d, %.1f s, %,.0f calls/s,"
            + " %.2f us of processor time a call%n",
        HEAP,
        calls,
        CLIENTS,
        process.exitValue(),
        seconds,
        calls / seconds,
        cpuSeconds * 1e6 / calls);
    try (Stream<String> lines = Files.lines(said)) {
      lines.filter(line -> !line.contains("replay ")).forEach(out::println);
    }
  }
}
