// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import io.weir.servers.Ports;
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
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * Measures each interface of Weir and three other limiters. nginx' {@code limit_req} and a stick
 * table of HAProxy count in the memory of one process. rate-limiter-flexible counts in a Redis with
 * the same settings. Rounds of different limiters alternate, and each server is a separate process.
 * For each rate, the benchmark also prints the CPU time that each process uses per call.
 */
final class InterfaceBenchmark {
  private static final Duration WARM_UP = Duration.ofSeconds(6);
  private static final Duration LENGTH = Duration.ofSeconds(6);
  private static final int ROUNDS = 3;
  private static final int CLIENTS = 10_000;
  private static final int BATCH = 100;
  private static final int IN_FLIGHT = 64;

  private static final String POLICIES =
      """
      policies:
        - name: wide
          limit: {algorithm: token-bucket, capacity: 1000000, refill_tokens: 1000000, refill_period: PT1S}
      """;

  private static final String LIMIT_REQ =
      """
        limit_req_zone $http_x_client zone=calls:10m rate=1000000r/s;
        server {
          listen 127.0.0.1:{port};
          location / { limit_req zone=calls burst=100000 nodelay; limit_req_status 429; empty_gif; }
        }
      """;

  private static final String UNLIMITED =
      """
        server { listen 127.0.0.1:{port}; location / { empty_gif; } }
      """;

  private static final String ASKING_WEIR =
      """
        upstream weir { server {weir}; keepalive 64; keepalive_requests 1000000; }
        server {
          listen 127.0.0.1:{port};
          location / { auth_request /weir; empty_gif; }
          location = /weir {
            internal;
            proxy_pass http://weir/v1/authz/nginx;
            proxy_http_version 1.1;
            proxy_pass_request_body off;
            proxy_pass_request_headers off;
            proxy_set_header Connection "";
            proxy_set_header Content-Length "";
            proxy_set_header Host localhost;
            proxy_set_header X-Original-Method $request_method;
            proxy_set_header X-Original-URI $request_uri;
            proxy_set_header X-Client $http_x_client;
          }
        }
      """;

  private final PrintStream out;
  private final Wrk wrk;

  InterfaceBenchmark(PrintStream out) {
    this.out = out;
    this.wrk = new Wrk(out);
  }

  void run(Path folder) throws IOException, InterruptedException, TopicAdminException {
    Files.writeString(folder.resolve("policies.yml"), POLICIES);
    int grpcPort = Ports.free();
    try (MeasuredServer broker = MeasuredServer.broker(folder.resolve("kafka"));
        RedisServer redis = RedisServer.start(folder.resolve("redis"), 0, "--appendonly", "no");
        RedisServer others = RedisServer.start(folder.resolve("others"), 0, "--appendonly", "no")) {
      try (TopicAdmin topics = TopicAdmin.connect(KafkaConnection.to(broker.address()))) {
        topics.createMissing(4, Optional.empty());
      }
      try (MeasuredServer node = MeasuredServer.node(variables(folder, broker, redis, grpcPort));
          ForeignServer unlimited = ForeignServer.nginx(folder.resolve("unlimited"), UNLIMITED);
          ForeignServer limited = ForeignServer.nginx(folder.resolve("limited"), LIMIT_REQ);
          ForeignServer asking =
              ForeignServer.nginx(
                  folder.resolve("asking"), ASKING_WEIR.replace("{weir}", node.address()));
          ForeignServer haproxy = ForeignServer.haproxy(folder.resolve("haproxy"));
          ForeignServer flexible = ForeignServer.flexible(folder.resolve("node"), others.port())) {
        Map<String, LongSupplier> ofWeir = new LinkedHashMap<>();
        ofWeir.put("node", node::cpuNanos);
        ofWeir.put("Redis", cpu(redis));
        ofWeir.put("broker", broker::cpuNanos);
        Map<String, LongSupplier> ofAsking = new LinkedHashMap<>();
        ofAsking.put("nginx", asking::cpuNanos);
        ofAsking.putAll(ofWeir);
        Path get = get(folder);
        List<Wrk.Subject> subjects = new ArrayList<>();
        subjects.add(subject("nginx, no limit", unlimited, get, "nginx"));
        subjects.add(subject("nginx, limit_req", limited, get, "nginx"));
        subjects.add(subject("HAProxy, stick table", haproxy, get, "HAProxy"));
        subjects.add(
            new Wrk.Subject(
                "rate-limiter-flexible, Redis",
                flexible.address(),
                get,
                1,
                Map.of("Node", flexible::cpuNanos, "Redis", cpu(others))));
        subjects.add(
            new Wrk.Subject("Weir, /v1/check", node.address(), post(folder, 1), 1, ofWeir));
        subjects.add(
            new Wrk.Subject(
                "Weir, batches of 100", node.address(), post(folder, BATCH), BATCH, ofWeir));
        subjects.add(new Wrk.Subject("Weir behind nginx", asking.address(), get, 1, ofAsking));
        Wrk.Subject grpc =
            new Wrk.Subject("Weir, Envoy's RLS (gRPC)", "127.0.0.1:" + grpcPort, get, 1, ofWeir);
        measure(subjects, grpc, new GrpcLoad(grpcPort, IN_FLIGHT));
      }
    }
  }

