// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.limits.BucketKey;
import io.weir.limits.TokenBucketLimit;
import io.weir.testing.Await;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.Stamp;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsageRow;
import io.weir.topics.model.UsageWindow;
import java.net.URLEncoder;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A client's own calls out of the audit log of a real broker, from either of two aggregators. */
final class EventsIT {
  private static final int PARTITIONS = 4;
  private static final long WINDOW_MILLIS = 2_000;
  private static final TokenBucketLimit BURST = new TokenBucketLimit(100, 100, 60_000_000);

  @TempDir static Path folder;

  private static Broker broker;
  private static Reports reports;

  @BeforeAll
  static void start() throws Exception {
    broker = new Broker(PARTITIONS);
    reports = new Reports(broker, PARTITIONS, folder);
  }

  @AfterAll
  static void stop() {
    reports.close();
    broker.close();
  }

  @Test
  void events_ofARefusal_tellItsBucketAndItsLedgerRow() throws Exception {
    String client = Calls.clientOf("acme", 0, PARTITIONS);
    long at = now() - 10_000; // so that a promise of now closes the window
    CallEvent allowed = stamped("yes", client, true, 1, at, 40);
    CallEvent denied = stamped("no", client, false, 0, at + 1, 0);
    send(0, "n0", 1, List.of(Calls.allowed("x", "somebody", 1, at), allowed, denied));
    send(0, "n0", 1, List.of(Calls.allowed("x", "somebody", 1, at), allowed, denied));
    String path =
        "/v1/usage/" + client + "/events?allowed=false&from=" + time(at) + "&to=" + time(at + 2);

    Await.until(
        "final and complete",
        () -> {
          broker.send(0, Calls.heartbeat("n0", 1, System.currentTimeMillis()), new byte[0]);
          broker.flush();
          JsonNode document = list(reports.one, path);
          return document.path("complete").asBoolean()
              && document.at("/data/0/ledger/status").asText().equals("final");
        });
    for (Aggregator aggregator : reports.both()) {
      JsonNode document = list(aggregator, path);
      assertEquals(1, document.path("data").size(), document.toString());
      JsonNode event = document.path("data").path(0);
      assertEquals("no", event.path("id").asText());
      assertEquals(Instant.ofEpochMilli(at + 1).toString(), event.path("decided_at").asText());
      assertEquals("burst", event.path("policy").asText());
      assertEquals("0:0:3", event.path("position").asText());
      JsonNode limit = event.path("limits").path(0);
      assertEquals("burst", limit.path("policy").asText());
      assertEquals(100, limit.path("limit").asLong());
      assertEquals(0, limit.path("remaining").asLong());
      UsageWindow window = UsageWindow.holding(at + 1, WINDOW_MILLIS);
      assertEquals(
          UsageRow.recordId(new UsageKey(client, "calls", "GET /items"), window, 1),
          event.path("ledger").path("record_id").asText());
    }
    JsonNode both = list(reports.one, path.replace("allowed=false&", ""));
    assertEquals(40, both.at("/data/0/limits/0/remaining").asLong(), both.toString());
  }

  @Test
  void events_inPages_tellEveryCallOnce() throws Exception {
    String client = Calls.clientOf("pages", 1, PARTITIONS);
    long at = System.currentTimeMillis();
    List<String> expected = new ArrayList<>();
    for (int batch = 1; batch <= 3; batch++) {
      List<CallEvent> calls = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        calls.add(Calls.allowed(batch + "." + i, client, 1, at));
        expected.add(batch + "." + i);
      }
      send(1, "pages", batch, calls);
    }
    send(1, "pages", 2, List.of(Calls.allowed("2.0", client, 1, at)));

    List<String> told = new ArrayList<>();
    String page = "";
    do {
      String path = "/v1/usage/" + client + "/events?limit=2&from=" + time(at - 60_000) + page;
      JsonNode document = Reports.document(told.size() % 4 == 0 ? reports.one : reports.two, path);
      document.path("data").forEach(event -> told.add(event.path("id").asText()));
      page =
          document.path("has_more").asBoolean()
              ? "&page=" + document.path("next_page").asText()
              : "";
    } while (!page.isEmpty());

