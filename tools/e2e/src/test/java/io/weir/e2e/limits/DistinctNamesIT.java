// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.limits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.e2e.WeirProcess;
import io.weir.servers.testing.TestKafka;
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
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A client that calls another endpoint with another id each time, in processes of 256 MiB of heap:
 * they live, every sum is exact, and another client is answered. 10,000 through the aggregator and
 * 5,000 through ingest; in the full suite 200,000 and 20,000; with {@code -Dweir.e2e.long=true}
 * 10,000,000 and 500,000.
 */
final class DistinctNamesIT {
  private static final boolean LONG = Boolean.getBoolean("weir.e2e.long");
  private static final int FEW_CALLS = 10_000;
  private static final int MANY_CALLS =
      Integer.getInteger("weir.e2e.names", LONG ? 10_000_000 : 200_000);

  /** Default of {@code WEIR_MAX_ENDPOINTS}. */
  private static final int MAX_ENDPOINTS = 1_000;

  private static final int FEW_CHECKS = 5_000;
  private static final int MANY_CHECKS = LONG ? 500_000 : 20_000;
  private static final ObjectMapper JSON = new ObjectMapper();

  @TempDir private Path folder;
  private final HttpClient http = HttpClient.newHttpClient();

  @Test
  void aggregator_distinctEndpointsAndIds_survivesAndCountsExactly() throws Exception {
    assertCountsExactly(FEW_CALLS);
  }

  @Test
  @FullSuite(reason = "200,000 names; 10,000 always run")
  void aggregator_manyDistinctEndpointsAndIds_survivesAndCountsExactly() throws Exception {
    assertCountsExactly(MANY_CALLS);
  }

  private void assertCountsExactly(int calls) throws Exception {
    int batches = calls / InventedCalls.LINES_A_BATCH;
    long decidedAt = System.currentTimeMillis() - Duration.ofHours(2).toMillis();
    try (TestKafka kafka = TestKafka.borrow();
        TopicAdmin topics = TopicAdmin.connect(KafkaConnection.to(kafka.bootstrapServers()))) {
      topics.createMissing(1, Optional.empty());
      new InventedCalls(decidedAt).write(kafka.bootstrapServers(), batches);
      Path data = folder.resolve("aggregator");
      long begun = System.nanoTime();
      try (WeirProcess aggregator =
              WeirProcess.startSmall(folder, environment(kafka, data), "256m", "aggregate");
          LedgerSums ledger = new LedgerSums(kafka.bootstrapServers())) {
        String reports =
            "http://127.0.0.1:" + aggregator.awaitLine("aggregator is up, reports on port ");
        while (!ledger.isClosedThrough(decidedAt)) {
          assertTrue(aggregator.isAlive(), aggregator::errors);
          awaitMoreCounted(reports, ledger, decidedAt);
        }
        System.out.printf(
            "%,d calls of as many endpoints and ids counted and closed in %d s; heap in use %,.0f"
                + " MB, files of the aggregator %,d MB%n",
            calls,
            Duration.ofNanos(System.nanoTime() - begun).toSeconds(),
            heapMegabytes(reports),
            sizeMegabytes(data));

        assertEquals(MAX_ENDPOINTS + 1, ledger.inventorRows(), "and one of all others");
        assertEquals(calls - batches, ledger.inventorQuantity());
        assertEquals(batches, ledger.otherQuantity());
        // the day may have ended since, which is where a report begins unless asked otherwise
        String from = "&from=" + Instant.ofEpochMilli(decidedAt).truncatedTo(ChronoUnit.HOURS);
        assertEquals(batches, total(reports, from, InventedCalls.OTHER));
        assertEquals(calls - batches, total(reports, from, InventedCalls.INVENTOR));
        assertByEndpointIsAnsweredOrRefused(reports, from);
        assertEquals(batches, total(reports, from, InventedCalls.OTHER));
        assertTrue(aggregator.isAlive(), aggregator::errors);
      }
    }
  }

  /** Waits until another line is counted, another row is written, or everything is closed. */
  private void awaitMoreCounted(String reports, LedgerSums ledger, long decidedAt)
      throws Exception {
    double counted = metric(reports, "weir_lines_total");
    long rows = ledger.inventorRows();
    Await.until(
        () -> "more than " + counted + " lines counted and " + rows + " rows written",
        () ->
            ledger.isClosedThrough(decidedAt)
                || ledger.inventorRows() > rows
                || metric(reports, "weir_lines_total") > counted);
  }

