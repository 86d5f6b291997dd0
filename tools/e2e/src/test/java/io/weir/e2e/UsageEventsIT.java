// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.cloudevents.CloudEvent;
import io.cloudevents.core.builder.CloudEventBuilder;
import io.cloudevents.core.message.MessageWriter;
import io.cloudevents.http.HttpMessageFactory;
import io.cloudevents.jackson.JsonFormat;
import io.weir.aggregator.Aggregator;
import io.weir.aggregator.AggregatorConfig;
import io.weir.cli.verify.Verification;
import io.weir.cli.verify.Verifier;
import io.weir.ingest.Ingest;
import io.weir.ingest.IngestConfig;
import io.weir.servers.testing.TestKafka;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.Await;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Usage events, as foreign programs send them, from the request to the ledger. */
final class UsageEventsIT {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final JsonFormat FORMAT = new JsonFormat();
  private static final Duration WINDOW = Duration.ofSeconds(1);
  private static final String EVENTS = "/v1/usage-events";
  private static final String OPENMETER = "/api/v1/events";
  private static final String BATCH = "application/cloudevents-batch+json";
  private static final String STRUCTURED = "application/cloudevents+json";

  private static final HttpClient HTTP =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private static TestKafka kafka;
  private static TestRedis redis;
  private static Ingest node;
  private static Aggregator aggregator;

  @BeforeAll
  static void start(@TempDir Path folder) throws Exception {
    kafka = TestKafka.borrow();
    redis = TestRedis.borrow();
    try (TopicAdmin topics = TopicAdmin.connect(KafkaConnection.to(kafka.bootstrapServers()))) {
      topics.createMissing(1, Optional.empty());
    }
    Path policies = folder.resolve("policies.yml");
    Files.writeString(
        policies,
        "policies: [{name: nothing-passes, match: {meter: [tokens]}, limit: {algorithm: deny}}]");
    Path events = folder.resolve("events.yml");
    Files.writeString(
        events,
        """
        types:
          prompt: {meter: tokens, value: $.tokens}
          request: {meter: requests, endpoint: {property: $.route, values: [/hello], other: "-"}}
        """);
    Map<String, String> environment = new HashMap<>();
    environment.put("WEIR_KAFKA", kafka.bootstrapServers());
    environment.put("WEIR_REDIS", redis.uri());
    environment.put("WEIR_SINGLE_COPY", "allow");
    environment.put("WEIR_STOP_DELAY", "PT0S");
    environment.put("WEIR_READY_WAIT", "PT0S");
    environment.put("WEIR_HTTP_PORT", "0");
    environment.put("WEIR_REPORTS_PORT", "0");
    environment.put("WEIR_WINDOW", WINDOW.toString());
    environment.put("WEIR_GRACE", "PT0.1S");
    environment.put("WEIR_NODE", "n1");
    environment.put("WEIR_DATA", folder.resolve("data").toString());
    environment.put("WEIR_POLICIES", policies.toString());
    environment.put("WEIR_EVENTS_FILE", events.toString());
    aggregator = Aggregator.start(AggregatorConfig.of(environment));
    node = Ingest.start(IngestConfig.of(environment));
    Await.until("the aggregator", aggregator::ready);
  }

  @AfterAll
  static void stop() {
    if (node != null) {
      node.close();
    }
    if (aggregator != null) {
      aggregator.close();
    }
    redis.close();
    kafka.close();
  }

  /** The same events in each mode, and each of them twice: they are counted once. */
  @Test
  void eventsOfTheSdk_inThreeModes_areCountedOnce_atTheirTime() throws Exception {
    Instant now = Instant.now();
    CloudEvent recent = prompt("1", now, 5);
    CloudEvent old = prompt("2", now.minus(Duration.ofHours(2)), 7);

    String last = "";
    for (CloudEvent event : List.of(recent, old, recent)) {
      HttpResponse<String> binary = sendBySdk(event, false);
      assertEquals(200, binary.statusCode(), binary::body);
      assertEquals("ce:8:/service:" + event.getId(), body(binary).path("id").asText());
      HttpResponse<String> structured = sendBySdk(event, true);
      assertEquals(200, structured.statusCode(), structured::body);
      last = structured.headers().firstValue("Usage-Position").orElseThrow();
    }
    String wrong =
        new String(
            FORMAT.serialize(prompt("3", now.minus(Duration.ofDays(40)), 1)),
            StandardCharsets.UTF_8);
    String batch =
        "["
            + text(old)
            + ","
            + wrong
            + ","
            + text(prompt("4", now, 0))
            + ","
            + text(prompt("5", now, 30))
            + "]";
    HttpResponse<String> answer = post(EVENTS, BATCH, batch);
    assertEquals(200, answer.statusCode(), answer::body);
    JsonNode results = body(answer);
    assertEquals(List.of(200, 400, 200, 200), statuses(results));
    assertEquals("time", results.path(1).path("field").asText());
    assertTrue(results.path(2).path("usage_position").isMissingNode(), "nothing to count");
    last = results.path(3).path("usage_position").asText(last);

    JsonNode total = usage("customer-1", "tokens", "total", last);
    assertEquals(42, total.path(0).path("quantity").asLong(), total::toString);
    assertEquals(3, total.path(0).path("allowed").asLong(), total::toString);
    JsonNode windows = usage("customer-1", "tokens", "PT1H", last);
    assertEquals(7, windows.path(0).path("quantity").asLong(), windows::toString);
    assertVerified("customer-1");
  }

