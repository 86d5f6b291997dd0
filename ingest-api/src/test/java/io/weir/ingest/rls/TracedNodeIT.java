// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import static io.weir.ingest.rls.Requests.descriptor;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.Code;
import io.grpc.Metadata;
import io.grpc.stub.MetadataUtils;
import io.opentelemetry.proto.trace.v1.Span;
import io.opentelemetry.proto.trace.v1.Status.StatusCode;
import io.weir.ingest.trace.SpanCollector;
import io.weir.testing.Await;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** Traces of a node over a real broker, a real Redis and a collector that reads the protocol. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class TracedNodeIT {
  private static final String PARENT = "b7ad6b7169203331";

  private static final String POLICIES =
      """
      policies:
        - name: once
          match: {endpoint: ["GET /once"]}
          limit: {algorithm: token-bucket, capacity: 1, refill_tokens: 1, refill_period: PT1H}
        - name: closes
          match: {endpoint: ["GET /closes"]}
          limit: {algorithm: token-bucket, capacity: 100, refill_tokens: 1, refill_period: PT1H}
          on_cache_failure: closed
        - name: shop
          match: {attributes: {envoy.domain: [shop]}}
          limit: {algorithm: token-bucket, capacity: 1000, refill_tokens: 1, refill_period: PT1H}
      """;

  private static final String CALL = "{\"client\":\"alice\",\"endpoint\":\"GET /any\"}";

  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final AtomicInteger traces = new AtomicInteger();
  private SpanCollector collector;
  private RateLimitNode node;

  @BeforeAll
  void start(@TempDir Path folder) throws Exception {
    collector = SpanCollector.start();
    Path headers =
        Files.writeString(folder.resolve("headers"), "Authorization: Bearer of-the-collector\n");
    node =
        RateLimitNode.start(
            folder,
            POLICIES,
            Map.of(
                "WEIR_TRACES_ENDPOINT",
                collector.endpoint(),
                "WEIR_TRACES_SAMPLING",
                "0",
                "WEIR_TRACES_HEADERS_FILE",
                headers.toString(),
                "WEIR_AUTHZ_CLIENT_HEADER",
                "X-Client",
                "WEIR_DECISION_DEADLINE",
                "PT1S"));
  }

  @AfterAll
  void stop() {
    if (node != null) {
      node.redis.resume();
      node.close();
    }
    collector.close();
  }

  private String newTrace() {
    return String.format("%032x", 0xabc000 + traces.incrementAndGet());
  }

  private static String sampled(String trace) {
    return "00-" + trace + "-" + PARENT + "-01";
  }

  private HttpResponse<String> post(String path, String body, String... traceparents)
      throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + node.ingest.httpPort() + path))
            .POST(HttpRequest.BodyPublishers.ofString(body));
    for (String traceparent : traceparents) {
      request.header("traceparent", traceparent);
    }
    return http.send(request.build(), HttpResponse.BodyHandlers.ofString());
  }

  private List<Span> spans(String trace, int count) throws Exception {
    Await.until(
        () -> count + " spans of " + trace + ", there are " + collector.ofTrace(trace),
        () -> collector.ofTrace(trace).size() >= count);
    assertEquals(count, collector.ofTrace(trace).size());
    return collector.ofTrace(trace);
  }

  private static Span named(List<Span> spans, String name) {
    List<Span> found = spans.stream().filter(span -> span.getName().equals(name)).toList();
    assertEquals(1, found.size(), () -> name + " in " + spans);
    return found.get(0);
  }

  private static String attribute(Span span, String name) {
    return SpanCollector.text(span.getAttributesList(), name);
  }

  private static String id(Span span) {
    return SpanCollector.hex(span.getSpanId().toByteArray());
  }

  private static String parent(Span span) {
    return SpanCollector.hex(span.getParentSpanId().toByteArray());
  }

  /** One tree: the request below the caller's span, all others below the request. */
  private static Span tree(List<Span> spans) {
    Span check = named(spans, "check");
    assertEquals(PARENT, parent(check));
    assertEquals(Span.SpanKind.SPAN_KIND_SERVER, check.getKind());
    for (Span span : spans) {
      if (!span.getName().equals("check")) {
        assertEquals(id(check), parent(span), span::getName);
        assertTrue(span.getStartTimeUnixNano() >= check.getStartTimeUnixNano(), span::toString);
      }
      assertTrue(span.getEndTimeUnixNano() >= span.getStartTimeUnixNano(), span::toString);
      assertFalse(span.toString().contains("alice"), "the client is nobody's business");
    }
    return check;
  }

  private double metric(String name) throws Exception {
    return node.metrics()
        .lines()
        .filter(line -> line.startsWith(name + " "))
        .mapToDouble(line -> Double.parseDouble(line.substring(name.length() + 1)))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void check_ofASampledCaller_isOneTreeBelowItsSpan() throws Exception {
    String trace = newTrace();

    assertEquals(200, post("/v1/check", CALL, sampled(trace)).statusCode());

    List<Span> spans = spans(trace, 4);
    Span check = tree(spans);
    Span decide = named(spans, "decide");
    Span record = named(spans, "record");
    Span publish = named(spans, "publish");
    assertTrue(decide.getEndTimeUnixNano() <= record.getStartTimeUnixNano());
    assertTrue(record.getEndTimeUnixNano() <= check.getEndTimeUnixNano());
    assertEquals(record.getStartTimeUnixNano(), publish.getStartTimeUnixNano());
    assertEquals(Span.SpanKind.SPAN_KIND_PRODUCER, publish.getKind());
    assertEquals("kafka", attribute(publish, "messaging.system"));
    assertEquals("weir.calls.v1", attribute(publish, "messaging.destination.name"));
    assertEquals("POST", attribute(check, "http.request.method"));
    assertEquals("/v1/check", attribute(check, "http.route"));
    assertEquals("200", attribute(check, "http.response.status_code"));
    assertEquals("allowed", attribute(check, "weir.verdict"));
    assertEquals("none", attribute(decide, "weir.decided_by"));
    assertEquals("1", attribute(decide, "weir.cost"));
    assertEquals("", attribute(decide, "weir.policies"), "none matches");
    assertEquals("journaled", attribute(record, "weir.recorded"));
    assertEquals(StatusCode.STATUS_CODE_UNSET, check.getStatus().getCode());
    assertEquals("weir-ingest", collector.resource("service.name"));
    assertEquals("node-1", collector.resource("service.instance.id"));
    assertEquals(Set.of("Bearer of-the-collector"), Set.copyOf(collector.tokens()));
  }

  @Test
  void check_denied_isNoError() throws Exception {
    String call = "{\"client\":\"alice\",\"endpoint\":\"GET /once\"}";
    assertEquals(200, post("/v1/check", call).statusCode());
    String trace = newTrace();

    assertEquals(429, post("/v1/check", call, sampled(trace)).statusCode());

    List<Span> spans = spans(trace, 4);
    Span check = tree(spans);
    assertEquals("429", attribute(check, "http.response.status_code"));
    assertEquals("denied", attribute(check, "weir.verdict"));
    assertEquals("cache", attribute(check, "weir.decided_by"));
    assertEquals("once", attribute(check, "weir.policies"));
    assertEquals("once", attribute(named(spans, "decide"), "weir.policy"));
    assertEquals(StatusCode.STATUS_CODE_UNSET, check.getStatus().getCode());
  }

  @Test
  void check_whileRedisHangs_isAnError() throws Exception {
    String trace = newTrace();
    String call = "{\"client\":\"alice\",\"endpoint\":\"GET /closes\"}";
    node.redis.pause();
    try {
      assertEquals(503, post("/v1/check", call, sampled(trace)).statusCode());
    } finally {
      node.redis.resume();
      Await.until(
          "Redis decides again", () -> post("/v1/check?peek=true", call).statusCode() == 200);
    }

    List<Span> spans = spans(trace, 4);
    Span check = tree(spans);
    assertEquals("503", attribute(check, "http.response.status_code"));
    assertEquals("503", attribute(check, "error.type"));
    assertEquals("fail-closed", attribute(check, "weir.decided_by"));
    assertEquals(StatusCode.STATUS_CODE_ERROR, check.getStatus().getCode());
    assertEquals(StatusCode.STATUS_CODE_ERROR, named(spans, "decide").getStatus().getCode());
  }

  @Test
  void check_thatIsRefused_isOneSpan() throws Exception {
    String trace = newTrace();

    assertEquals(400, post("/v1/check", "{}", sampled(trace)).statusCode());

    Span check = tree(spans(trace, 1));
    assertEquals("400", attribute(check, "http.response.status_code"));
    assertEquals(StatusCode.STATUS_CODE_UNSET, check.getStatus().getCode());
  }

  @Test
  void peek_hasNoRecord() throws Exception {
    String trace = newTrace();

    assertEquals(200, post("/v1/check?peek=true", CALL, sampled(trace)).statusCode());

    List<Span> spans = spans(trace, 2);
    tree(spans);
    assertEquals("allowed", attribute(named(spans, "decide"), "weir.verdict"));
  }

  @Test
  void batch_isOneTreeHoweverManyChecks() throws Exception {
    String trace = newTrace();
    String body = "[" + String.join(",", Collections.nCopies(300, CALL)) + "]";

    assertEquals(200, post("/v1/check/batch", body, sampled(trace)).statusCode());

    List<Span> spans = spans(trace, 4);
    Span check = tree(spans);
    assertEquals("/v1/check/batch", attribute(check, "http.route"));
    assertEquals("300", attribute(check, "weir.calls"));
    assertEquals("300", attribute(named(spans, "decide"), "weir.calls.allowed"));
    assertEquals("journaled", attribute(named(spans, "record"), "weir.recorded"));
  }

  @Test
  void gRpc_ofASampledCaller_hasSpansOfItsDescriptors() throws Exception {
    String trace = newTrace();
    Metadata headers = new Metadata();
    headers.put(Metadata.Key.of("traceparent", Metadata.ASCII_STRING_MARSHALLER), sampled(trace));

    Code code =
        node.patient()
            .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers))
            .shouldRateLimit(Requests.of(descriptor("user", "alice"), descriptor("kind", "other")))
            .getOverallCode();

    assertEquals(Code.OK, code);
    List<Span> spans = spans(trace, 7);
    Span check = tree(spans);
    assertEquals("grpc", attribute(check, "rpc.system.name"));
    assertEquals(
        "envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
        attribute(check, "rpc.method"));
    assertEquals("OK", attribute(check, "rpc.response.status_code"));
    assertEquals("2", attribute(check, "weir.calls"));
    assertEquals(
        Set.of("0", "1"),
        spans.stream()
            .filter(span -> span.getName().equals("decide"))
            .map(span -> attribute(span, "weir.call.index"))
            .collect(Collectors.toSet()));
  }

  @Test
  void json_ofASampledCaller_isOneTree() throws Exception {
    String trace = newTrace();
    String body =
        "{\"domain\":\"shop\",\"descriptors\":[{\"entries\":[{\"key\":\"a\",\"value\":\"b\"}]}]}";

    assertEquals(200, post("/json", body, sampled(trace)).statusCode());

    Span check = tree(spans(trace, 4));
    assertEquals("/json", attribute(check, "http.route"));
    assertEquals("shop", attribute(check, "weir.policies"));
  }

  @Test
  void forwardAuth_ofASampledCaller_tellsNothingOfTheCallersPath() throws Exception {
    String trace = newTrace();
    HttpRequest request =
        HttpRequest.newBuilder(
                URI.create("http://127.0.0.1:" + node.ingest.httpPort() + "/v1/authz/plain"))
            .header("traceparent", sampled(trace))
            .header("X-Client", "alice")
            .header("X-Weir-Method", "GET")
            .header("X-Weir-Path", "/secret")
            .build();

    assertEquals(200, http.send(request, HttpResponse.BodyHandlers.ofString()).statusCode());

    List<Span> spans = spans(trace, 4);
    Span check = tree(spans);
    assertEquals("/v1/authz/plain", attribute(check, "http.route"));
    assertEquals("GET", attribute(check, "http.request.method"));
    assertFalse(spans.toString().contains("secret"), spans::toString);
  }

  @Test
  void check_ofOtherCallers_isNotTraced() throws Exception {
    String trace = newTrace();
    String unsampled = "00-" + trace + "-" + PARENT + "-00";
    for (String traceparent :
        List.of(unsampled, sampled(trace) + "-more", "00-" + trace + "-01", "x".repeat(4_000))) {
      assertEquals(200, post("/v1/check", CALL, traceparent).statusCode());
    }
    assertEquals(200, post("/v1/check", CALL, sampled(trace), sampled(trace)).statusCode());
    assertEquals(200, post("/v1/check", CALL).statusCode());

    String after = newTrace();
    assertEquals(200, post("/v1/check", CALL, sampled(after)).statusCode());
    List<Span> unused = spans(after, 4);
    assertTrue(collector.ofTrace(trace).isEmpty(), () -> collector.ofTrace(trace).toString());
    assertTrue(
        collector.spans().stream().noneMatch(span -> span.getParentSpanId().isEmpty()),
        "something was traced by chance");
  }

  @Test
  void check_collectorHangsOrIsDown_isAnswered() throws Exception {
    String failed = "weir_traces_spans_total{outcome=\"failed\"}";
    double before = metric(failed);
    collector.hang();
    assertEquals(200, post("/v1/check", CALL, sampled(newTrace())).statusCode());
    Await.until("spans fail while the collector hangs", () -> metric(failed) > before);

    int port = collector.port();
    collector.close();
    double whenAway = metric(failed);
    assertEquals(200, post("/v1/check", CALL, sampled(newTrace())).statusCode());
    Await.until("spans fail while the collector is away", () -> metric(failed) > whenAway);

    collector = SpanCollector.start(port);
    String trace = newTrace();
    assertEquals(200, post("/v1/check", CALL, sampled(trace)).statusCode());
    Span check = tree(spans(trace, 4));
    assertEquals("200", attribute(check, "http.response.status_code"));
  }
}
