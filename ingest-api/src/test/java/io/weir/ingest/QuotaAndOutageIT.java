// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.ingest.record.CallsTopicReader;
import io.weir.limits.CalendarPeriod;
import io.weir.limits.CalendarQuota;
import io.weir.limits.ClientCalendar;
import io.weir.limits.PeriodicLimit;
import io.weir.limits.QuotaLimit;
import io.weir.servers.testing.TestKafka;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.Await;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.Stamp;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.LocalDate;
import java.time.ZoneId;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/**
 * Quotas, and calls that Redis did not decide, from the request to the record in the topic; over a
 * real broker and a real Redis.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class QuotaAndOutageIT {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int PARTITIONS = 2;

  private final HttpClient http = HttpClient.newHttpClient();
  private TestKafka kafka;
  private TestRedis redis;
  private Ingest ingest;

  @BeforeAll
  void start(@TempDir Path folder) throws Exception {
    kafka = TestKafka.borrow();
    redis = TestRedis.start();
    try (TopicAdmin topics = TopicAdmin.connect(KafkaConnection.to(kafka.bootstrapServers()))) {
      topics.createMissing(PARTITIONS, Optional.empty());
    }
    Path policies = folder.resolve("policies.yml");
    Files.writeString(
        policies,
        """
        policies:
          - name: monthly
            match: {endpoint: [quota]}
            limit: {algorithm: quota, limit: 3, period: billing, billing_anchor: 2026-01-31}
          - name: shared
            match: {endpoint: [local]}
            limit: {algorithm: token-bucket, capacity: 11, refill_tokens: 1, refill_period: PT1H}
            on_cache_failure: local
          - name: beside
            match: {endpoint: [local]}
            limit: {algorithm: quota, limit: 1000, period: day}
          - name: exports
            match: {endpoint: [export]}
            limit: {algorithm: concurrency, limit: 2, lease: PT1H}
          - name: brief
            match: {endpoint: [brief]}
            key: []
            limit: {algorithm: concurrency, limit: 1, lease: PT0.3S}
          - name: many
            match: {endpoint: [many]}
            limit: {algorithm: concurrency, limit: 8, lease: PT1H}
        clients:
          tokyo: {time_zone: Asia/Tokyo}
        """);
    ingest =
        Ingest.start(
            IngestConfig.of(
                Map.of(
                    "WEIR_SINGLE_COPY",
                    "allow",
                    "WEIR_KAFKA",
                    kafka.bootstrapServers(),
                    "WEIR_REDIS",
                    redis.uri(),
                    "WEIR_NODE",
                    "node-1",
                    "WEIR_NODES",
                    "4",
                    "WEIR_HTTP_HOST",
                    "127.0.0.1",
                    "WEIR_HTTP_PORT",
                    "0",
                    "WEIR_DATA",
                    folder.resolve("data").toString(),
                    "WEIR_POLICIES",
                    policies.toString(),
                    // a busy test machine is no reason to leave a call undecided
                    "WEIR_DECISION_DEADLINE",
                    "PT10S")));
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
  void quota_exhausted_isDeniedUntilThePeriodEnds_andTheRecordCarriesItsStamp() throws Exception {
    PeriodicLimit.Span period = periodInTokyo();
    for (int i = 0; i < 3; i++) {
      assertEquals(200, check("tokyo", "quota", "q" + i).statusCode());
    }

    HttpResponse<String> denied = check("tokyo", "quota", "q3");

    long left = period.endEpochSecond() - Clock.systemUTC().instant().getEpochSecond();
    assertEquals(429, denied.statusCode());
    assertEquals(
        "\"monthly\";q=3;w=" + (period.endEpochSecond() - period.startEpochSecond()),
        header(denied, "RateLimit-Policy"));
    assertTrue(header(denied, "RateLimit").startsWith("\"monthly\";r=0;t="));
    long retryAfter = Long.parseLong(header(denied, "Retry-After"));
    assertTrue(Math.abs(retryAfter - left) < 60, () -> retryAfter + " is not about " + left);
    JsonNode limit = JSON.readTree(denied.body()).path("limits").path(0);
    assertEquals(0, limit.path("remaining").asLong(-1));
    assertTrue(Math.abs(limit.path("reset_ms").asLong() / 1_000 - left) < 60);

    Stamp third = stamp(record("q2").charges().get(0));
    assertEquals(3, third.charged());
    assertEquals(period.endEpochSecond() * 1_000_000, third.fullAtEpochMicros());
    CallEvent record = record("q3");
    assertFalse(record.allowed());
    assertEquals("monthly", record.policy());
    Charge refusing = record.charges().get(0);
    assertEquals(0, refusing.cost());
    assertEquals(new QuotaLimit(3, period.endEpochSecond() * 1_000_000), refusing.limit());
    assertEquals(third, stamp(refusing));
    assertEquals(1, record.charges().size());
  }

  @Test
  void slots_areHeldByCalls_untilTheyAreReleased() throws Exception {
    JsonNode first = JSON.readTree(check("s", "export", "a").body());
    assertEquals(3_600_000, first.path("slot_expires_ms").asLong());
    assertEquals(1, first.path("limits").path(0).path("remaining").asLong(-1));
    String a = first.path("slot").asText();
    slot(check("s", "export", "b"));
    HttpResponse<String> denied = check("s", "export", "c");

    assertEquals(429, denied.statusCode());
    assertEquals("no-slot-free", JSON.readTree(denied.body()).path("reason").asText());
    assertFalse(JSON.readTree(denied.body()).has("slot"));
    long retryAfter = Long.parseLong(header(denied, "Retry-After"));
    assertTrue(retryAfter > 3_000 && retryAfter <= 3_600, () -> "Retry-After " + retryAfter);
    assertEquals("\"exports\";q=2;w=3600", header(denied, "RateLimit-Policy"));
    assertEquals(List.of(), record("b").charges());
    // the same call again has its slot still
    assertEquals(200, check("s", "export", "a").statusCode());
    assertEquals(200, check("other", "export", "a").statusCode());

    assertEquals("{\"released\":true}", slots("release", a).body());
    assertEquals("{\"released\":false}", slots("release", a).body());
    String c = slot(check("s", "export", "c"));
    HttpResponse<String> renewed = slots("renew", c);
    assertEquals(200, renewed.statusCode());
    String next = slot(renewed);
    assertEquals("{\"released\":true}", slots("release", next).body());

    HttpResponse<String> batch =
        post(
            "/v1/check/batch",
            "[{\"client\":\"s\",\"endpoint\":\"export\",\"id\":\"d\"},"
                + "{\"client\":\"s\",\"endpoint\":\"export\"},{\"client\":\"s\",\"endpoint\":\"-\"}]");
    JsonNode items = JSON.readTree(batch.body());
    assertTrue(items.path(0).has("slot"));
    assertEquals(429, items.path(1).path("status").asInt());
    assertFalse(items.path(2).has("slot"));
    assertTrue(get("/metrics").contains("weir_slots_total{change=\"acquired\"}"));
  }

  @Test
  void slotWhoseLeaseHasEnded_isAnothers_andIsNotRenewed() throws Exception {
    String dead = slot(check("s", "brief", "dead"));
    Await.until("the slot to come back", () -> check("t", "brief", "heir").statusCode() == 200);
    HttpResponse<String> renewed = slots("renew", dead);
    assertEquals(409, renewed.statusCode());
    assertEquals("slot-ended", JSON.readTree(renewed.body()).path("reason").asText());
    assertEquals("{\"released\":false}", slots("release", dead).body());
  }

  @Test
  void whatIsNoSlot_isRefused_andNamesTheMember() throws Exception {
    for (String body :
        List.of(
            "{}",
            "{\"slot\":7}",
            "{\"slot\":\"\"}",
            "{\"slot\":\"w1:{1:s}:7:monthly\"}",
            "{\"slot\":\"" + "A".repeat(60_000) + "\"}")) {
      for (String route : List.of("renew", "release")) {
        HttpResponse<String> refused = post("/v1/slots/" + route, body);
        assertEquals(400, refused.statusCode(), refused::body);
        assertEquals("slot", JSON.readTree(refused.body()).path("field").asText());
      }
    }
    assertEquals(
        413, post("/v1/slots/release", "{\"slot\":\"" + "A".repeat(1 << 20) + "\"}").statusCode());
    assertEquals(405, status("/v1/slots/renew"));
  }

  @Test
  void redisKilled_slotsAreCountedOnTheNode_andTakenOverByRedis() throws Exception {
    String before = slot(check("k", "many", "before"));
    redis.kill();
    String local;
    try {
      // a quarter of 8
      local = slot(check("k", "many", "n0"));
      slot(check("k", "many", "n1"));
      assertEquals(429, check("k", "many", "n2").statusCode());
      HttpResponse<String> renewed = slots("renew", local);
      assertEquals("local", JSON.readTree(renewed.body()).path("decided_by").asText());
      local = slot(renewed);
      HttpResponse<String> unknown = slots("renew", before);
      assertEquals(503, unknown.statusCode());
      assertEquals("slots-unavailable", JSON.readTree(unknown.body()).path("reason").asText());
      assertEquals("1", header(unknown, "Retry-After"));
    } finally {
      redis.restart();
    }
    awaitCache();
    // Redis restarted without any slots: both renewals acquire a slot
    for (String slot : List.of(before, local)) {
      HttpResponse<String> renewed = slots("renew", slot);
      assertEquals("cache", JSON.readTree(renewed.body()).path("decided_by").asText());
    }
    JsonNode third = JSON.readTree(check("k", "many", "third").body());
    assertEquals(8 - 3, third.path("limits").path(0).path("remaining").asInt());
  }

  private static String slot(HttpResponse<String> answer) throws IOException {
    assertEquals(200, answer.statusCode(), answer::body);
    return JSON.readTree(answer.body()).path("slot").asText();
  }

  private HttpResponse<String> slots(String route, String slot) throws Exception {
    return post("/v1/slots/" + route, "{\"slot\":\"" + slot + "\"}");
  }

  @Test
  void redisKilled_localPolicyAdmitsTheNodesShare_andItsChargesHaveNoStamp() throws Exception {
    double deniedBefore = deniedLocally();
    redis.kill();
    try {
      // a quarter of 11
      for (int i = 0; i < 2; i++) {
        HttpResponse<String> allowed = check("shared-client", "local", "l" + i);
        assertEquals(200, allowed.statusCode());
        assertEquals("local", JSON.readTree(allowed.body()).path("decided_by").asText());
        assertTrue(header(allowed, "RateLimit-Policy").startsWith("\"shared\";q=2;w="));
      }

      HttpResponse<String> denied = check("shared-client", "local", "l2");

      assertEquals(429, denied.statusCode());
      JsonNode body = JSON.readTree(denied.body());
      assertEquals("local", body.path("decided_by").asText());
      assertEquals("shared", body.path("violated-policies").path(0).asText());
      // one token an hour among 4 nodes
      long retryAfter = Long.parseLong(header(denied, "Retry-After"));
      assertTrue(retryAfter > 14_000 && retryAfter <= 14_400, () -> "Retry-After " + retryAfter);
      assertEquals(200, check("l3", "local", "other-client").statusCode());
      Await.until("the denied call among the metrics", () -> deniedLocally() == deniedBefore + 1);
    } finally {
      redis.restart();
    }

    CallEvent allowed = record("l1");
    assertEquals(DecidedBy.LOCAL, allowed.decidedBy());
    assertEquals(2, allowed.charges().size());
    assertTrue(allowed.charges().stream().allMatch(c -> c.stamp() == null && c.cost() == 1));
    assertEquals(11, limitTokens(allowed.charges().get(0)));
    assertEquals(1_000, limitTokens(allowed.charges().get(1)));
    CallEvent denied = record("l2");
    assertFalse(denied.allowed());
    assertEquals(DecidedBy.LOCAL, denied.decidedBy());
    assertEquals(List.of(), denied.charges());
    awaitCache();
  }

  private double deniedLocally() throws IOException, InterruptedException {
    String name = "weir_checks_total{decided_by=\"local\",verdict=\"denied\"} ";
    return get("/metrics")
        .lines()
        .filter(line -> line.startsWith(name))
        .mapToDouble(line -> Double.parseDouble(line.substring(name.length())))
        .sum();
  }

  private static PeriodicLimit.Span periodInTokyo() {
    return new CalendarQuota(3, CalendarPeriod.BILLING, ZoneId.of("UTC"), LocalDate.of(2026, 1, 31))
        .at(Clock.systemUTC().millis(), new ClientCalendar(ZoneId.of("Asia/Tokyo"), null));
  }

  private static Stamp stamp(Charge charge) {
    Stamp stamp = charge.stamp();
    assertNotNull(stamp);
    return stamp;
  }

  private static long limitTokens(Charge charge) {
    assertNotNull(charge.limit());
    return charge.limit().capacityTokens();
  }

  /** The record of a call, once it is in the topic; ids are those of one call in this class. */
  private CallEvent record(String id) throws Exception {
    AtomicReference<CallEvent> found = new AtomicReference<>();
    Await.until(
        id + " in the topic",
        () -> {
          for (CallsTopicReader.Batch batch : CallsTopicReader.read(kafka.bootstrapServers())) {
            for (CallEvent call : batch.calls()) {
              if (call.id().equals(id)) {
                CallEvent earlier = found.getAndSet(call);
                assertTrue(earlier == null || earlier.client().equals(call.client()), id);
              }
            }
          }
          return found.get() != null;
        });
    return Objects.requireNonNull(found.get());
  }

  private void awaitCache() throws Exception {
    Await.until("the cache to be back", () -> get("/metrics").contains("weir_cache_up 1.0"));
  }

  private HttpResponse<String> check(String client, String endpoint, String id)
      throws IOException, InterruptedException {
    String body =
        "{\"client\":\"" + client + "\",\"endpoint\":\"" + endpoint + "\",\"id\":\"" + id + "\"}";
    return post("/v1/check", body);
  }

  private HttpResponse<String> post(String path, String body)
      throws IOException, InterruptedException {
    return http.send(
        HttpRequest.newBuilder(uri(path)).POST(HttpRequest.BodyPublishers.ofString(body)).build(),
        HttpResponse.BodyHandlers.ofString());
  }

  private int status(String path) throws IOException, InterruptedException {
    return http.send(
            HttpRequest.newBuilder(uri(path)).build(), HttpResponse.BodyHandlers.ofString())
        .statusCode();
  }

  private String get(String path) throws IOException, InterruptedException {
    return http.send(
            HttpRequest.newBuilder(uri(path)).build(), HttpResponse.BodyHandlers.ofString())
        .body();
  }

  private URI uri(String path) {
    return URI.create("http://127.0.0.1:" + ingest.httpPort() + path);
  }

  private static String header(HttpResponse<String> answer, String name) {
    return answer.headers().firstValue(name).orElse("no " + name);
  }
}
