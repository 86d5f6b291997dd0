// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.limits.BilledIn;
import io.weir.limits.BillingCalendar;
import io.weir.limits.ClientCalendar;
import io.weir.testing.Await;
import io.weir.topics.catalog.Topics;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.UsageRow;
import io.weir.topics.wire.LedgerRowCodec;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URLEncoder;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The reports API of two aggregators that share the partitions of a real broker. */
final class ReportsIT {
  private static final int PARTITIONS = 8;

  /** Of the one test that sends calls of a while ago: others would have closed their window. */
  private static final int CLOSING = 4;

  /** The same, of another test. */
  private static final int BILLED = 5;

  /** The same, of another test. */
  private static final int OTHERS = 6;

  /** The same, of another test. */
  private static final int LOST = 7;

  private static final AtomicLong SEQUENCE = new AtomicLong();

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
  void usage_withPosition_includesTheCall_onEveryInstance() throws Exception {
    for (int partition = 0; partition < CLOSING; partition++) {
      String client = Calls.clientOf("acme", partition, PARTITIONS);
      String position = send(partition, client, 3, 1);
      for (Aggregator aggregator : reports.both()) {
        HttpResponse<String> response =
            Reports.answer(aggregator, Reports.TOTAL + client, "Usage-Position", position);

        assertEquals(200, response.statusCode(), response.body());
        JsonNode report = Reports.MAPPER.readTree(response.body());
        JsonNode row = report.path("data").path(0);
        assertEquals(3, row.path("quantity").asLong(), response.body());
        assertEquals(3, row.path("allowed").asLong());
        assertEquals(1, row.path("denied").asLong());
        assertFalse(report.path("completeness").path("complete").asBoolean());
        assertTrue(
            report.path("completeness").path("position").asText().startsWith(partition + ":"));
      }
    }
  }

  @Test
  void usage_afterClose_isFinalAndComplete() throws Exception {
    String client = Calls.clientOf("closing", CLOSING, PARTITIONS);
    long decidedAt = System.currentTimeMillis() - 10_000; // a promise of now closes its window
    long from = decidedAt / 2_000 * 2_000;
    long to = from + 2_000;
    List<CallEvent> calls = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      calls.add(Calls.allowed(client + i, client, 1, decidedAt));
    }
    send(CLOSING, calls);
    String query =
        "/v1/usage?client="
            + client
            + "&from="
            + Instant.ofEpochMilli(from)
            + "&to="
            + Instant.ofEpochMilli(to)
            + "&group_by=endpoint&status=final";

    Await.until(
        "complete",
        () -> {
          heartbeat(CLOSING);
          return Reports.document(reports.one, query)
              .path("completeness")
              .path("complete")
              .asBoolean();
        });