  private void measure(List<Wrk.Subject> subjects, Wrk.Subject grpc, GrpcLoad load)
      throws IOException, InterruptedException {
    for (Wrk.Subject subject : subjects) {
      wrk.run(subject, WARM_UP, false);
    }
    load.run(WARM_UP);
    for (int round = 0; round < ROUNDS; round++) {
      for (Wrk.Subject subject : subjects) {
        wrk.run(subject, LENGTH, true);
      }
      Map<String, Long> before = grpc.cpuNow();
      GrpcLoad.Figures figures = load.run(LENGTH);
      out.printf(
          "%-32s %,10.0f calls/s   p50 %.2fms   p99 %.2fms   CPU a call:%s%s%n",
          grpc.name(),
          figures.calls() / figures.seconds(),
          figures.latencies().getValueAtPercentile(50) / 1e6,
          figures.latencies().getValueAtPercentile(99) / 1e6,
          grpc.cpuSince(before, (double) figures.calls()),
          figures.failed() == 0 ? "" : "   (not OK: " + figures.failed() + ")");
    }
  }

  private static Wrk.Subject subject(
      String name, ForeignServer server, Path script, String process) {
    return new Wrk.Subject(name, server.address(), script, 1, Map.of(process, server::cpuNanos));
  }

  private static LongSupplier cpu(RedisServer redis) {
    ProcessHandle process = ProcessHandle.of(redis.pid()).orElseThrow();
    return () -> MeasuredServer.cpuNanos(process);
  }

  private static Map<String, String> variables(
      Path folder, MeasuredServer broker, RedisServer redis, int grpcPort) {
    Map<String, String> variables = new HashMap<>();
    variables.put("WEIR_KAFKA", broker.address());
    variables.put("WEIR_SINGLE_COPY", "allow");
    variables.put("WEIR_DATA", folder.resolve("weir").toString());
    variables.put("WEIR_STOP_DELAY", "PT0S");
    variables.put("WEIR_REDIS", redis.uri());
    variables.put("WEIR_HTTP_HOST", "127.0.0.1");
    variables.put("WEIR_HTTP_PORT", "0");
    variables.put("WEIR_GRPC_PORT", Integer.toString(grpcPort));
    variables.put("WEIR_RLS_CLIENT_KEYS", "user_id");
    variables.put("WEIR_AUTHZ_CLIENT_HEADER", "X-Client");
    variables.put("WEIR_POLICIES", folder.resolve("policies.yml").toString());
    variables.put("WEIR_NODE", "bench");
    return variables;
  }

  private static Path get(Path folder) throws IOException {
    return Files.writeString(
        folder.resolve("get.lua"),
        """
        local n = 0
        request = function()
          n = n + 1
          return wrk.format("GET", "/", {["X-Client"] = "c" .. (n * 7919 %% %d)})
        end
        """
            .formatted(CLIENTS));
  }

  private static Path post(Path folder, int calls) throws IOException {
    return CheckBenchmark.script(
        folder,
        "post-" + calls,
        calls == 1 ? "/v1/check" : "/v1/check/batch",
        "GET /v1/items",
        CLIENTS,
        calls);
  }
}
