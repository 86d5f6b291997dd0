// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import static java.util.stream.Collectors.toSet;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.testing.Await;
import io.weir.testing.CoreSuite;
import io.weir.topics.catalog.Topics;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CloseRow;
import io.weir.topics.model.LedgerRow;
import io.weir.topics.model.UsageRow;
import io.weir.topics.wire.LedgerRowCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Both applications against a real broker. Tests share its partitions, each has its own. */
final class MeterIT {
  private static final int PARTITIONS = 4;
  private static final long WINDOW_MILLIS = 2_000;

  /** So long ago were calls decided that a promise of now closes their windows. */
  private static final long AGO_MILLIS = 20_000;

  /** Number of endpoints of each client, more than have their own rows. */
  private static final int ENDPOINTS = 7;

  private static final int MAX_ENDPOINTS = 3;

  private static Broker broker;

  @TempDir Path folder;

  @BeforeAll
  static void startBroker() throws Exception {
    broker = new Broker(PARTITIONS);
  }

  @AfterAll
  static void stopBroker() {
    broker.close();
  }

  @Test
  @CoreSuite
  void aggregator_restartedInTheMiddle_writesEveryCallOnce() throws Exception {
    String client = Calls.clientOf("acme", 0, PARTITIONS);
    long start = System.currentTimeMillis() - AGO_MILLIS;

    try (Aggregator running = Aggregator.start(config("a", folder))) {
      Await.until("ready", running::ready);
      send(0, client, 1, 50, start);
      broker.flush();
      Await.until("first batches counted", () -> statesOf(client) > 0);
    }
    send(0, client, 51, 100, start + WINDOW_MILLIS);
    broker.flush();
    try (Aggregator restarted = Aggregator.start(config("a", folder))) {
      Await.until("ready", restarted::ready);
      promise(0, 100);
      Await.until("closed", () -> closedThrough(0) > start + 2 * WINDOW_MILLIS);
      assertHeaviest(restarted, client, start);
    }

    List<UsageRow> rows = rowsOf(client);
    assertEquals(1_000, rows.stream().mapToLong(UsageRow::quantityTotal).sum());
    assertEquals(rows.size(), rows.stream().map(LedgerRow::recordId).distinct().count());
    assertTrue(rows.stream().allMatch(UsageRow::complete));
    assertRowsOfTwoWindows(rows);
    assertControlTotals(0);
  }

  @Test
  void aggregator_replayUnderAnotherName_writesTheSameRows() throws Exception {
    String client = Calls.clientOf("replay", 1, PARTITIONS);
    long start = System.currentTimeMillis() - AGO_MILLIS;
    try (Aggregator running = Aggregator.start(config("b", folder.resolve("1")))) {
      Await.until("ready", running::ready);
      send(1, client, 1, 30, start);
      promise(1, 30);
      Await.until("closed", () -> closedThrough(1) > start + WINDOW_MILLIS);
      send(1, client, 31, 31, start);
      broker.sendRaw(1, "no batch".getBytes(StandardCharsets.UTF_8));
      broker.flush();
      Await.until("adjusted", () -> rowsOf(client).stream().anyMatch(MeterIT::isAdjustment));
    }
    Map<String, Long> first = quantities(client);

    try (Aggregator again = Aggregator.start(config("c", folder.resolve("2")))) {
      Await.until("ready", again::ready);
      Await.until("all rows twice", () -> rowsOf(client).size() == 2 * first.size());
    }

    assertEquals(first, quantities(client));
    assertEquals(
        1, broker.read(Topics.QUARANTINE).stream().filter(r -> r.partition() == 1).count() / 2);
  }

  @Test
  void aggregator_killedInTheMiddle_writesEveryCallOnce() throws Exception {
    String client = Calls.clientOf("killed", 2, PARTITIONS);
    long start = System.currentTimeMillis() - AGO_MILLIS;
    AggregatorConfig config = config("k", folder);
    Process process = startProcess(config);
    try {
      send(2, client, 1, 300, start);
      broker.flush();
      Await.until("first batches counted", () -> statesOf(client) > 0);
      send(2, client, 301, 600, start + WINDOW_MILLIS);
      broker.flush();
    } finally {
      process.destroyForcibly().waitFor();
    }
    try (Aggregator restarted = Aggregator.start(config)) {
      Await.until("ready", restarted::ready);
      promise(2, 600);
      Await.until("closed", () -> closedThrough(2) > start + 2 * WINDOW_MILLIS);
    }

    List<UsageRow> rows = rowsOf(client);
    assertEquals(6_000, rows.stream().mapToLong(UsageRow::quantityTotal).sum());
    assertEquals(rows.size(), rows.stream().map(LedgerRow::recordId).distinct().count());
    assertRowsOfTwoWindows(rows);
    assertControlTotals(2);
  }

