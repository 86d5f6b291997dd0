// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.ingest.gate.Recorded;
import io.weir.ingest.gate.Ticket;
import io.weir.ingest.record.journal.Journal;
import io.weir.ingest.record.journal.JournalIdentity;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.Stamp;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadFactory;

/**
 * Measures the record path without HTTP and without a broker: callers record one call after the
 * other; the journal is real, Kafka confirms at once. Arguments: callers, seconds, {@code virtual}
 * or {@code platform}. Prints one line; quoted in docs/decisions/0003.
 */
final class CallLogLoad {
  private static final int MAX_SAMPLES = 2_000_000;

  private CallLogLoad() {}

  public static void main(String[] args) throws Exception {
    int callers = Integer.parseInt(args[0]);
    int seconds = Integer.parseInt(args[1]);
    ThreadFactory threads = threads(args[2]);
    Path folder = Files.createTempDirectory("weir-load");
    RecordConfig config =
        RecordConfig.builder("load", KafkaConnection.to("unused:9092"), folder).build();
    Journal journal =
        Journal.open(
            folder, false, () -> new JournalIdentity("load", System.currentTimeMillis(), 6));
    KafkaCallLog log =
        new KafkaCallLog(
            config,
            DecisionClock.ofSystem(),
            journal,
            DiscardingProducer::new,
            new SimpleMeterRegistry());
    run(log, callers, Math.max(1, seconds / 2), threads); // warms up
    System.out.println(args[2] + " " + run(log, callers, seconds, threads));
    log.close();
  }

  private static String run(KafkaCallLog log, int callers, int seconds, ThreadFactory threads)
      throws InterruptedException {
    long[][] latencyNanos = new long[callers][];
    CountDownLatch done = new CountDownLatch(callers);
    RecordStatistics statistics = log.statistics();
    double groups = statistics.groupCommits.count();
    long cpuNanos = cpuNanos();
    long start = System.nanoTime();
    long end = start + seconds * 1_000_000_000L;
    for (int c = 0; c < callers; c++) {
      int caller = c;
      threads
          .newThread(
              () -> {
                latencyNanos[caller] = call(log, caller, end, MAX_SAMPLES / callers);
                done.countDown();
              })
          .start();
    }
    done.await();
    double elapsedSeconds = (System.nanoTime() - start) / 1e9;
    double cpuMicros = (cpuNanos() - cpuNanos) / 1e3;
    long[] all = Arrays.stream(latencyNanos).flatMapToLong(Arrays::stream).sorted().toArray();
    return String.format(
        "callers=%d calls/s=%.0f p50_us=%.0f p99_us=%.0f p999_us=%.0f cpu_us_per_call=%.1f"
            + " lines_per_write=%.1f",
        callers,
        all.length / elapsedSeconds,
        all[all.length / 2] / 1e3,
        all[(int) (all.length * 0.99)] / 1e3,
        all[(int) (all.length * 0.999)] / 1e3,
        cpuMicros / all.length,
        (double) all.length / (statistics.groupCommits.count() - groups));
  }

  @SuppressWarnings("ThreadPriorityCheck") // the yield stands for the wait for the next request
  private static long[] call(KafkaCallLog log, int caller, long endNanos, int maxSamples) {
    long[] samples = new long[maxSamples];
    int i = 0;
    for (long now = System.nanoTime(); now < endNanos && i < maxSamples; i++) {
      Ticket ticket = log.begin();
      CallEvent call =
          new CallEvent(
              new UUID(caller, i).toString(),
              false,
              "client-" + (caller * 31 + i) % 10_000,
              "GET /v1/items",
              "calls",
              1,
              true,
              DecidedBy.CACHE,
              "burst",
              7,
              ticket.begunAtEpochMillis(),
              "203.0.113.0/24",
              List.of(
                  new Charge(
                      "w1:{8:client-7}:5:burst",
                      1,
                      null,
                      new Stamp(1_700_000_000_000_000L, 0, i + 1, 0))));
      if (!(log.record(ticket, call) instanceof Recorded.Durable)) {
        throw new IllegalStateException("not recorded");
      }
      long next = System.nanoTime();
      samples[i] = next - now;
      // a request ends here; a virtual thread that never waits would keep its carrier from others
      Thread.yield();
      now = System.nanoTime();
    }
    return Arrays.copyOf(samples, i);
  }

  private static long cpuNanos() {
    return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
        .getProcessCpuTime();
  }

  private static ThreadFactory threads(String kind) throws Exception {
    if (kind.equals("platform")) {
      return Thread::new;
    }
    // compiled for 17, where there are none
    Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
    return (ThreadFactory)
        Class.forName("java.lang.Thread$Builder").getMethod("factory").invoke(builder);
  }
}
