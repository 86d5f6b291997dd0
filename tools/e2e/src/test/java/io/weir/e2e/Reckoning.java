// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.weir.testing.Await;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Compares what a {@link Caller} was told with the topics of one Kafka. Not safe for threads. */
final class Reckoning {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final HttpClient http = HttpClient.newHttpClient();
  private final Path folder;
  private final String kafka;
  private final String window;

  /**
   * One that compares nothing yet.
   *
   * @param folder where error output of {@code weir verify} is kept
   * @param kafka bootstrap servers
   * @param window of the ledger, an ISO duration
   */
  Reckoning(Path folder, String kafka, String window) {
    this.folder = folder;
    this.kafka = kafka;
    this.window = window;
  }

  /** Waits until every partition is closed through a time. */
  void awaitClosed(String reportsUrl, Instant time) throws Exception {
    HttpRequest completeness =
        HttpRequest.newBuilder(URI.create(reportsUrl + "/v1/completeness")).build();
    String[] last = new String[1];
    Await.until(
        () -> "closed through " + time + ": " + last[0],
        () -> {
          last[0] = http.send(completeness, HttpResponse.BodyHandlers.ofString()).body();
          return isClosed(JSON.readTree(last[0]).path("partitions"), time);
        });
  }

  private static boolean isClosed(JsonNode partitions, Instant time) {
    for (JsonNode partition : partitions) {
      JsonNode through = partition.path("closed_through");
      if (!through.isTextual() || !Instant.parse(through.textValue()).isAfter(time)) {
        return false;
      }
    }
    return !partitions.isEmpty();
  }

  /** Rows of usage by {@code record_id}; what is written again must say the same. */
  Map<String, JsonNode> ledgerRows() throws IOException {
    Map<String, JsonNode> rows = new HashMap<>();
    for (Recorded.Row row : Recorded.all(kafka, "weir.usage.ledger.v1")) {
      for (JsonNode line : row.lines()) {
        if (line.has("client")) {
          JsonNode content = ((ObjectNode) line.deepCopy()).without("emitted_at_ms");
          JsonNode before = rows.put(line.path("record_id").asText(), content);
          assertTrue(before == null || before.equals(content), () -> before + ", then " + content);
        }
      }
    }
    return rows;
  }

  /** No row stands in the ledger twice, as after a reset of the aggregator alone it may. */
  void assertNoRowIsWrittenAgain() throws IOException {
    Set<String> ids = new HashSet<>();
    for (Recorded.Row row : Recorded.all(kafka, "weir.usage.ledger.v1")) {
      for (JsonNode line : row.lines()) {
        assertTrue(ids.add(line.path("record_id").asText()), () -> line + " stands there twice");
      }
    }
  }

  /** Every answer is recorded once, nothing else is, and the ledger has their sums. */
  void assertLedgerHoldsEveryAnswerOnce(Caller caller) throws IOException {
    Map<String, Boolean> recorded = new HashMap<>();
    Set<String> batches = new HashSet<>();
    for (Recorded.Row row : Recorded.all(kafka, "weir.calls.v1")) {
      String batch = row.callBatch();
      if (batch == null || !batches.add(batch)) {
        continue;
      }
      for (JsonNode line : row.lines()) {
        String id = line.path("client").asText() + "/" + line.path("id").asText();
        Boolean before = recorded.put(id, line.path("allowed").asBoolean());
        assertEquals(null, before, () -> id + " is recorded twice");
      }
    }
    Map<String, Boolean> answered = caller.answered();
    answered.forEach(
        (id, allowed) ->
            assertEquals(
                allowed, recorded.get(id), () -> id + " was answered, but not recorded so"));
    int extra = recorded.size() - answered.size();
    assertTrue(
        extra <= caller.unanswered() + caller.refused(),
        () -> extra + " more calls are recorded than were sent");

    long ledgerAllowed = 0;
    long ledgerDenied = 0;
    for (JsonNode row : ledgerRows().values()) {
      ledgerAllowed += row.path("calls_allowed").asLong();
      ledgerDenied += row.path("calls_denied").asLong();
    }
    long allowed = recorded.values().stream().filter(verdict -> verdict).count();
    assertEquals(allowed, ledgerAllowed);
    assertEquals(recorded.size() - allowed, ledgerDenied);
    assertTrue(ledgerDenied > 0, "the load was meant to exceed its limit");
  }

  /** {@code weir verify} finds the range closed, complete and equal. */
  void assertVerified(Instant begun, Instant ended, String... options) throws Exception {
    try (WeirProcess verify = verify(begun, ended, options)) {
      assertEquals(0, verify.awaitExit(), () -> verify.output() + verify.errors());
    }
  }

  /** {@code weir verify} finds no difference; the range need not be closed and complete. */
  void assertNoDifference(Instant begun, Instant ended, String... options) throws Exception {
    try (WeirProcess verify = verify(begun, ended, options)) {
      int status = verify.awaitExit();
      assertTrue(status == 0 || status == 3, () -> verify.output() + verify.errors());
    }
  }

  private WeirProcess verify(Instant begun, Instant ended, String... options) throws Exception {
    List<String> arguments = new ArrayList<>();
    arguments.addAll(List.of("verify", "--from", begun.minusSeconds(60).toString()));
    arguments.addAll(List.of("--to", ended.toString()));
    arguments.addAll(List.of(options));
    return WeirProcess.start(
        folder,
        Map.of("WEIR_KAFKA", kafka, "WEIR_WINDOW", window),
        arguments.toArray(String[]::new));
  }
}