  private static Process startProcess(AggregatorConfig config) throws IOException {
    ProcessBuilder builder =
        new ProcessBuilder(
            ProcessHandle.current().info().command().orElse("java"),
            "-cp",
            System.getProperty("java.class.path"),
            AggregatorMain.class.getName());
    builder.environment().put("WEIR_KAFKA", config.kafka().bootstrapServers());
    builder.environment().put("WEIR_SINGLE_COPY", "allow");
    builder.environment().put("WEIR_DATA", config.dataFolder().toString());
    builder.environment().put("WEIR_REPORTS_PORT", "0");
    builder.environment().put("WEIR_WINDOW", config.window().toString());
    builder.environment().put("WEIR_GRACE", config.grace().toString());
    builder.environment().put("WEIR_MAX_ENDPOINTS", Integer.toString(config.maxEndpoints()));
    builder.environment().put("WEIR_INSTANCE", config.instance());
    builder.environment().put("WEIR_APPLICATION_PREFIX", config.applicationPrefix());
    return builder
        .redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
        .start();
  }

  private static boolean isAdjustment(UsageRow row) {
    return row.type() == UsageRow.Type.ADJUSTMENT;
  }

  private AggregatorConfig config(String prefix, Path data) {
    return AggregatorConfig.of(settings(prefix, data));
  }

  private Map<String, String> settings(String prefix, Path data) {
    return Map.of(
        "WEIR_SINGLE_COPY",
        "allow",
        "WEIR_KAFKA",
        broker.bootstrapServers(),
        "WEIR_DATA",
        data.toString(),
        "WEIR_REPORTS_PORT",
        "0",
        "WEIR_WINDOW",
        "PT2S",
        "WEIR_GRACE",
        "PT1S",
        "WEIR_RANKED_WINDOWS",
        "400",
        "WEIR_MAX_ENDPOINTS",
        Integer.toString(MAX_ENDPOINTS),
        "WEIR_INSTANCE",
        "it",
        "WEIR_APPLICATION_PREFIX",
        prefix + "-");
  }

  /**
   * Was a hole: reports were complete, though records had been deleted before they were counted.
   */
  @Test
  void usage_recordsDeletedWhileTheAggregatorIsStopped_isIncomplete() throws Exception {
    int partition = 3;
    String client = Calls.clientOf("deleted", partition, PARTITIONS);
    String other = Calls.clientOf("other", partition, PARTITIONS);
    long start = (System.currentTimeMillis() - AGO_MILLIS) / WINDOW_MILLIS * WINDOW_MILLIS;
    send(partition, client, 1, 10, start);
    broker.flush();
    try (Aggregator running = Aggregator.start(config("a", folder))) {
      Await.until("ready", running::ready);
      Await.until("first batches counted", () -> statesOf(client) > 0);
    }
    send(partition, client, 11, 20, start + WINDOW_MILLIS);
    broker.flush();
    broker.deleteAll(Topics.CALLS, partition);
    send(partition, client, 21, 21, start + 2 * WINDOW_MILLIS);
    promise(partition, 21);

    Map<String, String> settings = new HashMap<>(settings("a", folder));
    settings.put("WEIR_MAX_HOLD", "PT1S");
    try (Aggregator restarted = Aggregator.start(AggregatorConfig.of(settings))) {
      Await.until("ready", restarted::ready);
      String query =
          "/v1/usage?client=%s&window=total&fill=zero&from=%s&to=%s"
              .formatted(
                  other,
                  Instant.ofEpochMilli(start + WINDOW_MILLIS),
                  Instant.ofEpochMilli(start + 2 * WINDOW_MILLIS));
      JsonNode report =
          Reports.ask(
              "the window closed",
              () -> {
                promise(partition, 21);
                return Reports.document(restarted, query);
              },
              found -> found.at("/data/0/status").asText().equals("final"));
      assertFalse(report.at("/completeness/complete").asBoolean(true), report::toString);
      assertFalse(report.at("/data/0/complete").asBoolean(true), report::toString);
    }
  }

