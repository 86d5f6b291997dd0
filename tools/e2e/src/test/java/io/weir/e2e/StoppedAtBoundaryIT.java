// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.servers.testing.TestKafka;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.Await;
import io.weir.testing.FullSuite;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.kafka.KafkaConnection;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Billing periods begin while the aggregator is stopped, and while a killed ingest node has calls
 * that Kafka does not have. Every client has a time zone of its own, in which the first day of its
 * next period begins at another moment of the test, so no clock has to be set.
 */
final class StoppedAtBoundaryIT {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String WINDOW = "PT5S";
  private static final int WINDOW_SECONDS = 5;
  private static final int SECONDS_BETWEEN_BOUNDARIES = 10;

  /** Enough for boundaries until every process of a slow machine has started three times. */
  private static final int CLIENTS = 36;

  private static final int LIMIT = 8;
  private static final int SECONDS_A_DAY = 86_400;

  @TempDir private Path folder;

  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final List<Period> periods = new ArrayList<>();
  private final Map<String, Boolean> answered = new HashMap<>();

  /** A client, and when a billing period of it begins during the test. */
  private record Period(String client, ZoneOffset zone, LocalDate anchor, long beginMillis) {
    static Period beginningAt(String client, long epochSecond) {
      int offset = Math.floorMod(-epochSecond, SECONDS_A_DAY);
      ZoneOffset zone =
          ZoneOffset.ofTotalSeconds(offset > SECONDS_A_DAY / 2 ? offset - SECONDS_A_DAY : offset);
      LocalDate day = LocalDate.ofInstant(Instant.ofEpochSecond(epochSecond), zone);
      return new Period(client, zone, day, epochSecond * 1_000);
    }

    String yaml() {
      return "  %s: {time_zone: \"%s\", billing_anchor: %s}%n".formatted(client, zone, anchor);
    }

    /** Names the period of a moment of the test. */
    String at(long epochMillis) {
      return client + (epochMillis < beginMillis ? " before" : " from ") + beginMillis;
    }
  }

  @Test
  @FullSuite(
      reason = "waits for two boundaries; StoppedAtBoundaryTest counts the same, and always runs")
  void aggregatorAndNodeStoppedAtABoundary_quotasRowsReportsAndBills_areRight() throws Exception {
    Instant begun = Instant.now();
    try (TestKafka kafka = TestKafka.start();
        TestRedis redis = TestRedis.start()) {
      try (TopicAdmin topics = TopicAdmin.connect(KafkaConnection.to(kafka.bootstrapServers()))) {
        topics.createMissing(2, Optional.empty());
      }
      Map<String, String> environment = environment(kafka, redis);
      WeirProcess aggregator = WeirProcess.start(folder, environment, "aggregate");
      WeirProcess node = WeirProcess.start(folder, environment, "ingest");
      try {
        aggregator.awaitLine("aggregator is up, reports on port ");
        callRounds(node, LIMIT + 2);

        aggregator.kill();
        callUntil(node, nextBoundary());
        callRounds(node, LIMIT + 2);
        aggregator = WeirProcess.start(folder, environment, "aggregate");
        aggregator.awaitLine("aggregator is up, reports on port ");

        kafka.stop();
        long boundary = nextBoundary();
        callRounds(node, LIMIT + 2);
        node.kill();
        Await.until("the boundary has passed", () -> System.currentTimeMillis() > boundary);
        kafka.restart();
        node = WeirProcess.start(folder, environment, "ingest");
        callRounds(node, LIMIT + 2);

        String reports =
            "http://127.0.0.1:" + aggregator.awaitLine("aggregator is up, reports on port ");
        assertAllIsRight(kafka.bootstrapServers(), reports, begun);
      } finally {
        node.close();
        aggregator.close();
      }
    }
  }

  private Map<String, String> environment(TestKafka kafka, TestRedis redis) throws IOException {
    long first = Instant.now().getEpochSecond() / WINDOW_SECONDS * WINDOW_SECONDS + WINDOW_SECONDS;
    StringBuilder policies =
        new StringBuilder(
            """
            policies:
              - name: monthly
                match: {endpoint: ["*"]}
                limit: {algorithm: quota, limit: %d, period: billing}
                on_cache_failure: closed
            clients:
            """
                .formatted(LIMIT));
    for (int i = 0; i < CLIENTS; i++) {
      long at = first + (i + 1L) * SECONDS_BETWEEN_BOUNDARIES;
      Period period = Period.beginningAt("client" + i, at);
      periods.add(period);
      policies.append(period.yaml());
    }
    Path file = Files.writeString(folder.resolve("policies.yml"), policies);
    Map<String, String> environment = new HashMap<>();
    environment.put("WEIR_KAFKA", kafka.bootstrapServers());
    environment.put("WEIR_REDIS", redis.uri());
    environment.put("WEIR_SINGLE_COPY", "allow");
    environment.put("WEIR_NODE", "node");
    environment.put("WEIR_INSTANCE", "aggregator");
    environment.put("WEIR_DATA", folder.resolve("data").toString());
    environment.put("WEIR_POLICIES", file.toString());
    environment.put("WEIR_HTTP_PORT", "0");
    environment.put("WEIR_REPORTS_PORT", "0");
    environment.put("WEIR_WINDOW", WINDOW);
    environment.put("WEIR_GRACE", "PT2S");
    environment.put("WEIR_SESSION_TIMEOUT", "PT6S");
    environment.put("WEIR_DECISION_DEADLINE", "PT10S");
    return environment;
  }

