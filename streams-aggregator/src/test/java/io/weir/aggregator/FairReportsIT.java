// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.testing.Await;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Many large reports of one token, next to a report of another one. */
final class FairReportsIT {
  private static final String HEAVY_TOKEN = "weir_token_heavy";
  private static final String LIGHT_TOKEN = "weir_token_light";
  private static final String OPERATOR_TOKEN = "weir_token_operator";

  /** A row for each quarter of an hour of 100 days, in an answer of 1.4 MB. */
  private static final String HEAVY =
      "/v1/usage?client=heavy&from=2026-01-01&to=2026-04-11&fill=zero&limit=10000";

  private static final int REPORTS = 80;

  /** One turn of the other token, and answers that were on their way to this JVM. */
  private static final int MAX_PASSED = 8;

  @TempDir static Path folder;

  private static Broker broker;
  private static Aggregator aggregator;

  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  @BeforeAll
  static void start() throws Exception {
    broker = new Broker(1);
    Path tokens = folder.resolve("tokens.yml");
    Files.writeString(
        tokens,
        "tokens:\n"
            + entry("heavy", HEAVY_TOKEN)
            + entry("light", LIGHT_TOKEN)
            + entry("", OPERATOR_TOKEN));
    aggregator =
        Aggregator.start(
            AggregatorConfig.of(
                Map.of(
                    "WEIR_SINGLE_COPY",
                    "allow",
                    "WEIR_KAFKA",
                    broker.bootstrapServers(),
                    "WEIR_DATA",
                    folder.toString(),
                    "WEIR_REPORTS_PORT",
                    "0",
                    "WEIR_TOKENS_FILE",
                    tokens.toString(),
                    "WEIR_INSTANCE",
                    "fair")));
    Await.until("ready", aggregator::ready);
  }

  private static String entry(String client, String token) throws Exception {
    byte[] hash =
        MessageDigest.getInstance("SHA-256").digest(token.getBytes(StandardCharsets.UTF_8));
    return "  - {name: of-%s, sha256: '%s', scopes: [report]%s}%n"
        .formatted(
            client,
            HexFormat.of().formatHex(hash),
            client.isEmpty() ? "" : ", clients: [" + client + "]");
  }

  @AfterAll
  static void stop() {
    aggregator.close();
    broker.close();
  }

  private CompletableFuture<HttpResponse<String>> ask(String token, String path) {
    return http.sendAsync(
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + aggregator.reportsPort() + path))
            .header("Authorization", "Bearer " + token)
            .build(),
        HttpResponse.BodyHandlers.ofString());
  }

  private double cancelled() throws Exception {
    return ask(OPERATOR_TOKEN, "/metrics")
        .get()
        .body()
        .lines()
        .filter(line -> line.startsWith("weir_reports_cancelled_total "))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.indexOf(' '))))
        .sum();
  }

  /** Regression: others got two reports in ten seconds. */
  @Test
  void manyLargeReportsOfOneToken_letTheReportOfAnotherTokenPass() throws Exception {
    AtomicInteger ended = new AtomicInteger();
    List<CompletableFuture<Integer>> heavy = new ArrayList<>();
    for (int report = 0; report < REPORTS; report++) {
      heavy.add(
          ask(HEAVY_TOKEN, HEAVY)
              .thenApply(
                  answer -> {
                    if (answer.statusCode() == 200) {
                      ended.incrementAndGet();
                    }
                    return answer.statusCode();
                  }));
    }
    Await.until("the first one", () -> ended.get() > 0);

    int before = ended.get();
    assertEquals(200, ask(LIGHT_TOKEN, "/v1/usage?client=light").get().statusCode());
    int passed = ended.get() - before;

    int answered = 0;
    for (CompletableFuture<Integer> each : heavy) {
      int status = each.get();
      assertTrue(status == 200 || status == 503, () -> "status " + status);
      answered += status == 200 ? 1 : 0;
    }
    System.out.println("heavy_before=" + before + " passed=" + passed + " answered=" + answered);
    assertTrue(passed <= MAX_PASSED, () -> passed + " large reports came first");
  }

  /** Regression: the work went on for 46 s after the sockets were closed. */
  @Test
  void closedConnections_endTheirReports() throws Exception {
    List<Socket> sockets = new ArrayList<>();
    for (int report = 0; report < 30; report++) {
      Socket socket = new Socket(InetAddress.getLoopbackAddress(), aggregator.reportsPort());
      sockets.add(socket);
      String request =
          "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n"
              .formatted(HEAVY, HEAVY_TOKEN);
      socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
    }
    for (Socket socket : sockets) {
      socket.close();
    }
    Await.until("a cancelled report", () -> cancelled() > 0);
  }
}
