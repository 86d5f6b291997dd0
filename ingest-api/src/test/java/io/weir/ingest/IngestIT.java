// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.servers.testing.TestKafka;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.Await;
import io.weir.testing.CoreSuite;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.model.UsagePosition;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** One node over a real broker and a real Redis, met as its callers meet it. */
@CoreSuite
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class IngestIT {
  private static final ObjectMapper JSON = new ObjectMapper();

  private Path folder;
  private final HttpClient http = HttpClient.newHttpClient();
  private TestKafka kafka;
  private TestRedis redis;
  private Map<String, String> environment;
  private Ingest ingest;

  @BeforeAll
  void start(@TempDir Path temporary) throws Exception {
    folder = temporary;
    kafka = TestKafka.borrow();
    redis = TestRedis.start();
    try (TopicAdmin topics = TopicAdmin.connect(KafkaConnection.to(kafka.bootstrapServers()))) {
      topics.createMissing(2, Optional.empty());
    }
    Path policies = folder.resolve("policies.yml");
    Files.writeString(
        policies,
        """
        policies:
          - name: hourly
            match: {endpoint: ["GET *"]}
            limit: {algorithm: token-bucket, capacity: 3, refill_tokens: 1, refill_period: PT1H}
            on_cache_failure: open
          - name: tried
            match: {endpoint: ["GET *"]}
            limit: {algorithm: token-bucket, capacity: 1, refill_tokens: 1, refill_period: PT1H}
            mode: shadow
          - name: nobody
            match: {endpoint: ["DELETE *"]}
            limit: {algorithm: deny}
          - name: writes
            match: {endpoint: ["POST *"]}
            limit: {algorithm: token-bucket, capacity: 3, refill_tokens: 1, refill_period: PT1H}
            on_cache_failure: closed
        """);
    environment = new HashMap<>();
    environment.put("WEIR_KAFKA", kafka.bootstrapServers());
    environment.put("WEIR_SINGLE_COPY", "allow");
    environment.put("WEIR_STOP_DELAY", "PT0S");
    // no aggregator need be there to restore the cache
    environment.put("WEIR_READY_WAIT", "PT0S");
    environment.put("WEIR_REDIS", redis.uri());
    environment.put("WEIR_NODE", "node-1");
    environment.put("WEIR_HTTP_HOST", "127.0.0.1");
    environment.put("WEIR_HTTP_PORT", "0");
    environment.put("WEIR_DATA", folder.resolve("data").toString());
    environment.put("WEIR_POLICIES", policies.toString());
    // a busy test machine is no reason to leave a call undecided
    environment.put("WEIR_DECISION_DEADLINE", "PT10S");
    ingest = Ingest.start(IngestConfig.of(environment));
  }

  @AfterAll
  void stop() {
    if (ingest != null) {
      ingest.close();
    }
    if (redis != null) {
      redis.close();
    }
    if (kafka != null) {
      kafka.close();
    }
  }

  @Test
  void check_withinTheLimit_isAllowed_withTheFieldsOfTheContract() throws Exception {
    HttpResponse<String> answer =
        check("{\"client\":\"a1\",\"endpoint\":\"GET /x\",\"id\":\"id-1\"}");

    assertEquals(200, answer.statusCode());
    assertEquals("application/json", header(answer, "Content-Type"));
    assertEquals("\"hourly\";q=3;w=10800", header(answer, "RateLimit-Policy"));
    assertTrue(header(answer, "RateLimit").startsWith("\"hourly\";r=2;t=3"));
    assertEquals(Optional.empty(), answer.headers().firstValue("Retry-After"));
    assertNotNull(UsagePosition.parse(header(answer, "Usage-Position")));
    JsonNode body = JSON.readTree(answer.body());
    assertEquals("id-1", body.path("id").asText());
    assertTrue(body.path("allowed").asBoolean());
    assertEquals("a1", body.path("client").asText());
    assertEquals("cache", body.path("decided_by").asText());
    assertEquals("journaled", body.path("durability").asText());
    assertEquals(1, body.path("policies_version").asLong());
    assertEquals(0, body.path("retry_after_ms").asLong(-1));
    JsonNode limit = body.path("limits").path(0);
    assertEquals("hourly", limit.path("policy").asText());
    assertEquals("enforce", limit.path("mode").asText());
    assertEquals(3, limit.path("limit").asLong());
    assertEquals(2, limit.path("remaining").asLong());
    assertTrue(limit.path("reset_ms").asLong() > 3_500_000);
    assertTrue(limit.path("allowed").asBoolean());
  }

  @Test
  void check_withoutAnId_getsATimeOrderedOne() throws Exception {
    String first = JSON.readTree(check("{\"client\":\"a2\"}").body()).path("id").asText();
    String second = JSON.readTree(check("{\"client\":\"a2\"}").body()).path("id").asText();

    assertNotEquals(first, second);
    assertEquals('7', first.charAt(14));
  }

  @Test
  void check_aboveTheLimit_isDenied_asAProblemWithRetryAfter() throws Exception {
    for (int i = 0; i < 3; i++) {
      assertEquals(200, check("{\"client\":\"a3\",\"endpoint\":\"GET /x\"}").statusCode());
    }

    HttpResponse<String> answer = check("{\"client\":\"a3\",\"endpoint\":\"GET /x\"}");

    assertEquals(429, answer.statusCode());
    assertEquals("application/problem+json", header(answer, "Content-Type"));
    long retryAfter = Long.parseLong(header(answer, "Retry-After"));
    assertTrue(retryAfter > 3_500 && retryAfter <= 3_600, () -> "Retry-After " + retryAfter);
    JsonNode body = JSON.readTree(answer.body());
    assertTrue(body.path("type").asText().endsWith("#quota-exceeded"));
    assertEquals("hourly", body.path("violated-policies").path(0).asText());
    assertEquals(1, body.path("violated-policies").size());
    assertFalse(body.path("allowed").asBoolean(true));
    assertTrue(body.path("retry_after_ms").asLong() > 3_500_000);
  }

  @Test
  void check_shadowPolicyExceeded_isReported_andNeverDenies() throws Exception {
    assertEquals(200, check("{\"client\":\"a4\",\"endpoint\":\"GET /x\"}").statusCode());

    HttpResponse<String> answer = check("{\"client\":\"a4\",\"endpoint\":\"GET /x\"}");

    assertEquals(200, answer.statusCode());
    JsonNode shadow = JSON.readTree(answer.body()).path("limits").path(1);
    assertEquals("tried", shadow.path("policy").asText());
    assertFalse(shadow.path("allowed").asBoolean(true));
    assertFalse(header(answer, "RateLimit").contains("tried"));
  }

  @Test
  void check_costAboveCapacity_isDeniedWithItsOwnReason_withoutRetryAfter() throws Exception {
    HttpResponse<String> answer =
        check("{\"client\":\"a5\",\"endpoint\":\"GET /x\",\"cost\":9007199254740991}");

    assertEquals(429, answer.statusCode());
    assertEquals(Optional.empty(), answer.headers().firstValue("Retry-After"));
    assertEquals("cost-exceeds-capacity", JSON.readTree(answer.body()).path("reason").asText());
  }

  @Test
  void check_policyThatDenies_isBlocked_withoutRetryAfter() throws Exception {
    HttpResponse<String> answer = check("{\"client\":\"a5\",\"endpoint\":\"DELETE /x\"}");

    assertEquals(429, answer.statusCode());
    assertEquals(Optional.empty(), answer.headers().firstValue("Retry-After"));
    assertEquals("\"nobody\";q=0;w=1", header(answer, "RateLimit-Policy"));
    assertEquals("\"nobody\";r=0", header(answer, "RateLimit"));
    JsonNode body = JSON.readTree(answer.body());
    assertEquals("blocked", body.path("reason").asText());
    assertEquals("nobody", body.path("violated-policies").path(0).asText());
    assertEquals(0, body.path("retry_after_ms").asLong(-1));
  }

  @Test
  void check_noPolicyMatches_isAllowedAndRecorded() throws Exception {
    HttpResponse<String> answer = check("{\"client\":\"a6\"}");

    assertEquals(200, answer.statusCode());
    assertEquals("none", JSON.readTree(answer.body()).path("decided_by").asText());
    assertNotNull(UsagePosition.parse(header(answer, "Usage-Position")));
  }

  @Test
  void peek_consumesNothing_andRecordsNothing() throws Exception {
    String body = "{\"client\":\"a7\",\"endpoint\":\"GET /x\"}";
    for (int i = 0; i < 10; i++) {
      HttpResponse<String> peek = post("/v1/check?peek=true", body);
      assertEquals(200, peek.statusCode());
      assertEquals(3, JSON.readTree(peek.body()).path("limits").path(0).path("remaining").asLong());
      assertEquals(Optional.empty(), peek.headers().firstValue("Usage-Position"));
    }

    assertEquals(
        2, JSON.readTree(check(body).body()).path("limits").path(0).path("remaining").asLong());
  }

  @Test
  void check_badInput_isAProblemThatNamesTheField() throws Exception {
    assertProblem(400, "client", check("{}"));
    assertProblem(400, "cost", check("{\"client\":\"a\",\"cost\":0}"));
    assertProblem(400, "client", check("{\"client\":\"a\\u0007b\"}"));
    assertProblem(400, "verbose", post("/v1/check?verbose=1", "{\"client\":\"a\"}"));
    assertProblem(400, "peek", post("/v1/check?peek=maybe", "{\"client\":\"a\"}"));
    assertProblem(400, null, check("client=a"));
    assertProblem(404, null, post("/v1/chek", "{}"));
  }

  @Test
  void check_bodyAbove64Kib_is413_alsoWithoutALength() throws Exception {
    byte[] body =
        ("{\"client\":\"a\",\"x\":\"" + "y".repeat(65_536) + "\"}")
            .getBytes(StandardCharsets.UTF_8);

    assertProblem(413, null, post("/v1/check", HttpRequest.BodyPublishers.ofByteArray(body)));
    assertProblem(
        413,
        null,
        post(
            "/v1/check",
            HttpRequest.BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(body))));
  }

  @Test
  void bodyTooLarge_answerReachesTheCaller_everyTime() throws Exception {
    byte[] body = new byte[512 * 1024];
    Arrays.fill(body, (byte) ' ');
    for (int i = 0; i < 200; i++) {
      assertProblem(413, null, post("/v1/check", HttpRequest.BodyPublishers.ofByteArray(body)));
    }
  }

  @Test
  void redisKilled_policyDecides_andTheNodeRecovers() throws Exception {
    redis.kill();
    try {
      HttpResponse<String> open = check("{\"client\":\"a8\",\"endpoint\":\"GET /x\"}");
      assertEquals(200, open.statusCode());
      assertEquals("fail-open", JSON.readTree(open.body()).path("decided_by").asText());
      assertNotNull(UsagePosition.parse(header(open, "Usage-Position")));

      HttpResponse<String> denied = check("{\"client\":\"a8\",\"endpoint\":\"DELETE /x\"}");
      assertEquals(429, denied.statusCode());
      assertEquals("blocked", JSON.readTree(denied.body()).path("reason").asText());

      HttpResponse<String> closed = check("{\"client\":\"a8\",\"endpoint\":\"POST /x\"}");
      assertEquals(503, closed.statusCode());
      assertEquals("1", header(closed, "Retry-After"));
      JsonNode body = JSON.readTree(closed.body());
      assertTrue(body.path("type").asText().endsWith("#temporary-reduced-capacity"));
      assertEquals("fail-closed", body.path("decided_by").asText());

      // calls are still answered and recorded, so the node stays in rotation and reports the
      // problem
      HttpResponse<String> ready = get("/health/ready");
      assertEquals(200, ready.statusCode());
      assertFalse(JSON.readTree(ready.body()).path("decision_cache").path("ok").asBoolean(true));
    } finally {
      redis.restart();
    }
    Await.until("decisions of the cache", () -> decidedBy().equals("cache"));
  }

  private String decidedBy() throws Exception {
    HttpResponse<String> peek =
        post("/v1/check?peek=true", "{\"client\":\"a8\",\"endpoint\":\"GET /x\"}");
    return JSON.readTree(peek.body()).path("decided_by").asText();
  }

  @Test
  void metrics_haveTheChecksByVerdict() throws Exception {
    check("{\"client\":\"a9\"}");

    String metrics = get("/metrics").body();

    assertTrue(metrics.contains("weir_checks_total{decided_by=\"none\",verdict=\"allowed\"}"));
    assertTrue(metrics.contains("weir_log_appended_calls_total"));
    assertTrue(metrics.contains("weir_clock_offset_ms "));
    assertTrue(metrics.contains("weir_cache_up 1.0") || metrics.contains("weir_cache_up 0.0"));
    assertEquals(200, get("/health/live").statusCode());
  }

  @Test
  void metrics_ofLibraries_areIncluded_exceptHighCardinalityOnes() throws Exception {
    Await.until(
        "the clients of Kafka and Redis",
        () -> {
          String metrics = get("/metrics").body();
          return Stream.of(
                  "kafka_producer_record_send_rate{client_id=\"weir-ingest-",
                  "kafka_consumer_fetch_manager_fetch_latency_avg{client_id=\"weir-corrections-",
                  "kafka_consumer_fetch_manager_fetch_latency_avg{client_id=\"weir-verdicts-",
                  "kafka_consumer_coordinator_commit_latency_avg{",
                  "lettuce_command_completion_seconds_count{command=\"EVALSHA\"")
              .allMatch(metrics::contains);
        });
    String metrics = get("/metrics").body();
    for (String family :
        List.of(
            "jetty_threads_current",
            "jetty_connections_current_connections",
            "jvm_memory_used_bytes",
            "jvm_gc_memory_allocated_bytes_total",
            "jvm_threads_live_threads",
            "jvm_classes_loaded_classes",
            "process_cpu_usage")) {
      assertTrue(metrics.contains("\n" + family), () -> family + " is not in " + metrics);
    }
    for (String leftOut :
        List.of("kafka_producer_node_", "topic=\"weir_", "jetty_connections_bytes_in")) {
      assertFalse(metrics.contains(leftOut), () -> leftOut + " is in " + metrics);
    }
  }

  @Test
  void start_unusableEnvironment_isRefusedAndNamesTheVariable() throws Exception {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      assertRefused("WEIR_HTTP_PORT", Integer.toString(taken.getLocalPort()), "WEIR_HTTP_PORT");
    }
    assertRefused("WEIR_POLICIES", folder.resolve("none.yml").toString(), "WEIR_POLICIES");
    // the running node holds this journal
    assertRefused("WEIR_DATA", folder.resolve("data").toString(), "journal");
  }

  /** A journal would belong to the name that was refused. */
  @Test
  void start_refusedForTooFewCopies_leavesNoJournal() {
    Map<String, String> strict = new HashMap<>(environment);
    strict.put("WEIR_DATA", folder.resolve("strict").toString());
    strict.put("WEIR_SINGLE_COPY", "refuse");
    for (String node : List.of("first", "second")) {
      strict.put("WEIR_NODE", node);
      RuntimeException refused =
          assertThrows(
              RuntimeException.class,
              () -> Ingest.start(IngestConfig.of(strict), Await.TIMEOUT).close());
      assertTrue(refused.toString().contains("WEIR_SINGLE_COPY=allow"), refused::toString);
    }
  }

  private void assertRefused(String variable, String value, String named) {
    Map<String, String> wrong = new HashMap<>(environment);
    wrong.put("WEIR_DATA", folder.resolve("other-" + variable).toString());
    wrong.put(variable, value);
    RuntimeException refused =
        assertThrows(RuntimeException.class, () -> Ingest.start(IngestConfig.of(wrong)).close());
    assertTrue(String.valueOf(refused.getMessage()).contains(named), refused.getMessage());
  }

  private HttpResponse<String> check(String body) throws IOException, InterruptedException {
    return post("/v1/check", body);
  }

  private HttpResponse<String> post(String path, String body)
      throws IOException, InterruptedException {
    return post(path, HttpRequest.BodyPublishers.ofString(body));
  }

  private HttpResponse<String> post(String path, HttpRequest.BodyPublisher body)
      throws IOException, InterruptedException {
    return http.send(
        HttpRequest.newBuilder(uri(path)).POST(body).build(), HttpResponse.BodyHandlers.ofString());
  }

  private HttpResponse<String> get(String path) throws IOException, InterruptedException {
    return http.send(
        HttpRequest.newBuilder(uri(path)).GET().build(), HttpResponse.BodyHandlers.ofString());
  }

  private URI uri(String path) {
    return URI.create("http://127.0.0.1:" + ingest.httpPort() + path);
  }

  private static String header(HttpResponse<String> answer, String name) {
    return answer.headers().firstValue(name).orElse("no " + name);
  }

  private static void assertProblem(int status, @Nullable String field, HttpResponse<String> answer)
      throws IOException {
    assertEquals(status, answer.statusCode(), answer.body());
    assertEquals("application/problem+json", header(answer, "Content-Type"));
    JsonNode problem = JSON.readTree(answer.body());
    assertEquals(status, problem.path("status").asInt());
    assertTrue(problem.path("detail").asText().length() > 5);
    assertEquals(field, problem.path("field").textValue());
  }
}
