// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import io.weir.testing.Await;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.Stamp;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Pattern;

/**
 * Measures how many calls a second one thread of meter-core counts under exactly-once, ledger and
 * state topic written, with the broker in the same process. Arguments: calls, lines a batch,
 * clients.
 */
final class MeterThroughput {
  private MeterThroughput() {}

  public static void main(String[] arguments) throws Exception {
    int calls = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 3_000_000;
    int batch = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 500;
    int clients = arguments.length > 2 ? Integer.parseInt(arguments[2]) : 10_000;
    try (Broker broker = Broker.ofItsOwn(1)) {
      long bytes = fill(broker, calls, batch, clients);
      System.out.printf("filled calls=%d bytes_per_call=%d%n", calls, bytes / calls);
      AggregatorConfig config =
          AggregatorConfig.of(
              Map.of(
                  "WEIR_SINGLE_COPY",
                  "allow",
                  "WEIR_KAFKA",
                  broker.bootstrapServers(),
                  "WEIR_DATA",
                  Files.createTempDirectory("throughput").toString(),
                  "WEIR_REPORTS_PORT",
                  "0"));
      try (Aggregator aggregator = Aggregator.start(config)) {
        Await.until("ready", aggregator::ready);
        long firstCounted = -1;
        long firstNanos = 0;
        long firstCpuNanos = 0;
        long counted = 0;
        while (counted < calls) {
          LockSupport.parkNanos(200_000_000L);
          counted = counted(aggregator);
          if (firstCounted < 0 && counted > 0) {
            firstCounted = counted;
            firstNanos = System.nanoTime();
            firstCpuNanos = cpuNanos();
          }
        }
        long cpuNanos = cpuNanos();
        double seconds = (System.nanoTime() - firstNanos) / 1e9;
        System.out.printf(
            "calls_per_second=%.0f calls_per_cpu_second_of_the_thread=%.0f over=%d batch=%d clients=%d jvm=%s%n",
            (counted - firstCounted) / seconds,
            (counted - firstCounted) * 1e9 / (cpuNanos - firstCpuNanos),
            counted - firstCounted,
            batch,
            clients,
            Runtime.version());
      }
    }
    System.exit(0);
  }

  private static long counted(Aggregator aggregator) throws Exception {
    String body =
        HttpClient.newHttpClient()
            .send(
                HttpRequest.newBuilder(
                        URI.create(
                            "http://127.0.0.1:" + aggregator.reportsPort() + "/v1/completeness"))
                    .build(),
                HttpResponse.BodyHandlers.ofString())
            .body();
    var matcher = Pattern.compile("\"counted\":(\\d+)").matcher(body);
    return matcher.find() ? Long.parseLong(matcher.group(1)) : 0;
  }

  private static long fill(Broker broker, int calls, int batch, int clients) {
    Random random = new Random(1);
    long now = System.currentTimeMillis();
    long bytes = 0;
    for (int sent = 0, sequence = 1; sent < calls; sequence++) {
      List<CallEvent> lines = new ArrayList<>();
      for (int i = 0; i < batch && sent < calls; i++, sent++) {
        lines.add(call(random, "client-" + random.nextInt(clients), now, sent));
      }
      byte[] value = Calls.value(lines);
      bytes += value.length;
      broker.send(
          0,
          new BatchHeader("bench", 1, sequence, lines.size(), now, sent - lines.size(), false),
          value);
    }
    broker.flush();
    return bytes;
  }

  private static CallEvent call(Random random, String client, long now, long number) {
    String endpoint = "GET /v1/items/" + random.nextInt(3);
    return new CallEvent(
        new UUID(now << 16 | 0x7000, number).toString(),
        false,
        client,
        endpoint,
        CallEvent.DEFAULT_METER,
        1,
        random.nextInt(20) > 0,
        DecidedBy.CACHE,
        "burst",
        7,
        now,
        null,
        List.of(
            new Charge(
                "w1:{6:" + client + "}:5:burst",
                1,
                null,
                new Stamp(now * 1000, 0, number + 1, 0))));
  }

  /** CPU time of the thread that counts: what the other processes of the machine do not change. */
  private static long cpuNanos() {
    ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    long nanos = 0;
    for (long id : threads.getAllThreadIds()) {
      ThreadInfo thread = threads.getThreadInfo(id);
      if (thread != null && thread.getThreadName().matches(".*meter-core-.*-StreamThread-[0-9]+")) {
        nanos += threads.getThreadCpuTime(id);
      }
    }
    return nanos;
  }
}