  @Test
  void producerForOpenMeter_worksUnchanged() throws Exception {
    String event =
        """
        {
          "specversion": "1.0",
          "type": "request",
          "id": "00001",
          "time": "%s",
          "source": "service-0",
          "subject": "customer-2",
          "data": {
            "method": "GET",
            "route": "/hello"
          }
        }
        """
            .formatted(Instant.now());
    HttpResponse<String> one = post(OPENMETER, STRUCTURED, event);
    assertEquals(204, one.statusCode(), one::body);
    assertEquals("", one.body());
    String second = event.replace("00001", "00002");
    HttpResponse<String> some = post(OPENMETER, BATCH, "[" + event + "," + second + "]");
    assertEquals(204, some.statusCode(), some::body);

    String third = event.replace("00001", "00003");
    String unknown = event.replace("request", "unknown-type");
    HttpResponse<String> refused = post(OPENMETER, BATCH, "[" + third + "," + unknown + "]");
    assertEquals(400, refused.statusCode(), refused::body);
    assertTrue(
        body(refused).path("errors").path(0).asText().startsWith("[1]: type"), refused::body);
    assertEquals(204, post(OPENMETER, BATCH, "[]").statusCode());
    assertEquals(415, post(OPENMETER, "application/json", event).statusCode());
    assertEquals(415, post(EVENTS, "application/json", event).statusCode());

    HttpResponse<String> position = post(EVENTS, STRUCTURED, event);
    JsonNode total =
        usage(
            "customer-2",
            "requests",
            "total",
            position.headers().firstValue("Usage-Position").orElseThrow());
    assertEquals(2, total.path(0).path("quantity").asLong(), total::toString);
  }

  private static CloudEvent prompt(String id, Instant time, long tokens) {
    return CloudEventBuilder.v1()
        .withId(id)
        .withSource(URI.create("/service"))
        .withType("prompt")
        .withSubject("customer-1")
        .withTime(time.atOffset(ZoneOffset.UTC))
        .withData(
            "application/json", ("{\"tokens\":" + tokens + "}").getBytes(StandardCharsets.UTF_8))
        .build();
  }

  private static String text(CloudEvent event) {
    return new String(FORMAT.serialize(event), StandardCharsets.UTF_8);
  }

  /** Sends an event as the writer of the CNCF's SDK says. */
  private static HttpResponse<String> sendBySdk(CloudEvent event, boolean structured)
      throws Exception {
    HttpRequest.Builder request = HttpRequest.newBuilder(nodeUri(EVENTS));
    MessageWriter<?, ?> writer =
        HttpMessageFactory.createWriter(
            request::header, body -> request.POST(BodyPublishers.ofByteArray(body)));
    if (structured) {
      writer.writeStructured(event, FORMAT);
    } else {
      writer.writeBinary(event);
    }
    return HTTP.send(request.build(), BodyHandlers.ofString());
  }

  private static HttpResponse<String> post(String path, String type, String body) throws Exception {
    return HTTP.send(
        HttpRequest.newBuilder(nodeUri(path))
            .header("Content-Type", type)
            .POST(BodyPublishers.ofString(body))
            .build(),
        BodyHandlers.ofString());
  }

  private static URI nodeUri(String path) {
    return URI.create("http://127.0.0.1:" + node.httpPort() + path);
  }

  private static JsonNode body(HttpResponse<String> answer) throws Exception {
    return JSON.readTree(answer.body());
  }

  private static List<Integer> statuses(JsonNode results) {
    return results.findValues("status").stream().map(JsonNode::asInt).toList();
  }

  /** Returns a report that includes a position. */
  private static JsonNode usage(String client, String meter, String window, String position)
      throws Exception {
    String from =
        URLEncoder.encode(
            Instant.now().minus(Duration.ofHours(3)).toString(), StandardCharsets.UTF_8);
    HttpRequest request =
        HttpRequest.newBuilder(
                URI.create(
                    "http://127.0.0.1:"
                        + aggregator.reportsPort()
                        + "/v1/usage?client="
                        + client
                        + "&meter="
                        + meter
                        + "&window="
                        + window
                        + "&from="
                        + from))
            .header("Usage-Position", position)
            .build();
    List<HttpResponse<String>> answers = new ArrayList<>();
    // the count may be further behind than a report waits
    Await.until(
        () -> "a report, not " + answers,
        () -> {
          answers.add(HTTP.send(request, BodyHandlers.ofString()));
          return answers.get(answers.size() - 1).statusCode() != 504;
        });
    HttpResponse<String> answer = answers.get(answers.size() - 1);
    assertEquals(200, answer.statusCode(), answer::body);
    return body(answer).path("data");
  }

  /** Waits until the windows of the events are closed, and recounts them. */
  private static void assertVerified(String client) throws Exception {
    Instant to = Instant.now();
    Verifier verifier =
        new Verifier(
            KafkaConnection.to(kafka.bootstrapServers()), WINDOW, Topics.LATENESS, Await.TIMEOUT);
    Verification[] last = new Verification[1];
    Await.until(
        () -> "3 events in closed windows, not " + last[0],
        () -> {
          last[0] =
              verifier.verify(to.minus(Duration.ofHours(3)), to, client, (what, done, total) -> {});
          return last[0].allowed() == 3 && last[0].differences().isEmpty();
        });
  }
}