  /** The rankings, which are not stored, are what they were. */
  private static void assertHeaviest(Aggregator restarted, String client, long start)
      throws Exception {
    String query = "?order=quantity&from=" + Instant.ofEpochMilli(start);
    JsonNode clients =
        Reports.ask(
            "the heaviest client",
            () -> Reports.document(restarted, "/v1/clients" + query),
            found -> found.at("/clients/0/quantity").asLong() >= 1_000);
    assertEquals(client, clients.at("/clients/0/client").asText(), clients.toString());
    assertEquals(1_000, clients.at("/clients/0/upper_bound").asLong(), clients.toString());
    JsonNode endpoints = Reports.document(restarted, "/v1/endpoints" + query);
    long sum = 0;
    for (JsonNode endpoint : endpoints.path("endpoints")) {
      sum += endpoint.path("quantity").asLong();
      assertEquals(0, endpoint.path("error").asLong(), endpoints.toString());
    }
    assertEquals(1_000, sum, endpoints.toString());
    assertEquals("other", endpoints.at("/endpoints/0/endpoint").asText(), endpoints.toString());
    assertTrue(endpoints.at("/endpoints/0/others").asBoolean(), endpoints.toString());
  }

  /** In each window, the first endpoints have their own rows, and the rest share one row. */
  private static void assertRowsOfTwoWindows(List<UsageRow> rows) {
    assertEquals(2 * (MAX_ENDPOINTS + 1), rows.size());
    assertEquals(2, rows.stream().filter(row -> row.key().others()).count());
    assertEquals(
        Set.of("other", "GET /items/1", "GET /items/2", "GET /items/3"),
        rows.stream().limit(MAX_ENDPOINTS + 1).map(row -> row.key().endpoint()).collect(toSet()));
  }

  /** Batches of ten calls of cost 1 and of all endpoints, decided at the time given. */
  private static void send(
      int partition, String client, int firstBatch, int lastBatch, long decidedAt) {
    for (int sequence = firstBatch; sequence <= lastBatch; sequence++) {
      List<CallEvent> calls = new ArrayList<>();
      for (int i = 0; i < 10; i++) {
        String id = client + "-" + sequence + "-" + i;
        String endpoint = "GET /items/" + (sequence + i) % ENDPOINTS;
        calls.add(Calls.call(id, false, client, endpoint, 1, true, decidedAt));
      }
      broker.send(
          partition,
          Calls.batch("n" + partition, sequence, calls.size(), decidedAt, (sequence - 1) * 10L),
          Calls.value(calls));
    }
  }

  private static void promise(int partition, long sequence) {
    long now = System.currentTimeMillis();
    broker.send(
        partition,
        new BatchHeader("n" + partition, 1, sequence, 0, now, sequence * 10, false),
        new byte[0]);
    broker.flush();
  }

  private static long statesOf(String client) {
    return broker.read(Topics.STATE).stream()
        .filter(record -> new String(record.key(), StandardCharsets.UTF_8).startsWith(client))
        .count();
  }

  private static List<LedgerRow> ledger(int partition) throws MalformedRecordException {
    List<LedgerRow> rows = new ArrayList<>();
    for (ConsumerRecord<byte[], byte[]> record : broker.read(Topics.LEDGER)) {
      LedgerRow row = LedgerRowCodec.decode(record.value());
      assertEquals(record.partition(), row.inputPartition());
      if (row.inputPartition() == partition) {
        rows.add(row);
      }
    }
    return rows;
  }

  private static List<UsageRow> rowsOf(String client) throws MalformedRecordException {
    List<UsageRow> rows = new ArrayList<>();
    for (ConsumerRecord<byte[], byte[]> record : broker.read(Topics.LEDGER)) {
      if (record.key() != null
          && client.equals(new String(record.key(), StandardCharsets.UTF_8))
          && LedgerRowCodec.decode(record.value()) instanceof UsageRow row) {
        rows.add(row);
      }
    }
    return rows;
  }

  private static Map<String, Long> quantities(String client) throws MalformedRecordException {
    Map<String, Long> quantities = new TreeMap<>();
    for (UsageRow row : rowsOf(client)) {
      quantities.put(row.recordId(), row.count().quantity());
    }
    return quantities;
  }

  private static long closedThrough(int partition) throws MalformedRecordException {
    return ledger(partition).stream()
        .filter(CloseRow.class::isInstance)
        .mapToLong(row -> ((CloseRow) row).closedThroughEpochMillis())
        .max()
        .orElse(0);
  }

  private static void assertControlTotals(int partition) throws MalformedRecordException {
    long rows = 0;
    long quantity = 0;
    for (LedgerRow row : ledger(partition)) {
      if (row instanceof UsageRow usage) {
        rows++;
        quantity += usage.count().quantity();
      } else if (row instanceof CloseRow close) {
        assertEquals(rows, close.rows());
        assertEquals(quantity, close.quantityTotal());
        rows = 0;
        quantity = 0;
      }
    }
  }
}
