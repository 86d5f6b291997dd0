// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.topics.catalog.Topics;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.UsageKey;
import io.weir.topics.wire.PartitionAccuracyCodec;
import io.weir.topics.wire.PartitionProgressCodec;
import io.weir.topics.wire.UsageStateCodec;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Reports over a state topic into which another program has written bad records. */
final class BadStateRecordsIT {
  private static final int PARTITIONS = 2;
  private static final long WINDOW_MILLIS = 2_000;

  /** A bad record in place of a row: its kind, null for no header; and its value. */
  private record Bad(@Nullable String kind, UnaryOperator<String> value) {}

  /** Regression: after one such record, every report of its client failed with 500, permanently. */
  @Test
  void usage_badRecordInPlaceOfARow_isIncompleteAndNotNegative(@TempDir Path folder)
      throws Exception {
    Map<String, Bad> bad = new LinkedHashMap<>();
    bad.put("garbage", new Bad("usage", good -> "?"));
    bad.put("empty", new Bad("usage", good -> ""));
    bad.put("status", new Bad("usage", good -> good.replace("\"final\"", "\"finished\"")));
    bad.put("kind", new Bad("future", good -> good));
    bad.put("header", new Bad(null, good -> good));
    bad.put(
        "forged",
        new Bad(
            "usage", good -> good.replace("\"quantity\":7", "\"quantity\":" + -Long.MAX_VALUE)));
    bad.put(
        "negative", new Bad("usage", good -> good.replace("\"quantity\":7", "\"quantity\":-7")));
    bad.put("other", new Bad("usage", good -> good.replace("\"client\":\"", "\"client\":\"x")));
    try (Broker broker = new Broker(PARTITIONS);
        Reports reports = new Reports(broker, PARTITIONS, folder)) {
      String untouched = Calls.clientOf("untouched", 0, PARTITIONS);
      Map<String, Bad> ofClients = new LinkedHashMap<>();
      bad.forEach((name, one) -> ofClients.put(Calls.clientOf(name, 0, PARTITIONS), one));
      long decidedAt = System.currentTimeMillis() - 10_000;
      long from = decidedAt / WINDOW_MILLIS * WINDOW_MILLIS;
      List<CallEvent> calls = new ArrayList<>();
      calls.add(Calls.allowed("id-" + untouched, untouched, 7, decidedAt));
      for (String client : ofClients.keySet()) {
        calls.add(Calls.allowed("id-" + client, client, 7, decidedAt));
      }
      broker.send(
          0,
          new BatchHeader("node", 1, 1, calls.size(), System.currentTimeMillis(), 0, true),
          Calls.value(calls));
      broker.flush();
      for (String client : ofClients.keySet()) {
        Reports.ask(
            client + " is complete",
            () -> {
              broker.send(
                  0,
                  new BatchHeader("beat", 1, 0, 0, System.currentTimeMillis(), 0, false),
                  new byte[0]);
              broker.flush();
              return Reports.document(reports.one, query(client, from));
            },
            report -> report.at("/data/0/complete").asBoolean());
      }

      for (Map.Entry<String, Bad> one : ofClients.entrySet()) {
        replace(broker, rowKey(one.getKey(), from), one.getValue());
      }
      broker.sendState(0, PartitionProgressCodec.TYPE, PartitionProgressCodec.key(0), bytes("?"));
      broker.sendState(0, PartitionAccuracyCodec.TYPE, PartitionAccuracyCodec.key(0), bytes("?"));
      broker.sendState(0, "future", "@future/00000", bytes("?"));
      broker.flush();

      for (Aggregator aggregator : reports.both()) {
        for (String client : ofClients.keySet()) {
          JsonNode report = Reports.document(aggregator, query(client, from));
          assertFalse(report.at("/completeness/complete").asBoolean(true), report::toString);
          assertFalse(report.at("/data/0/complete").asBoolean(true), report::toString);
          assertTrue(report.at("/data/0/quantity").asLong(-1) >= 0, report::toString);
          JsonNode billed =
              Reports.document(
                  aggregator, query(client, from).replace("total&fill=zero", "billing-period"));
          assertFalse(billed.at("/completeness/complete").asBoolean(true), billed::toString);
        }
        JsonNode report = Reports.document(aggregator, query(untouched, from));
        assertTrue(report.at("/data/0/complete").asBoolean(), report::toString);
        assertEquals(7, report.at("/data/0/quantity").asLong(), report::toString);
        assertEquals(200, Reports.get(aggregator, "/metrics").statusCode());
        assertEquals(200, Reports.get(aggregator, "/v1/accuracy").statusCode());
        assertEquals(200, Reports.get(aggregator, "/v1/completeness").statusCode());
        assertEquals(200, Reports.get(aggregator, "/v1/clients?order=quantity").statusCode());
        assertEquals(
            bad.size() + 1,
            Reports.metric(aggregator, "weir_state_records_skipped_total{reason=\"malformed\"}"));
        assertEquals(
            1,
            Reports.metric(
                aggregator, "weir_state_records_skipped_total{reason=\"unknown-kind\"}"));
      }
    }
  }

  private static String query(String client, long from) {
    return "/v1/usage?window=total&fill=zero&client=%s&from=%s&to=%s"
        .formatted(client, Instant.ofEpochMilli(from), Instant.ofEpochMilli(from + WINDOW_MILLIS));
  }

  private static String rowKey(String client, long from) {
    return UsageStateCodec.prefix(new UsageKey(client, CallEvent.DEFAULT_METER, "GET /items"))
        + UsageStateCodec.start(from);
  }

  private static void replace(Broker broker, String key, Bad bad) {
    String good =
        broker.read(Topics.STATE).stream()
            .filter(record -> key.equals(new String(record.key(), StandardCharsets.UTF_8)))
            .reduce((earlier, later) -> later)
            .map(record -> new String(record.value(), StandardCharsets.UTF_8))
            .orElseThrow();
    byte[] value = bytes(bad.value().apply(good));
    if (bad.kind() == null) {
      broker.sendTo(Topics.STATE.name(), 0, bytes(key), value);
    } else {
      broker.sendState(0, bad.kind(), key, value);
    }
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