  /** Returns the next boundary that is at least a window away. */
  private long nextBoundary() {
    long earliest = System.currentTimeMillis() + WINDOW_SECONDS * 1_000L;
    return periods.stream()
        .mapToLong(Period::beginMillis)
        .filter(begin -> begin > earliest)
        .min()
        .orElseThrow(
            () -> new AssertionError("all boundaries have passed: the machine is too slow"));
  }

  private void callUntil(WeirProcess node, long boundary) throws Exception {
    while (System.currentTimeMillis() <= boundary) {
      callRounds(node, 1);
    }
  }

  /** Makes a call of each client, several times. */
  private void callRounds(WeirProcess node, int rounds) throws Exception {
    String url = "http://127.0.0.1:" + node.awaitLine("ingest is ready on port");
    for (int round = 0; round < rounds; round++) {
      for (Period period : periods) {
        String id = "call" + answered.size();
        String body =
            "{\"client\":\"%s\",\"endpoint\":\"GET /\",\"id\":\"%s\"}".formatted(period.client, id);
        HttpRequest request =
            HttpRequest.newBuilder(URI.create(url + "/v1/check"))
                .POST(HttpRequest.BodyPublishers.ofString(body))
                .build();
        HttpResponse<String> answer = http.send(request, HttpResponse.BodyHandlers.ofString());
        assertTrue(
            answer.statusCode() == 200 || answer.statusCode() == 429,
            () -> answer.statusCode() + " " + answer.body());
        answered.put(id, answer.statusCode() == 200);
      }
    }
  }

  private void assertAllIsRight(String kafka, String reports, Instant begun) throws Exception {
    Instant ended = Instant.now();
    Reckoning reckoning = new Reckoning(folder, kafka, WINDOW);
    reckoning.awaitClosed(reports, ended);
    reckoning.assertNoRowIsWrittenAgain();
    Map<String, Long> allowed = assertQuotas(kafka);
    assertEquals(allowed, inLedger(kafka));
    assertEquals(allowed, inReports(reports, begun, ended));
    reckoning.assertVerified(begun, ended);
  }

  /**
   * Returns the allowed calls by client and period, and requires that each answer is recorded and
   * that no period admitted more or less than its quota.
   */
  private Map<String, Long> assertQuotas(String kafka) throws IOException {
    Map<String, Boolean> recorded = new HashMap<>();
    Map<String, Long> made = new TreeMap<>();
    Map<String, Long> allowed = new TreeMap<>();
    Set<String> lines = new HashSet<>();
    for (Recorded.Row row : Recorded.all(kafka, "weir.calls.v1")) {
      if (row.callBatch() == null) {
        continue;
      }
      for (int i = 0; i < row.lines().size(); i++) {
        JsonNode line = row.lines().get(i);
        if (lines.add(row.position(i))) {
          boolean isAllowed = line.path("allowed").asBoolean();
          recorded.put(line.path("id").asText(), isAllowed);
          String period = periodOf(line, "decided_at_ms");
          made.merge(period, 1L, Long::sum);
          allowed.merge(period, isAllowed ? 1L : 0L, Long::sum);
        }
      }
    }
    assertEquals(answered, recorded);
    made.replaceAll((period, calls) -> Math.min(calls, LIMIT));
    assertEquals(made, allowed);
    assertTrue(allowed.keySet().stream().anyMatch(period -> period.contains("from")));
    return allowed;
  }

  private Map<String, Long> inLedger(String kafka) throws IOException {
    Map<String, Long> quantities = new TreeMap<>();
    for (Recorded.Row row : Recorded.all(kafka, "weir.usage.ledger.v1")) {
      for (JsonNode line : row.lines()) {
        if (line.has("client")) {
          String period = periodOf(line, "billing_period_start_ms");
          quantities.merge(period, line.path("quantity").asLong(), Long::sum);
          assertTrue(line.path("complete").asBoolean(), line::toString);
          assertEquals("FINAL", line.path("record_type").asText(), line::toString);
        }
      }
    }
    return quantities;
  }

  private Map<String, Long> inReports(String reports, Instant begun, Instant ended)
      throws Exception {
    Map<String, Long> quantities = new TreeMap<>();
    for (Period period : periods) {
      String query =
          "/v1/usage?window=billing-period&client=%s&from=%s&to=%s"
              .formatted(period.client, begun, ended);
      HttpResponse<String> answer =
          http.send(
              HttpRequest.newBuilder(URI.create(reports + query)).build(),
              HttpResponse.BodyHandlers.ofString());
      assertEquals(200, answer.statusCode(), answer::body);
      for (JsonNode row : JSON.readTree(answer.body()).path("data")) {
        quantities.merge(
            period.at(row.path("billing_period_start_ms").asLong()),
            row.path("quantity").asLong(),
            Long::sum);
      }
    }
    return quantities;
  }

  private String periodOf(JsonNode line, String time) {
    int number = Integer.parseInt(line.path("client").asText().substring("client".length()));
    return periods.get(number).at(line.path(time).asLong());
  }
}
