// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.servers.Ports;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The process that holds broker, ingest and aggregator is killed with -9 in the middle of a run,
 * and started again over the same data: what was answered 200 or 429 is in the ledger exactly once.
 */
@Tag("slow")
final class RestartIT {
  private static final int KILLS = 3;
  private static final int CALLS_BETWEEN_KILLS = 1_500;
  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(90);
  private static final ObjectMapper JSON = new ObjectMapper();

  @TempDir private Path folder;
  private final HttpClient http = HttpClient.newHttpClient();

  @Test
  @Timeout(value = 8, unit = TimeUnit.MINUTES)
  void up_killedInTheMiddleOfARun_countsEveryAnsweredCallExactlyOnce() throws Exception {
    int httpPort = Ports.free();
    int reportsPort = Ports.free();
    Map<String, String> environment = environment(httpPort, reportsPort);
    Caller caller = new Caller(() -> "http://127.0.0.1:" + httpPort + "/v1/check");
    Instant begun = Instant.now();

    WeirProcess weir = WeirProcess.start(folder, environment, "up");
    try {
      weir.awaitLine("weir is ready");
      caller.start();
      for (int i = 1; i <= KILLS; i++) {
        awaitAnswered(caller, caller.answeredCount() + CALLS_BETWEEN_KILLS, weir);
        weir.kill();
        weir = WeirProcess.start(folder, environment, "up");
        weir.awaitLine("weir is ready");
      }
      awaitAnswered(caller, caller.answeredCount() + CALLS_BETWEEN_KILLS, weir);
      caller.stop();

      Instant ended = Instant.now();
      awaitClosed(reportsPort, ended);
      String kafka = weir.awaitLine("Kafka      ");
      assertLedgerHoldsEveryAnswerOnce(kafka, caller);
      assertVerified(kafka, begun, ended);
      weir.terminate();
      weir.awaitExit();
    } finally {
      caller.stop();
      weir.close();
    }
  }

  private Map<String, String> environment(int httpPort, int reportsPort) throws IOException {
    Path policies = folder.resolve("policies.yml");
    Files.writeString(
        policies,
        """
        policies:
          - name: tight
            match: {endpoint: ["GET *"]}
            limit: {algorithm: token-bucket, capacity: 20, refill_tokens: 30, refill_period: PT1S}
        """);
    Map<String, String> environment = new HashMap<>();
    environment.put("WEIR_DATA", folder.resolve("data").toString());
    environment.put("WEIR_POLICIES", policies.toString());
    environment.put("WEIR_HTTP_PORT", Integer.toString(httpPort));
    environment.put("WEIR_REPORTS_PORT", Integer.toString(reportsPort));
    environment.put("WEIR_KAFKA_PORT", Integer.toString(Ports.free()));
    environment.put("WEIR_REDIS_PORT", Integer.toString(Ports.free()));
    environment.put("WEIR_WINDOW", "PT5S");
    environment.put("WEIR_GRACE", "PT2S");
    environment.put("WEIR_DECISION_DEADLINE", "PT2S");
    return environment;
  }

  private static void awaitAnswered(Caller caller, int count, WeirProcess weir)
      throws InterruptedException {
    long deadline = System.nanoTime() + PATIENCE_NANOS;
    while (caller.answeredCount() < count) {
      assertTrue(weir.isAlive(), () -> "the process ended: " + weir.errors());
      assertTrue(
          System.nanoTime() < deadline,
          () -> "only " + caller.answeredCount() + " calls answered, waiting for " + count);
      TimeUnit.MILLISECONDS.sleep(20);
    }
  }

  private void awaitClosed(int reportsPort, Instant time) throws Exception {
    long deadline = System.nanoTime() + PATIENCE_NANOS;
    String last;
    do {
      HttpResponse<String> answer =
          http.send(
              HttpRequest.newBuilder(
                      URI.create("http://127.0.0.1:" + reportsPort + "/v1/completeness"))
                  .build(),
              HttpResponse.BodyHandlers.ofString());
      last = answer.body();
      boolean closed = false;
      for (JsonNode partition : JSON.readTree(last).path("partitions")) {
        JsonNode through = partition.path("closed_through");
        closed = through.isTextual() && Instant.parse(through.textValue()).isAfter(time);
        if (!closed) {
          break;
        }
      }
      if (closed) {
        return;
      }
      TimeUnit.MILLISECONDS.sleep(100);
    } while (System.nanoTime() < deadline);
    throw new AssertionError("not closed through " + time + ": " + last);
  }

  private static void assertLedgerHoldsEveryAnswerOnce(String kafka, Caller caller)
      throws IOException {
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
        () -> extra + " calls more than anyone made are recorded");

    long ledgerAllowed = 0;
    long ledgerDenied = 0;
    for (Recorded.Row row : Recorded.all(kafka, "weir.usage.ledger.v1")) {
      for (JsonNode line : row.lines()) {
        ledgerAllowed += line.path("calls_allowed").asLong();
        ledgerDenied += line.path("calls_denied").asLong();
      }
    }
    long allowed = recorded.values().stream().filter(verdict -> verdict).count();
    assertEquals(allowed, ledgerAllowed);
    assertEquals(recorded.size() - allowed, ledgerDenied);
    assertTrue(ledgerDenied > 0, "the load was meant to exceed its limit");
  }

  private void assertVerified(String kafka, Instant begun, Instant ended) throws Exception {
    WeirProcess verify =
        WeirProcess.start(
            folder,
            Map.of("WEIR_KAFKA", kafka, "WEIR_WINDOW", "PT5S"),
            "verify",
            "--from",
            begun.minusSeconds(60).toString(),
            "--to",
            ended.plusSeconds(60).toString());
    assertEquals(0, verify.awaitExit(), () -> verify.output() + verify.errors());
    assertTrue(verify.output().contains("0 differences"), () -> verify.output().toString());
  }
}