  private static Map<String, String> environment(TestKafka kafka, Path data) {
    return Map.of(
        "WEIR_SINGLE_COPY",
        "allow",
        "WEIR_KAFKA",
        kafka.bootstrapServers(),
        "WEIR_DATA",
        data.toString(),
        "WEIR_REPORTS_PORT",
        "0",
        "WEIR_GRACE",
        "PT0S");
  }

  private HttpResponse<String> report(String reports, String query) throws Exception {
    return http.send(
        HttpRequest.newBuilder(URI.create(reports + "/v1/usage?" + query)).build(),
        HttpResponse.BodyHandlers.ofString());
  }

  private long total(String reports, String from, String client) throws Exception {
    long begun = System.nanoTime();
    List<JsonNode> answers = new ArrayList<>();
    // a report does not wait for long until it has caught up, and says so
    Await.until(
        () -> "a report that is up to date, not " + answers,
        () -> {
          HttpResponse<String> answer =
              report(reports, "window=total&status=any&client=" + client + from);
          assertEquals(200, answer.statusCode(), answer.body());
          answers.clear();
          answers.add(JSON.readTree(answer.body()));
          return answers.get(0).at("/completeness/up_to_date").asBoolean();
        });
    System.out.printf(
        "total of %s after %d ms%n",
        client, TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun));
    return answers.get(0).path("data").path(0).path("quantity").asLong();
  }

  /** A page, or a problem that says what to do; never the end of the process. */
  private void assertByEndpointIsAnsweredOrRefused(String reports, String from) throws Exception {
    HttpResponse<String> answer =
        report(
            reports,
            "window=total&status=any&group_by=endpoint&limit=1000&client="
                + InventedCalls.INVENTOR
                + from);
    System.out.printf("by endpoint: %d %s%n", answer.statusCode(), begin(answer.body()));
    if (answer.statusCode() == 200) {
      assertEquals(1_000, JSON.readTree(answer.body()).path("data").size());
    } else {
      JsonNode problem = JSON.readTree(answer.body());
      assertTrue(answer.statusCode() < 500, answer::body);
      assertTrue(problem.path("detail").asText().length() > 10, answer::body);
    }
  }

  private static String begin(String text) {
    return text.substring(0, Math.min(200, text.length()));
  }

  private double heapMegabytes(String reports) throws Exception {
    return metric(reports, "jvm_memory_used_bytes{area=\"heap\"") / 1e6;
  }

  /** The sum of a metric over its labels that begin so. */
  private double metric(String reports, String begin) throws Exception {
    return http.send(
            HttpRequest.newBuilder(URI.create(reports + "/metrics")).build(),
            HttpResponse.BodyHandlers.ofString())
        .body()
        .lines()
        .filter(line -> line.startsWith(begin))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
        .sum();
  }

  private static long sizeMegabytes(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      return files.filter(Files::isRegularFile).mapToLong(file -> file.toFile().length()).sum()
          / 1_000_000;
    }
  }

  @Test
  void ingest_distinctEndpointsAndIds_survivesAndAnswersOthers() throws Exception {
    assertAnswersOthers(FEW_CHECKS);
  }

  @Test
  @FullSuite(reason = "20,000 names; 5,000 always run")
  void ingest_manyDistinctEndpointsAndIds_survivesAndAnswersOthers() throws Exception {
    assertAnswersOthers(MANY_CHECKS);
  }

  private void assertAnswersOthers(int checks) throws Exception {
    String policies =
        """
        policies:
          - name: each
            key: [client, endpoint]
            limit: {algorithm: token-bucket, capacity: 5, refill_tokens: 5, refill_period: PT1S}
        """;
    try (SmallNode node = new SmallNode(folder, "256m", policies, Map.of())) {
      long begun = System.nanoTime();
      List<Inventor> inventors = new ArrayList<>();
      for (int i = 0; i < Inventor.THREADS; i++) {
        inventors.add(Inventor.start(node.port(), i, checks / Inventor.THREADS));
      }
      for (Inventor inventor : inventors) {
        inventor.join();
        assertEquals(200, node.check("{\"client\":\"other\"}").statusCode());
      }
      double heap = node.heapMegabytes();
      double lines = node.metric("jvm_threads_live_threads");
      System.out.printf(
          "%,d checks of as many endpoints and ids in %d s; heap in use %,.0f MB, %.0f threads%n",
          checks, Duration.ofNanos(System.nanoTime() - begun).toSeconds(), heap, lines);
      assertEquals(checks + Inventor.THREADS, node.metric("weir_log_appended_calls_total"));
      assertTrue(node.isAlive(), node::errors);
    }
  }
}
