// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import io.weir.servers.RedisServer;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.TopicAdmin.TopicAdminException;
import io.weir.topics.kafka.KafkaConnection;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * Measures {@code POST /v1/check} and an empty Javalin route with wrk on this machine. Redis
 * decides each check, and the node journals its record. Each server is a separate process. Rounds
 * of the two servers alternate. The benchmark also prints the processor time per call of each
 * process, because this time varies less than the rate on a busy machine.
 */
final class CheckBenchmark {
  private static final int CLIENTS = 10_000;
  private static final int BATCH = 100;

  /** Number of clients that have no tokens left. */
  private static final int SPENT_CLIENTS = 100;

  /** Number of clients with leases. */
  private static final int HOT_CLIENTS = 10;

  /** Calls per second in the open loop. */
  private static final int OPEN_RATE = 5_000;

  private static final int OPEN_CONNECTIONS = 64;

  private static final int ROUNDS = 3;

  private static final String POLICIES =
      """
      policies:
        - name: burst
          match: {endpoint: ["GET /v1/items"]}
          limit: {algorithm: token-bucket, capacity: 1000, refill_tokens: 1000, refill_period: PT1S}
        - name: leased
          match: {endpoint: ["GET /v1/leased"]}
          limit: {algorithm: token-bucket, capacity: 100000, refill_tokens: 100000, refill_period: PT1S}
          lease: {tokens: 5%, for: PT0.2S}
        - name: spent
          match: {endpoint: ["GET /v1/spent"]}
          limit: {algorithm: token-bucket, capacity: 1, refill_tokens: 1, refill_period: P1D}
      """;

  private final Duration warmUp;
  private final Duration length;
  private final PrintStream out;
  private final Wrk wrk;

  CheckBenchmark(Duration warmUp, Duration length, PrintStream out) {
    this.warmUp = warmUp;
    this.length = length;
    this.out = out;
    this.wrk = new Wrk(out);
  }

  void run(Path folder) throws IOException, InterruptedException, TopicAdminException {
    Files.writeString(folder.resolve("policies.yml"), POLICIES);
    try (MeasuredServer empty = MeasuredServer.emptyRoute();
        MeasuredServer broker = MeasuredServer.broker(folder.resolve("kafka"));
        RedisServer redis = RedisServer.start(folder.resolve("redis"), 0, "--appendonly", "no")) {
      try (TopicAdmin topics = TopicAdmin.connect(KafkaConnection.to(broker.address()))) {
        topics.createMissing(4, Optional.empty());
      }
      try (MeasuredServer node =
              MeasuredServer.node(variables("bench", "PT0S", folder, broker, redis));
          MeasuredServer denying =
              MeasuredServer.node(variables("denying", "PT1S", folder, broker, redis))) {
        ProcessHandle redisProcess = ProcessHandle.of(redis.pid()).orElseThrow();
        Map<String, LongSupplier> cpu = cpu(node, redisProcess, broker);
        Map<String, LongSupplier> cpuDenying = cpu(denying, redisProcess, broker);
        Path single = script(folder, "check", "/v1/check", "GET /v1/items", CLIENTS, 1);
        Path spent = script(folder, "spent", "/v1/check", "GET /v1/spent", SPENT_CLIENTS, 1);
        Path leased = script(folder, "leased", "/v1/check", "GET /v1/leased", HOT_CLIENTS, 1);
        Path batches = script(folder, "batch", "/v1/check/batch", "GET /v1/items", CLIENTS, BATCH);
        measure(
            List.of(
                new Wrk.Subject(
                    "empty Javalin route",
                    empty.address(),
                    single,
                    1,
                    Map.of("server", empty::cpuNanos)),
                new Wrk.Subject("/v1/check", node.address(), single, 1, cpu),
                new Wrk.Subject("/v1/check/batch of 100", node.address(), batches, BATCH, cpu),
                new Wrk.Subject("decided by leases", node.address(), leased, 1, cpu),
                new Wrk.Subject("denied by Redis", node.address(), spent, 1, cpu),
                new Wrk.Subject("denied by the node", denying.address(), spent, 1, cpuDenying)));
        DecidedByCache.require("http://" + node.address());
        open(empty, node);
      }
    }
  }