    assertEquals(expected, told);
  }

  @Test
  void events_ofAnyName_areFound() throws Exception {
    long at = now();
    for (String name : List.of("a/b ü{%", "..", "x\"y\\z;q?#")) {
      String client = Calls.clientOf(name, 2, PARTITIONS);
      send(2, "names" + client.length(), 1, List.of(Calls.denied("n", client, 1, at)));
      String encoded = URLEncoder.encode(client, StandardCharsets.UTF_8).replace("+", "%20");

      for (Aggregator aggregator : reports.both()) {
        JsonNode events =
            list(
                aggregator,
                "/v1/usage/"
                    + encoded
                    + "/events?from="
                    + time(at - 60_000)
                    + "&to="
                    + time(at + 60_000).replace("Z", "%2B00:00"));
        assertEquals(client, events.path("client").asText());
        assertEquals(1, events.path("data").size(), events.toString());
      }
      JsonNode current = Reports.document(reports.two, "/v1/usage/" + encoded + "/current");
      assertEquals(0, current.path("buckets").size());
    }
  }

  @Test
  void events_withOffsets_areTheSameMoment() throws Exception {
    String client = Calls.clientOf("offset", 3, PARTITIONS);
    long at = now();
    send(3, "offset", 1, List.of(Calls.denied("o", client, 1, at)));
    String from = Instant.ofEpochMilli(at).atOffset(ZoneOffset.ofHours(5)).toString();

    JsonNode document =
        list(reports.one, "/v1/usage/" + client + "/events?from=" + from + "&to=" + time(at + 1));

    assertEquals(1, document.path("data").size(), document.toString());
    assertEquals(Instant.ofEpochMilli(at).toString(), document.path("from").asText());
  }

  @Test
  void events_badParameters_areProblemsThatNameTheField() throws Exception {
    assertProblem("colour", "/v1/usage/a/events?colour=red");
    assertProblem("from", "/v1/usage/a/events?from=yesterday");
    assertProblem("to", "/v1/usage/a/events?from=2026-01-02&to=2026-01-01");
    assertProblem("from", "/v1/usage/a/events?from=2026-01-01&to=2026-03-01");
    assertProblem("allowed", "/v1/usage/a/events?allowed=maybe");
    assertProblem("limit", "/v1/usage/a/events?limit=1001");
    assertProblem("page", "/v1/usage/a/events?page=zzz");
    assertProblem("endpoint", "/v1/usage/a/events?endpoint=a%00");
    assertProblem("client", "/v1/usage/a%7F/events");
    assertProblem("client", "/v1/usage/" + "a".repeat(257) + "/current");
    assertProblem("at", "/v1/usage/a/current?at=now");
  }

  /** A list that fits into one page, which a busy machine may not read to its end in time. */
  private static JsonNode list(Aggregator aggregator, String path) throws Exception {
    return Reports.ask(
        "a list of one page",
        () -> Reports.document(aggregator, path),
        document -> !document.path("has_more").asBoolean());
  }

  private static void assertProblem(String field, String path) throws Exception {
    HttpResponse<String> response = Reports.get(reports.one, path);
    assertEquals(400, response.statusCode(), path);
    assertEquals(field, Reports.MAPPER.readTree(response.body()).path("field").asText(), path);
  }

  private static CallEvent stamped(
      String id, String client, boolean allowed, long cost, long at, long left) {
    long fullAt = at * 1_000 + (100 - left) * 600_000;
    String bucket = BucketKey.of("burst", client).text();
    return new CallEvent(
        id,
        false,
        client,
        "GET /items",
        "calls",
        1,
        allowed,
        DecidedBy.CACHE,
        "burst",
        1,
        at,
        null,
        List.of(new Charge(bucket, cost, BURST, new Stamp(1, 0, 100 - left, fullAt))));
  }

  private static void send(int partition, String node, long sequence, List<CallEvent> calls) {
    broker.send(
        partition,
        new BatchHeader(node, 1, sequence, calls.size(), now(), 0, false),
        Calls.value(calls));
    broker.flush();
  }

  private static long now() {
    return System.currentTimeMillis();
  }

  private static String time(long epochMillis) {
    return Instant.ofEpochMilli(epochMillis).toString();
  }
}
