// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import io.weir.testing.Await;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Answers that are not read; large ones: a thousand checks under sixteen policies, some MiB. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class SlowReadersIT {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String BATCH = "/v1/check/batch";
  private static final String NOT_READ = "weir_requests_timed_out_total{part=\"answer\"}";
  private static final int POLICIES = 16;

  /** Room for some seven answers to a batch of a thousand checks. */
  private static final long UNREAD_BYTES = 16L << 20;

  /** More than the number of places for batches; as many as a heap holds while they are decided. */
  private static final int SLOW_READERS = 80;

  private TestNode node;

  @BeforeAll
  void start(@TempDir Path folder) throws Exception {
    StringBuilder text = new StringBuilder("policies:\n");
    for (int i = 0; i < POLICIES; i++) {
      text.append("  - name: a-policy-with-a-long-name-").append(i).append('\n');
      text.append("    limit: {algorithm: token-bucket, capacity: 1000000, refill_tokens: 1,");
      text.append(" refill_period: P1D}\n");
    }
    Path policies = folder.resolve("sixteen.yml");
    Files.writeString(policies, text);
    node =
        TestNode.start(
            folder,
            Map.of(
                "WEIR_POLICIES", policies.toString(),
                "WEIR_UNREAD_MAX_BYTES", Long.toString(UNREAD_BYTES)));
  }

  @AfterAll
  void stop() {
    if (node != null) {
      node.close();
    }
  }

  /** Calls that a test left in progress do not take the processor from the next test. */
  @AfterEach
  void finish() throws Exception {
    Await.until(
        "the calls and scrapes of before to end",
        () -> node.get("/metrics").body().contains("\nweir_calls_under_way 0.0\n"));
  }

  /**
   * Once, an answer that was not read kept the place of its batch, and 64 such callers kept all
   * others' batches off the node.
   */
  @Test
  void callersThatDoNotReadAnswers_displaceEachOtherOnly() throws Exception {
    byte[] request = request(batch("slow"));
    List<Socket> slow = new ArrayList<>();
    double endedBefore = node.metric(NOT_READ);
    try {
      Await.until(
          "answers beyond the room to be ended",
          () -> {
            if (node.metric("weir_calls_under_way") < 4) {
              slow.add(slowReader(request));
            }
            return node.metric(NOT_READ) > endedBefore;
          });
      Await.until("the places to be given back", () -> node.metric("weir_calls_under_way") == 0);
      HttpResponse<String> honest = node.send(node.post(BATCH, batch("honest")));
      assertEquals(200, honest.statusCode(), honest::body);
      assertEquals(1_000, JSON.readTree(honest.body()).size());
      boolean isOneCutShort = false;
      for (int i = 0; i < slow.size() && !isOneCutShort; i++) {
        isOneCutShort = isCutShort(slow.get(i));
      }
      assertTrue(isOneCutShort, "every answer was written whole");
    } finally {
      for (Socket one : slow) {
        one.close();
      }
    }
  }

  /**
   * Once, answers of less than the kernel's buffer kept their places when others before them on the
   * same connection were not read: of batches, or of whatever the servlet answers.
   */
  @ParameterizedTest
  @ValueSource(strings = {"a batch", "GET /v1/check/batch", "GET /problems/overloaded"})
  void callersThatPipelineWithoutReading_doNotBlockOthers(String what) throws Exception {
    byte[] requests =
        what.equals("a batch")
            ? pipelined(batchOfProblems(200), 40)
            : (what + " HTTP/1.1\r\nHost: localhost\r\n\r\n")
                .repeat(4_000)
                .getBytes(StandardCharsets.US_ASCII);
    List<Socket> slow = new ArrayList<>();
    try {
      for (int i = 0; i < SLOW_READERS; i++) {
        slow.add(slowReader(requests));
      }
      Await.until("the places to be given back", () -> node.metric("weir_calls_under_way") == 0);
      HttpResponse<String> honest = node.send(node.post(BATCH, batch("honest")));
      assertEquals(200, honest.statusCode(), honest::body);
    } finally {
      for (Socket one : slow) {
        one.close();
      }
    }
  }

  /** Regression: five such callers kept everybody's scrapes off. */
  @ParameterizedTest
  @ValueSource(strings = {"GET /metrics", "POST /metrics"})
  void scrapersThatDoNotRead_doNotBlockOthers(String what) throws Exception {
    byte[] requests =
        (what + " HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .repeat(4_000)
            .getBytes(StandardCharsets.US_ASCII);
    List<Socket> slow = new ArrayList<>();
    try {
      for (int i = 0; i < 10; i++) {
        slow.add(slowReader(requests));
      }
      Await.until("a scrape", () -> node.get("/metrics").statusCode() == 200);
    } finally {
      for (Socket one : slow) {
        one.close();
      }
    }
  }

  /**
   * Regression: the checks of three such batches kept all others waiting for longer than they
   * would.
   */
  @Test
  void batchesOfManyBuckets_areDecidedWhole_andSingleChecksMeanwhile() throws Exception {
    String body = batch("many");
    List<CompletableFuture<HttpResponse<String>>> batches = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      batches.add(
          node.http().sendAsync(node.post(BATCH, body), HttpResponse.BodyHandlers.ofString()));
    }
    boolean underWay = true;
    while (underWay) {
      underWay = !batches.stream().allMatch(CompletableFuture::isDone);
      HttpResponse<String> single = node.send(node.check("{\"client\":\"single\"}"));
      assertEquals(200, single.statusCode(), single::body);
    }
    for (CompletableFuture<HttpResponse<String>> each : batches) {
      for (JsonNode result : JSON.readTree(each.get().body())) {
        assertEquals(200, result.path("status").asInt(), result::toString);
      }
    }
  }

  /** Regression: this was answered past the bound on scrapes, and timed as a call. */
  @Test
  void metrics_withTrailingSlash_isNotFound() throws Exception {
    assertEquals(404, node.get("/metrics/").statusCode());
  }

  private static String batch(String client) {
    ArrayNode batch = JSON.createArrayNode();
    for (int i = 0; i < 1_000; i++) {
      batch.addObject().put("client", client).put("endpoint", "GET /a");
    }
    return batch.toString();
  }

  private Socket slowReader(byte[] request) throws IOException {
    Socket socket = new Socket();
    socket.setReceiveBufferSize(4_096);
    socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), node.port()));
    socket.getOutputStream().write(request);
    return socket;
  }

  /** A batch whose elements are answered with problems, which together exceed the buffers. */
  private static String batchOfProblems(int size) {
    ArrayNode batch = JSON.createArrayNode();
    for (int i = 0; i < size; i++) {
      batch.addObject().put("x", i);
    }
    return batch.toString();
  }

  private static byte[] request(String body) {
    String head = "POST " + BATCH + " HTTP/1.1\r\nHost: localhost\r\nConnection: close";
    return (head + "\r\nContent-Length: " + body.length() + "\r\n\r\n" + body)
        .getBytes(StandardCharsets.US_ASCII);
  }

  /** The same request over and over, without a wait for the answers. */
  private static byte[] pipelined(String body, int times) {
    String head = "POST " + BATCH + " HTTP/1.1\r\nHost: localhost";
    return (head + "\r\nContent-Length: " + body.length() + "\r\n\r\n" + body)
        .repeat(times)
        .getBytes(StandardCharsets.US_ASCII);
  }

  private static boolean isCutShort(Socket socket) throws IOException {
    try {
      String text = new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      return !text.endsWith("]");
    } catch (SocketException reset) {
      return true;
    }
  }
}