    long quantity = 0;
    for (JsonNode row : Reports.document(reports.one, query).path("data")) {
      assertEquals("final", row.path("status").asText());
      assertEquals("GET /items", row.path("endpoint").asText());
      quantity += row.path("quantity").asLong();
    }
    assertEquals(5, quantity);
    HttpResponse<String> csv = Reports.answer(reports.two, query, "Accept", "text/csv");
    assertTrue(csv.body().startsWith("client,meter,from,to,status,"), csv.body());
    assertTrue(csv.body().contains(client + ",calls,"), csv.body());
  }

  /**
   * Was a hole: a client whose calls were lost with a node's disk, and that has no row in the
   * window, got a final and complete report with the quantity 0.
   */
  @Test
  void usage_nodeLostItsJournal_isIncompleteForClientsWithoutRows() throws Exception {
    String client = Calls.clientOf("vanished", LOST, PARTITIONS);
    long now = System.currentTimeMillis();
    long from = (now - 20_000) / 2_000 * 2_000;
    broker.send(LOST, new BatchHeader("lost", 1, 0, 0, from, 0, false), new byte[0]);
    broker.send(LOST, new BatchHeader("lost", 2, 0, 0, now, 0, false), new byte[0]);
    broker.flush();
    String query =
        "/v1/usage?client=%s&from=%s&to=%s"
            .formatted(client, Instant.ofEpochMilli(from), Instant.ofEpochMilli(from + 2_000));
    JsonNode report =
        Reports.ask(
            "the window closed",
            () -> Reports.document(reports.one, query + "&window=total&fill=zero"),
            found -> found.at("/data/0/status").asText().equals("final"));

    assertFalse(report.at("/completeness/complete").asBoolean(), report::toString);
    assertFalse(report.at("/data/0/complete").asBoolean(true), report::toString);
    for (String window : List.of("P1D", "billing-period")) {
      JsonNode other = Reports.document(reports.two, query + "&window=" + window);
      assertFalse(other.at("/completeness/complete").asBoolean(true), other::toString);
    }
    String csv =
        Reports.answer(reports.two, query + "&window=total&fill=zero", "Accept", "text/csv").body();
    assertTrue(csv.contains(",final,false,0,0,0,0,0"), csv);
    JsonNode partition =
        Reports.document(reports.one, "/v1/completeness").at("/partitions/" + LOST);
    assertEquals(
        Instant.ofEpochMilli(from).toString(),
        partition.at("/possible_gaps/0/from").asText(),
        partition::toString);
  }

  @Test
  void usage_byBillingPeriod_isWholePeriodsOfTheClientsCalendar() throws Exception {
    String client = Calls.clientOf("billed", BILLED, PARTITIONS);
    long now = System.currentTimeMillis() - 10_000; // a promise of now closes its window
    BillingCalendar calendar =
        BillingCalendar.of(
            new ClientCalendar(
                ZoneId.of("Asia/Kathmandu"),
                LocalDate.ofInstant(Instant.ofEpochMilli(now), ZoneOffset.UTC).minusDays(7)));
    assertNotNull(calendar);
    BilledIn billing = calendar.at(now);
    List<CallEvent> calls = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      calls.add(Calls.allowed(client + i, client, 2, now).billedIn(billing));
    }
    String position = send(BILLED, calls);
    String query = "/v1/usage?window=billing-period&client=" + client;

    for (Aggregator aggregator : reports.both()) {
      JsonNode report = Reports.document(aggregator, query, "Usage-Position", position);

      assertEquals(1, report.path("data").size(), report.toString());
      JsonNode row = report.path("data").path(0);
      assertEquals(6, row.path("quantity").asLong(), report.toString());
      assertEquals(billing.period().name(), row.path("billing_period").asText());
      assertEquals("Asia/Kathmandu", row.path("billing_zone").asText());
      assertEquals(
          Instant.ofEpochMilli(billing.period().startEpochMillis()).toString(),
          row.path("from").asText());
      assertEquals(
          Instant.ofEpochMilli(billing.period().endEpochMillis()).toString(),
          row.path("to").asText());
      assertEquals("running", row.path("status").asText());
    }
    HttpResponse<String> csv = Reports.answer(reports.one, query, "Accept", "text/csv");
    String period =
        String.format(
            ",%s,%d,%d,Asia/Kathmandu",
            billing.period().name(),
            billing.period().startEpochMillis(),
            billing.period().endEpochMillis());
    assertTrue(csv.body().contains(period), csv.body());
    List<UsageRow> rows =
        Reports.ask("the ledger's rows", () -> usageRows(client), found -> !found.isEmpty());
    assertEquals(billing.period(), rows.get(0).billingPeriod());
  }

  @Test
  void usage_pagesOfOneRow_giveEveryRowOnce() throws Exception {
    String client = Calls.clientOf("pages", 2, PARTITIONS);
    List<CallEvent> calls = new ArrayList<>();
    long now = System.currentTimeMillis();
    for (int i = 0; i < 5; i++) {
      calls.add(Calls.call("p" + i, false, client, "e" + i, i + 1, true, now));
    }
    String position = send(2, calls);
    String base = Reports.TOTAL + client + "&group_by=endpoint&limit=2";

    List<String> endpoints = new ArrayList<>();
    String page = "";
    do {
      JsonNode report = Reports.document(reports.one, base + page, "Usage-Position", position);
      report.path("data").forEach(row -> endpoints.add(row.path("endpoint").asText()));
      page = report.has("next_page") ? "&page=" + report.path("next_page").asText() : "";
    } while (!page.isEmpty());

    assertEquals(List.of("e0", "e1", "e2", "e3", "e4"), endpoints);
  }

  @Test
  void usage_moreEndpointsThanRows_showsOthers_andExactTotals() throws Exception {
    String client = Calls.clientOf("inventor", OTHERS, PARTITIONS);
    long decidedAt = System.currentTimeMillis() - 10_000; // a promise of now closes its window
    List<CallEvent> calls = new ArrayList<>();
    for (int i = 0; i < 1_002; i++) {
      calls.add(Calls.call(client + i, false, client, "e" + (2_000 + i), 1, true, decidedAt));
    }
    calls.set(7, Calls.call(client + 7, false, client, "other", 1, true, decidedAt));
    calls.add(Calls.call(client + "beyond", false, client, "GET /beyond", 5, true, decidedAt));
    String position = send(OTHERS, calls);
    String query = Reports.TOTAL + client + "&group_by=endpoint";

    for (Aggregator aggregator : reports.both()) {
      JsonNode report = Reports.document(aggregator, query, "Usage-Position", position);
      JsonNode others = report.path("data").path(0);
      assertEquals("other", others.path("endpoint").asText(), others.toString());
      assertTrue(others.path("others").asBoolean(), others.toString());
      assertEquals(2 + 5, others.path("quantity").asLong());
      assertTrue(report.path("has_more").asBoolean(), "a row for each of 1,000 and of others");
      JsonNode total = Reports.document(aggregator, Reports.TOTAL + client);
      assertEquals(1_002 + 5, total.at("/data/0/quantity").asLong(), total.toString());
    }
    HttpResponse<String> csv =
        Reports.answer(reports.two, query + "&limit=1001", "Accept", "text/csv");
    List<String> lines = csv.body().lines().toList();
    assertEquals(1_002, lines.size());
    assertTrue(lines.get(0).endsWith(",endpoint,others"), lines.get(0));
    assertTrue(lines.get(1).endsWith(",7,3,0,0,other,true"), lines.get(1));
    assertTrue(lines.get(1_001).endsWith(",1,1,0,0,other,false"), lines.get(1_001));

    List<UsageRow> rows =
        Reports.ask(
            "the ledger's rows",
            () -> {
              heartbeat(OTHERS);
              return usageRows(client);
            },
            found -> found.size() == 1_001);
    assertEquals(1_002 + 5, rows.stream().mapToLong(row -> row.count().quantity()).sum());
    UsageRow othersRow = rows.stream().filter(row -> row.key().others()).findFirst().orElseThrow();
    assertEquals(7, othersRow.count().quantity());
    String events =
        "/v1/usage/"
            + client
            + "/events?endpoint=GET%20/beyond&from="
            + Instant.ofEpochMilli(decidedAt);
    JsonNode event =
        Reports.ask(
                "where the call stands",
                () -> Reports.document(reports.one, events),
                found -> found.at("/data/0/ledger/status").asText().equals("final"))
            .path("data")
            .path(0);
    assertTrue(event.at("/ledger/others").asBoolean(), event.toString());
    assertEquals(othersRow.recordId(), event.at("/ledger/record_id").asText());
    double counted = 0;
    for (Aggregator aggregator : reports.both()) {
      counted +=
          Reports.metric(aggregator, "weir_other_rows_lines_total{partition=\"" + OTHERS + "\"}");
    }
    assertEquals(3, counted);
  }

  @Test
  void usagePage_manyRowsAndSumsBeyondDoublePrecision_areExact() throws Exception {
    String client = Calls.clientOf("browsed", 3, PARTITIONS);
    List<CallEvent> calls = new ArrayList<>();
    long now = System.currentTimeMillis();
    for (int i = 0; i < 1_010; i++) {
      // so much that the sum, and one row's figure without endpoints, is no double
      long cost = i < 2 ? CallEvent.MAX_QUANTITY : 1;
      calls.add(Calls.call("b" + i, false, client, "e" + (1_000 + i), cost, true, now));
    }
    String position = send(3, calls);
    Reports.document(reports.one, Reports.TOTAL + client, "Usage-Position", position);
    String day = LocalDate.ofInstant(Instant.ofEpochMilli(now), ZoneOffset.UTC).toString();
    String page = "/?tz=UTC&window=P1D&client=" + client + "&from=" + day + "&to=" + day;

    for (String grouping : List.of("", "&group_by=endpoint")) {
      Chromium.awaitPage(
          folder,
          reports.one,
          page + grouping,
          shown ->
              shown.contains("<b id=\"quantity\">18,014,398,509,482,990</b>")
                  && shown.contains("<b id=\"allowed\">1,010</b>")
                  && shown.contains("Only the first 1,000 rows") == !grouping.isEmpty()
                  && (shown.contains("<td data-label=\"Quantity\">18,014,398,509,482,990</td>")
                      || !grouping.isEmpty()));
    }
  }

  @Test
  void usagePage_zoneIsUnknown_namesTheFieldOnce() throws Exception {
    Chromium.awaitPage(
        folder,
        reports.one,
        "/?tz=nowhere&client=a&from=2026-01-01&to=2026-01-01",
        shown -> shown.contains(">tz must be an IANA time zone"));
  }

  @Test
  void description_isShown_withEachOperation(@TempDir Path folder) throws Exception {
    HttpResponse<String> document = Reports.get(reports.one, "/openapi.json");
    assertEquals(200, document.statusCode());
    assertEquals("application/json", document.headers().firstValue("Content-Type").orElseThrow());

    Chromium.awaitPage(
        folder,
        reports.one,
        "/docs",
        shown ->
            shown.contains("operations-Usage-currentLimits")
                && shown.contains("operations-Fleet-completeness")
                && shown.contains("Weir reports API")
                && !shown.contains("Warning"));
  }

  /** OPTIONS returns the methods of a path, so both must know the same methods. */
  @Test
  void describedMethods_areThoseOfThePath() throws Exception {
    for (String operation : Reports.DESCRIBED.operations()) {
      String[] parts = operation.split(" ", 2);
      HttpResponse<String> answer =
          Reports.send(reports.one, "OPTIONS", parts[1].replaceAll("\\{[^}]+}", "x"));

      assertEquals(204, answer.statusCode(), operation);
      assertEquals(
          parts[0].equals("GET") ? "GET, HEAD, OPTIONS" : parts[0] + ", OPTIONS",
          answer.headers().firstValue("Allow").orElseThrow(),
          operation);
      assertEquals(List.of(), answer.headers().allValues("Access-Control-Allow-Origin"));
    }
  }

  @Test
  void usage_positionNeverReached_isProblemThatNamesIt() throws Exception {
    String client = Calls.clientOf("never", 0, PARTITIONS);

    Await.until(
        "the problem",
        () -> {
          HttpResponse<String> response =
              Reports.get(
                  reports.one, "/v1/usage?client=" + client, "Usage-Position", "0:n0:1:999999999");
          assertNotEquals(200, response.statusCode(), response.body());
          return response.statusCode() == 504 && response.body().contains("0:n0:1:999999999");
        });
  }

  @Test
  void usage_badParameters_areProblemsThatNameTheField() throws Exception {
    assertProblem("client", "/v1/usage");
    assertProblem("client", "/v1/usage?client=a%00b");
    assertProblem("colour", "/v1/usage?client=a&colour=red");
    assertProblem("tz", "/v1/usage?client=a&tz=Mars");
    assertProblem("window", "/v1/usage?client=a&window=PT7H");
    assertProblem("from", "/v1/usage?client=a&from=yesterday");
    assertProblem("to", "/v1/usage?client=a&from=2026-01-02&to=2026-01-01");
    assertProblem("limit", "/v1/usage?client=a&limit=0");
    assertProblem("page", "/v1/usage?client=a&page=zzz");
    assertProblem("fill", "/v1/usage?client=a&window=billing-period&fill=zero");
    assertProblem("status", "/v1/usage?client=a&status=open");
    assertProblem("verbose", "/v1/completeness?verbose=1");
    HttpResponse<String> position =
        Reports.get(reports.one, "/v1/usage?client=a", "Usage-Position", "here");
    assertEquals(400, position.statusCode());
    assertEquals(404, Reports.get(reports.one, "/v2").statusCode());
  }

  @Test
  void clients_ofAllPartitions_areListedInOrderUpToTheLimit() throws Exception {
    List<String> names = new ArrayList<>();
    for (int partition = 0; partition < CLOSING; partition++) {
      String client = Calls.clientOf("listed/\u00e9 ", partition, PARTITIONS);
      String position = send(partition, client, 1, 0);
      String path = Reports.TOTAL + URLEncoder.encode(client, StandardCharsets.UTF_8);
      Reports.document(reports.one, path, "Usage-Position", position);
      names.add(client);
    }
    Collections.sort(names);
    String listed = "/v1/clients?prefix=listed%2F%C3%A9";
    for (Aggregator aggregator : reports.both()) {
      JsonNode all = Reports.whole(aggregator, listed);
      assertEquals(names, texts(all.path("clients")));
      assertFalse(all.path("has_more").asBoolean(true));

      JsonNode some = Reports.whole(aggregator, listed + "&limit=2");
      assertEquals(names.subList(0, 2), texts(some.path("clients")));
      assertTrue(some.path("has_more").asBoolean());

      JsonNode every = Reports.whole(aggregator, "/v1/clients?limit=1000");
      assertTrue(texts(every.path("clients")).containsAll(names), every.toString());
      assertFalse(every.toString().contains("@"), every.toString());
    }
    assertProblem("limit", "/v1/clients?limit=1001");
    assertProblem("prefix", "/v1/clients?prefix=a%00");
    assertProblem("page", "/v1/clients?page=2");
  }

  /** Regression: a scan for a report returned to such a key again and again, and never ended. */
  @Test
  void usageAndClients_foreignKeysInTheStateTopic_areSkipped() throws Exception {
    String client = Calls.clientOf("foreign", 0, PARTITIONS);
    String position = send(0, client, 3, 0);
    Reports.document(reports.one, Reports.TOTAL + client, "Usage-Position", position);
    for (String key : List.of("", "foreign", client + "/calls/x", client + "/calls/a/b/c")) {
      broker.sendTo(Topics.STATE.name(), 0, key.getBytes(StandardCharsets.UTF_8), new byte[] {'?'});
    }
    broker.flush();

    for (Aggregator aggregator : reports.both()) {
      JsonNode report = Reports.whole(aggregator, Reports.TOTAL + client);
      assertEquals(3, report.path("data").path(0).path("quantity").asLong(), report.toString());
      JsonNode listed = Reports.whole(aggregator, "/v1/clients?prefix=foreign");
      assertEquals(List.of(client), texts(listed.path("clients")));
    }
  }

  @Test
  void heaviest_ofAllPartitions_areInOrder_onEveryInstance() throws Exception {
    List<String> clients = new ArrayList<>();
    for (int partition = 0; partition < CLOSING; partition++) {
      String client = Calls.clientOf("heavy/\u00e9", partition, PARTITIONS);
      List<CallEvent> calls = new ArrayList<>();
      long now = System.currentTimeMillis();
      calls.add(Calls.call(client, false, client, "GET /heavy", 10L << partition, true, now));
      calls.add(Calls.call(client + 1, false, client, "GET /heavy/2", 1, true, now));
      for (int denied = partition; denied < CLOSING; denied++) {
        calls.add(Calls.denied(client + "d" + denied, client, 1, now, "GET /heavy"));
      }
      String position = send(partition, calls);
      String path = Reports.TOTAL + URLEncoder.encode(client, StandardCharsets.UTF_8);
      Reports.document(reports.one, path, "Usage-Position", position);
      clients.add(client);
    }
    for (Aggregator aggregator : reports.both()) {
      JsonNode denied = Reports.whole(aggregator, "/v1/clients?order=denied&prefix=heavy%2F");
      assertEquals(clients, texts(denied, "clients", "client"), denied.toString());
      assertEquals(4, denied.at("/clients/0/denied").asLong(), denied.toString());
      assertEquals(0, denied.path("unlisted_at_most").asLong(1), denied.toString());
      assertTrue(denied.path("up_to_date").asBoolean(), denied.toString());

      JsonNode most =
          Reports.whole(aggregator, "/v1/clients?order=quantity&limit=3&prefix=heavy%2F");
      List<String> heaviest = new ArrayList<>(clients.subList(1, CLOSING));
      Collections.reverse(heaviest);
      assertEquals(heaviest, texts(most, "clients", "client"), most.toString());
      assertEquals(81, most.at("/clients/0/quantity").asLong(), most.toString());
      assertEquals(0, most.at("/clients/0/error").asLong(1), most.toString());
      assertEquals("call", most.path("unit").asText(), most.toString());
      assertTrue(most.path("has_more").asBoolean(), most.toString());
      assertEquals(11, most.path("unlisted_at_most").asLong(), most.toString());

      JsonNode endpoints = Reports.whole(aggregator, "/v1/endpoints?prefix=GET%20/heavy");
      assertEquals(
          List.of("GET /heavy", "GET /heavy/2"),
          texts(endpoints, "endpoints", "endpoint"),
          endpoints.toString());
      // other tests have more endpoints than a sketch holds
      assertBetween(150, endpoints.at("/endpoints/0"));
      assertBetween(4, endpoints.at("/endpoints/1"));
      JsonNode refused = Reports.whole(aggregator, "/v1/endpoints?order=denied");
      assertTrue(refused.at("/endpoints/0/denied").asLong() >= 10, refused.toString());
    }
    assertProblem("order", "/v1/clients?order=calls");
    assertProblem("meter", "/v1/clients?order=denied&meter=calls");
    assertProblem("from", "/v1/clients?order=quantity&from=2026-01-01");
    assertProblem("from", "/v1/clients?from=2026-01-01");
    assertProblem("client", "/v1/endpoints?client=acme");
    String metrics = Reports.get(reports.one, "/metrics").body();
    assertTrue(metrics.contains("\nweir_ranked_names "), metrics);
    assertEquals(0, Reports.metric(reports.one, "weir_ranking_partitions"));
    assertTrue(Reports.metric(reports.one, "weir_ranked_partitions") > 0, metrics);
  }

  private static void assertBetween(long exact, JsonNode row) {
    assertTrue(row.path("lower_bound").asLong() <= exact, row.toString());
    assertTrue(row.path("upper_bound").asLong() >= exact, row.toString());
    long error = row.path("upper_bound").asLong() - row.path("lower_bound").asLong();
    assertEquals(error, row.path("error").asLong(), row.toString());
  }

  private static List<String> texts(JsonNode document, String list, String member) {
    List<String> texts = new ArrayList<>();
    document.path(list).forEach(one -> texts.add(one.path(member).asText()));
    return texts;
  }

  private static List<String> texts(JsonNode array) {
    List<String> texts = new ArrayList<>();
    array.forEach(text -> texts.add(text.asText()));
    return texts;
  }

  @Test
  void answers_areNotCacheable_haveADate_andListAllowedMethods() throws Exception {
    for (String path :
        List.of("/", "/health/live", "/metrics", "/v1/completeness", "/v1/usage", "/v2")) {
      HttpResponse<String> answer = Reports.get(reports.one, path);

      assertEquals("no-store", answer.headers().firstValue("Cache-Control").orElse("none"), path);
      assertTrue(answer.headers().firstValue("Date").isPresent(), path);
    }
    HttpResponse<String> posted = Reports.send(reports.one, "POST", "/v1/usage");
    assertEquals(405, posted.statusCode());
    assertEquals("GET, HEAD, OPTIONS", posted.headers().firstValue("Allow").orElse("none"));
    assertTrue(posted.body().contains("method-not-allowed"), posted.body());
  }

  /** Regression: each such request left a session in memory, for ever. */
  @Test
  void webSocketHandshake_isAPlainRequest() throws Exception {
    String handshake =
        """
        GET /health/live HTTP/1.1
        Host: localhost
        Connection: Upgrade, close
        Upgrade: websocket
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==
        Sec-WebSocket-Version: 13

        """
            .replace("\n", "\r\n");
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), reports.one.reportsPort())) {
      socket.getOutputStream().write(handshake.getBytes(StandardCharsets.US_ASCII));
      String answer =
          new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);

      assertTrue(answer.startsWith("HTTP/1.1 200 "), answer);
      assertFalse(answer.contains("Set-Cookie"), answer);
    }
  }

  /** Regression: such answers were pages of HTML. */
  @Test
  void requestThatTheServerRefuses_isAnsweredByAProblem() throws Exception {
    String long20k = "a".repeat(20_000);
    Map<String, String> refused =
        Map.of(
            "GET /v1/usage HTTP/1.1\r\nHost: localhost\r\nX: " + long20k,
            "431",
            "GET /v1/usage?" + long20k + " HTTP/1.1\r\nHost: localhost",
            "414",
            "GET /v1/usage HTTP/1.1\r\nHost: localhost\r\nX\u0001: a",
            "400");
    for (Map.Entry<String, String> each : refused.entrySet()) {
      try (Socket socket =
          new Socket(InetAddress.getLoopbackAddress(), reports.one.reportsPort())) {
        byte[] message = (each.getKey() + "\r\n\r\n").getBytes(StandardCharsets.US_ASCII);
        socket.getOutputStream().write(message);
        String answer =
            new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
        assertTrue(answer.startsWith("HTTP/1.1 " + each.getValue()), answer);
        assertTrue(answer.contains("application/problem+json"), answer);
        assertTrue(answer.contains("\"reason\":\"malformed-request\""), answer);
      }
    }
  }

  @Test
  void usagePage_allowsNoFrameNoBaseAndNoGuessedType() throws Exception {
    HttpResponse<String> page = Reports.get(reports.one, "/");
    String policy = page.headers().firstValue("Content-Security-Policy").orElse("");
    assertTrue(policy.contains("frame-ancestors 'none'"), policy);
    assertTrue(policy.contains("base-uri 'none'"), policy);
    assertEquals("nosniff", page.headers().firstValue("X-Content-Type-Options").orElse(""));
  }

  @Test
  void completenessAndMetrics_showTheEquation() throws Exception {
    String client = Calls.clientOf("equation", 3, PARTITIONS);
    String position = send(3, client, 2, 2);
    Reports.document(reports.one, "/v1/usage?client=" + client, "Usage-Position", position);

    for (Aggregator aggregator : reports.both()) {
      JsonNode document = Reports.whole(aggregator, "/v1/completeness");
      assertEquals(PARTITIONS, document.path("partitions").size(), document.toString());
      JsonNode counters = document.path("partitions").path(3).path("counters");
      assertEquals(
          counters.path("received").asLong(),
          counters.path("counted").asLong()
              + counters.path("duplicate").asLong()
              + counters.path("late_adjusted").asLong()
              + counters.path("quarantined").asLong());
    }
    String metrics = Reports.get(reports.one, "/metrics").body();
    String ofBoth = metrics + Reports.get(reports.two, "/metrics").body();
    assertTrue(ofBoth.contains("weir_lines_total{outcome=\"received\",partition=\"3\"}"), ofBoth);
    assertTrue(metrics.contains("weir_streams_running{application=\"meter-core\"} 1.0"), metrics);
    assertEquals(200, Reports.get(reports.one, "/health/live").statusCode());
    assertEquals(200, Reports.get(reports.one, "/health/ready").statusCode());
    assertTrue(Reports.get(reports.one, "/").body().contains("<title>Weir: usage</title>"));
  }

  @Test
  void metrics_ofLibraries_areIncluded_exceptHighCardinalityOnes() throws Exception {
    String metrics = Reports.get(reports.one, "/metrics").body();
    for (String family :
        List.of(
            "kafka_stream_alive_stream_threads{",
            "kafka_stream_thread_commit_latency_avg{",
            "kafka_stream_thread_poll_ratio{",
            "kafka_producer_record_send_rate{client_id=\"",
            "kafka_consumer_coordinator_rebalance_total{",
            "kafka_consumer_fetch_manager_fetch_latency_avg{client_id=\"weir-usage-table\"",
            "jetty_threads_current",
            "jetty_connections_current_connections",
            "jvm_memory_used_bytes",
            "jvm_gc_memory_allocated_bytes_total",
            "jvm_threads_live_threads",
            "jvm_classes_loaded_classes",
            "process_cpu_usage")) {
      assertTrue(metrics.contains("\n" + family), () -> family + " is not in " + metrics);
    }
    for (String leftOut : List.of("kafka_producer_node_", "topic=\"weir_")) {
      assertFalse(metrics.contains(leftOut), () -> leftOut + " is in " + metrics);
    }
  }

  private static void assertProblem(String field, String path) throws Exception {
    HttpResponse<String> response = Reports.get(reports.one, path);
    assertEquals(400, response.statusCode(), path);
    assertEquals(
        "application/problem+json", response.headers().firstValue("Content-Type").orElse(""));
    JsonNode problem = Reports.MAPPER.readTree(response.body());
    assertEquals(field, problem.path("field").asText(), path);
    assertEquals("invalid-parameter", problem.path("reason").asText(), path);
    String page = Reports.get(reports.one, problem.path("type").asText()).body();
    assertTrue(page.startsWith("## invalid-parameter"), page);
  }

  private static String send(int partition, String client, int allowed, int denied) {
    List<CallEvent> calls = new ArrayList<>();
    long now = System.currentTimeMillis();
    for (int i = 0; i < allowed; i++) {
      calls.add(Calls.allowed(client + i, client, 1, now));
    }
    for (int i = 0; i < denied; i++) {
      calls.add(Calls.denied(client + "d" + i, client, 1, now));
    }
    return send(partition, calls);
  }

  /** Sends one batch of a new node; returns the position of its last call. */
  private static String send(int partition, List<CallEvent> calls) {
    String node = "m" + SEQUENCE.incrementAndGet();
    broker.send(
        partition,
        new BatchHeader(node, 1, 1, calls.size(), System.currentTimeMillis(), 0, true),
        Calls.value(calls));
    broker.flush();
    return partition + ":" + node + ":1:" + calls.size();
  }

  private static List<UsageRow> usageRows(String client) throws Exception {
    List<UsageRow> rows = new ArrayList<>();
    for (ConsumerRecord<byte[], byte[]> record : broker.read(Topics.LEDGER)) {
      if (LedgerRowCodec.decode(record.value()) instanceof UsageRow row
          && row.key().client().equals(client)) {
        rows.add(row);
      }
    }
    return rows;
  }

  private static void heartbeat(int partition) {
    broker.send(
        partition,
        new BatchHeader("beat", 1, 0, 0, System.currentTimeMillis(), 0, false),
        new byte[0]);
    broker.flush();
  }
}
