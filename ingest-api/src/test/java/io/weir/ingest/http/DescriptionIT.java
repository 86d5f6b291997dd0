// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.weir.testing.Await;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** The description of the check API, compared to the answers of a node. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class DescriptionIT {
  private static final JsonMapper JSON = new JsonMapper();
  private static final String ONE_EVENT = "application/cloudevents+json";

  private TestNode node;

  @BeforeAll
  void start(@TempDir Path folder) throws Exception {
    Path events = folder.resolve("events.yml");
    Files.writeString(events, "other_types: {meter: events}\n");
    node =
        TestNode.start(
            folder,
            Map.of("WEIR_EVENTS_FILE", events.toString(), "WEIR_AUTHZ_CLIENT_HEADER", "X-Client"));
  }

  @AfterAll
  void stop() {
    if (node != null) {
      node.close();
    }
  }

  @Test
  void document_andPage_areServed() throws Exception {
    HttpResponse<String> document = node.get("/openapi.json");
    assertEquals(200, document.statusCode());
    assertEquals("3.1.0", JSON.readTree(document.body()).path("openapi").asText());

    HttpResponse<String> page = node.get("/docs");
    assertTrue(page.body().contains("<title>Weir check API</title>"), page.body());
    for (String part : List.of("swagger-ui-bundle.js", "swagger-ui.css", "start.js")) {
      assertTrue(page.body().contains("docs/" + part), page.body());
      HttpResponse<String> script =
          node.http()
              .send(
                  HttpRequest.newBuilder(uri("/docs/" + part)).build(),
                  HttpResponse.BodyHandlers.ofString());
      assertEquals(200, script.statusCode(), part);
      assertTrue(script.body().length() > 100, part);
    }
  }

  /**
   * Regression: each page had its own copy of the script, and together they exceeded the memory.
   */
  @Test
  void callersThatDoNotReadTheScript_shareOneCopyOfIt() throws Exception {
    long before = usedBytes();
    List<RawHttp> callers = new ArrayList<>();
    try {
      for (int i = 0; i < 200; i++) {
        RawHttp caller = node.connect();
        callers.add(caller);
        caller.send("GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(5));
      }
      for (RawHttp caller : callers) {
        assertTrue(caller.hasAnswer(), "the first bytes of the script");
      }

      assertTrue(usedBytes() < before + 100_000_000, () -> usedBytes() + " after " + before);
      assertEquals(200, send("POST", "/v1/check", "{\"client\":\"acme\"}").statusCode());
    } finally {
      for (RawHttp caller : callers) {
        caller.close();
      }
    }
  }

  private static long usedBytes() {
    System.gc();
    long direct =
        ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
            .mapToLong(BufferPoolMXBean::getMemoryUsed)
            .sum();
    return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed() + direct;
  }

  /** OPTIONS lists the methods of a path, so the description and the server must agree. */
  @Test
  void describedMethods_areThoseOfThePath() throws Exception {
    Map<String, Set<String>> described = new TreeMap<>();
    for (String operation : node.described().operations()) {
      String[] parts = operation.split(" ", 2);
      if (!parts[1].startsWith("/v1/authz/")) { // which take any method
        described.computeIfAbsent(parts[1], path -> new TreeSet<>()).add(parts[0]);
      }
    }
    for (Map.Entry<String, Set<String>> path : described.entrySet()) {
      Set<String> expected = new TreeSet<>(path.getValue());
      expected.add("OPTIONS");
      if (expected.contains("GET")) {
        expected.add("HEAD");
      }
      HttpResponse<String> answer = send("OPTIONS", path.getKey().replaceAll("\\{[^}]+}", "x"), "");

      assertEquals(204, answer.statusCode(), path.getKey());
      List<String> told =
          List.of(answer.headers().firstValue("Allow").orElseThrow().split(", ", -1));
      assertEquals(expected, new TreeSet<>(told), path.getKey());
      assertEquals(List.of(), answer.headers().allValues("Access-Control-Allow-Origin"));
    }
  }

  /** Each answer is held against the description by the node's own client. */
  @Test
  void everyOperation_answersAsDescribed() throws Exception {
    Set<String> asked = new TreeSet<>();
    for (Sample sample : samples()) {
      HttpResponse<String> answer =
          send(sample.method, sample.path, sample.body, sample.fields.toArray(String[]::new));

      assertEquals(sample.status, answer.statusCode(), sample + ": " + answer.body());
    }
    for (String seen : node.described().seen()) {
      asked.add(seen.substring(0, seen.lastIndexOf(' ')));
    }
    Set<String> never = new TreeSet<>(node.described().operations());
    never.removeAll(asked);
    assertEquals(Set.of(), never);
  }

  private record Sample(int status, String method, String path, String body, List<String> fields) {
    Sample(int status, String method, String path, String body, String... fields) {
      this(status, method, path, body, List.of(fields));
    }

    @Override
    public String toString() {
      return method + " " + path;
    }
  }

  private static List<Sample> samples() {
    String check = "{\"client\":\"acme\",\"endpoint\":\"GET /x\"}";
    String narrow =
        "{\"match\":{\"endpoint\":[\"NARROW\"]},\"limit\":{\"capacity\":1,\"refill_tokens\":1,"
            + "\"refill_period\":\"PT1H\"}}";
    String slots =
        "{\"match\":{\"endpoint\":[\"SLOT\"]},\"limit\":{\"algorithm\":\"concurrency\",\"limit\":1,"
            + "\"lease\":\"PT30S\"}}";
    String event =
        "{\"specversion\":\"1.0\",\"id\":\"1\",\"source\":\"/s\",\"type\":\"t\",\"subject\":\"acme\"}";
    List<Sample> samples = new ArrayList<>();
    samples.add(new Sample(200, "PUT", "/v1/policies/narrow", narrow));
    samples.add(new Sample(200, "PUT", "/v1/policies/slots", slots));
    samples.add(new Sample(400, "PUT", "/v1/policies/wrong", "{\"limit\":{\"capacity\":0}}"));
    samples.add(new Sample(200, "GET", "/v1/policies/narrow", ""));
    samples.add(new Sample(412, "DELETE", "/v1/policies/narrow", "", "If-Match", "\"999\""));
    samples.add(new Sample(200, "POST", "/v1/check", check));
    samples.add(new Sample(200, "POST", "/v1/check?peek=true", check));
    samples.add(new Sample(400, "POST", "/v1/check", "{\"client\":7}"));
    samples.add(new Sample(401, "POST", "/v1/check", "{\"api_key\":\"nobody's\"}"));
    samples.add(new Sample(200, "POST", "/v1/check", narrowCall(1)));
    samples.add(new Sample(429, "POST", "/v1/check", narrowCall(1)));
    samples.add(new Sample(429, "POST", "/v1/check", narrowCall(2)));
    samples.add(
        new Sample(
            200,
            "POST",
            "/v1/check/batch",
            "[" + check + "," + narrowCall(1) + ",{\"client\":7}]"));
    samples.add(new Sample(404, "POST", "/v1/calls/none/settle", settlement()));
    samples.add(new Sample(400, "POST", "/v1/slots/renew", "{\"slot\":\"x\"}"));
    samples.add(new Sample(400, "POST", "/v1/slots/release", "{\"slot\":\"x\"}"));
    samples.add(new Sample(200, "POST", "/v1/usage-events", event, "Content-Type", ONE_EVENT));
    samples.add(
        new Sample(
            200,
            "POST",
            "/v1/usage-events",
            "[" + event + ",{\"specversion\":\"1.0\"}]",
            "Content-Type",
            "application/cloudevents-batch+json"));
    samples.add(new Sample(415, "POST", "/v1/usage-events", event, "Content-Type", "text/plain"));
    String descriptors =
        "{\"domain\":\"shop\",\"descriptors\":[{\"entries\":[{\"key\":\"k\",\"value\":\"v\"}]}]}";
    samples.add(new Sample(200, "POST", "/json", descriptors));
    samples.add(new Sample(400, "POST", "/json", "{}"));
    samples.add(new Sample(204, "POST", "/api/v1/events", event, "Content-Type", ONE_EVENT));
    for (String dialect : List.of("plain", "nginx", "traefik")) {
      samples.add(new Sample(400, "GET", "/v1/authz/" + dialect, "")); // no method and path
    }
    samples.add(new Sample(401, "GET", "/v1/authz/envoy", ""));
    samples.add(
        new Sample(
            200,
            "GET",
            "/v1/authz/plain",
            "",
            "X-Client",
            "acme",
            "X-Weir-Method",
            "GET",
            "X-Weir-Path",
            "/x"));
    for (String path : List.of("/v1/policies", "/v1/switches/enforcement", "/metrics", "/docs")) {
      samples.add(new Sample(200, "GET", path, ""));
    }
    samples.add(new Sample(200, "PUT", "/v1/plans/gold", "{\"policies\":[\"narrow\"]}"));
    samples.add(new Sample(200, "GET", "/v1/plans/gold", ""));
    samples.add(new Sample(200, "PUT", "/v1/clients/acme", "{\"plan\":\"gold\"}"));
    samples.add(new Sample(200, "GET", "/v1/clients/acme", ""));
    samples.add(new Sample(201, "POST", "/v1/clients/acme/keys", "{\"id\":\"ci\"}"));
    samples.add(new Sample(200, "GET", "/v1/clients/acme/keys", ""));
    samples.add(new Sample(200, "GET", "/v1/clients/acme/keys/ci", ""));
    samples.add(new Sample(200, "DELETE", "/v1/clients/acme/keys/ci", ""));
    samples.add(new Sample(200, "DELETE", "/v1/clients/acme", ""));
    samples.add(new Sample(200, "PUT", "/v1/settings/default_plan", "{\"value\":\"gold\"}"));
    samples.add(new Sample(200, "GET", "/v1/settings/default_plan", ""));
    samples.add(new Sample(200, "DELETE", "/v1/settings/default_plan", ""));
    samples.add(new Sample(200, "DELETE", "/v1/plans/gold", ""));
    samples.add(new Sample(200, "PUT", "/v1/switches/enforcement", "{\"mode\":\"enforce\"}"));
    samples.add(new Sample(200, "DELETE", "/v1/policies/narrow", ""));
    samples.add(new Sample(200, "GET", "/problems/overloaded", ""));
    samples.add(new Sample(200, "GET", "/health/live", ""));
    samples.add(new Sample(200, "GET", "/health/ready", ""));
    samples.add(new Sample(200, "GET", "/openapi.json", ""));
    return samples;
  }

  private static String narrowCall(int cost) {
    return "{\"client\":\"acme\",\"endpoint\":\"NARROW\",\"cost\":" + cost + "}";
  }

  private static String settlement() {
    return "{\"client\":\"acme\",\"actual_cost\":1}";
  }

  @Test
  void slot_isTaken_renewed_andReleased_asDescribed() throws Exception {
    send(
        "PUT",
        "/v1/policies/one-at-a-time",
        "{\"match\":{\"endpoint\":[\"ONE\"]},\"limit\":{\"algorithm\":\"concurrency\",\"limit\":1,"
            + "\"lease\":\"PT30S\"}}");
    JsonNode taken = JSON.readTree(send("POST", "/v1/check", oneAtATime()).body());
    HttpResponse<String> refused = send("POST", "/v1/check", oneAtATime());
    assertEquals(429, refused.statusCode(), refused.body());

    String slot = JSON.createObjectNode().put("slot", taken.path("slot").asText()).toString();
    HttpResponse<String> renewed = send("POST", "/v1/slots/renew", slot);
    assertEquals(200, renewed.statusCode(), renewed.body());
    assertEquals(200, send("POST", "/v1/slots/release", slot).statusCode());
    send("DELETE", "/v1/policies/one-at-a-time", "");
  }

  private static String oneAtATime() {
    return "{\"client\":\"acme\",\"endpoint\":\"ONE\"}";
  }

  private URI uri(String path) {
    return URI.create("http://127.0.0.1:" + node.port() + path);
  }

  /**
   * Asks until the answer is no passing 503, as of a search for a call that takes long at first.
   */
  private HttpResponse<String> send(String method, String path, String body, String... fields)
      throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(uri(path))
            .method(
                method,
                body.isEmpty()
                    ? HttpRequest.BodyPublishers.noBody()
                    : HttpRequest.BodyPublishers.ofString(body));
    if (fields.length > 0) {
      request.headers(fields);
    } else if (!body.isEmpty()) {
      request.header("Content-Type", "application/json");
    }
    List<HttpResponse<String>> answers = new ArrayList<>();
    Await.until(
        () -> "another answer than " + answers,
        () -> {
          answers.add(node.send(request.build()));
          return answers.get(answers.size() - 1).statusCode() != 503;
        });
    return answers.get(answers.size() - 1);
  }
}