  /** Measures latencies at a fixed rate (open loop). */
  private void open(MeasuredServer empty, MeasuredServer node)
      throws IOException, InterruptedException {
    for (int round = 0; round < ROUNDS; round++) {
      for (MeasuredServer server : List.of(empty, node)) {
        String address = server.address();
        int port = Integer.parseInt(address.substring(address.indexOf(':') + 1));
        out.printf(
            "%-24s open loop, %,d/s: %s%n",
            server == empty ? "empty Javalin route" : "/v1/check",
            OPEN_RATE,
            OpenLoop.inAProcess(port, OPEN_RATE, length, OPEN_CONNECTIONS));
      }
    }
  }

  private static Map<String, LongSupplier> cpu(
      MeasuredServer node, ProcessHandle redis, MeasuredServer broker) {
    Map<String, LongSupplier> cpu = new LinkedHashMap<>();
    cpu.put("node", node::cpuNanos);
    cpu.put("Redis", () -> MeasuredServer.cpuNanos(redis));
    cpu.put("broker", broker::cpuNanos);
    return cpu;
  }

  private static Map<String, String> variables(
      String name, String denyCache, Path folder, MeasuredServer broker, RedisServer redis) {
    return Map.ofEntries(
        Map.entry("WEIR_KAFKA", broker.address()),
        Map.entry("WEIR_SINGLE_COPY", "allow"),
        Map.entry("WEIR_DATA", folder.resolve(name).toString()),
        Map.entry("WEIR_STOP_DELAY", "PT0S"),
        Map.entry("WEIR_REDIS", redis.uri()),
        Map.entry("WEIR_HTTP_HOST", "127.0.0.1"),
        Map.entry("WEIR_HTTP_PORT", "0"),
        Map.entry("WEIR_POLICIES", folder.resolve("policies.yml").toString()),
        Map.entry("WEIR_NODE", name),
        Map.entry("WEIR_DENY_CACHE", denyCache));
  }

  private void measure(List<Wrk.Subject> subjects) throws IOException, InterruptedException {
    for (Wrk.Subject subject : subjects) {
      wrk.run(subject, warmUp, false);
    }
    List<List<Double>> rates = new ArrayList<>();
    subjects.forEach(subject -> rates.add(new ArrayList<>()));
    for (int round = 0; round < ROUNDS; round++) {
      for (int i = 0; i < subjects.size(); i++) {
        rates.get(i).add(wrk.run(subjects.get(i), length, true));
      }
    }
    double floor = median(rates.get(0));
    if (floor > 0) {
      out.printf(
          "/v1/check: %.0f %% of the empty route; batches: %.1f times /v1/check"
              + " (medians of %d rounds)%n",
          100 * median(rates.get(1)) / floor, median(rates.get(2)) / median(rates.get(1)), ROUNDS);
    }
  }

  private static double median(List<Double> values) {
    return values.stream().sorted().toList().get(values.size() / 2);
  }

  /** Writes a wrk script. The script sends checks of many clients, or batches of checks. */
  static Path script(Path folder, String name, String path, String endpoint, int clients, int calls)
      throws IOException {
    Path script = folder.resolve(name + ".lua");
    Files.writeString(
        script,
        """
        local n = 0
        local headers = {["Content-Type"] = "application/json"}
        local function call()
          n = n + 1
          return '{"client":"c' .. (n * 7919 %% %d) .. '","endpoint":"%s"}'
        end
        request = function()
          local body = call()
          if %d > 1 then
            for i = 2, %d do body = body .. "," .. call() end
            body = "[" .. body .. "]"
          end
          return wrk.format("POST", "%s", headers, body)
        end
        """
            .formatted(clients, endpoint, calls, calls, path));
    return script;
  }
}
