// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.testing.Await;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests that no honest client sends: each is answered clearly, and none is recorded. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 15, unit = TimeUnit.MINUTES)
final class HostileSenderIT {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String APPENDED = "weir_log_appended_calls_total";
  private static final String CHECK = "POST /v1/check HTTP/1.1\r\nHost: localhost\r\n";
  private static final String BODIES = "{part=\"body\"}";
  private static final String BODY = "{\"client\":\"honest\"}";

  private TestNode node;
  private double recordedBefore;

  @BeforeAll
  void start(@TempDir Path folder) throws Exception {
    node =
        TestNode.start(
            folder,
            Map.of(
                "WEIR_UNPROTECTED", "allow",
                "WEIR_ADMIN", "any",
                "WEIR_ADMIN_HOSTS", "weir.example,limits.example"));
  }

  @AfterAll
  void stop() {
    if (node != null) {
      node.close();
    }
  }

  @BeforeEach
  void count() throws Exception {
    recordedBefore = node.metric(APPENDED);
  }

  /** An honest caller is served, and its call is the only one that was recorded. */
  @AfterEach
  void othersAreServed() throws Exception {
    double recorded = node.metric(APPENDED);
    assertEquals(200, node.send(node.check(BODY)).statusCode());
    assertEquals(expected, recorded - recordedBefore);
    expected = 0;
  }

  /** Calls that a test's own requests record. */
  private int expected;

  /** Regression: each such request left a session in memory, for ever: they ended the process. */
  @ParameterizedTest
  @ValueSource(strings = {"/health/live", "/metrics", "/v1/check/batch", "/nowhere"})
  void webSocketHandshake_isAPlainRequest(String path) throws Exception {
    String plain = "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n";
    String handshake =
        """
        Connection: Upgrade
        Upgrade: websocket
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==
        Sec-WebSocket-Version: 13
        """
            .replace("\n", "\r\n");
    try (RawHttp connection = node.connect()) {
      RawHttp.Answer ofPlain = connection.send(plain + "\r\n").answer();
      RawHttp.Answer answer = connection.send(plain + handshake + "\r\n").answer();

      assertEquals(ofPlain.status(), answer.status(), answer::toString);
      assertEquals(ofPlain.headers().keySet(), answer.headers().keySet());
      assertEquals(ofPlain.headers().get("content-type"), answer.headers().get("content-type"));
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "400 | POST /v1/check HTTP/1.1~Content-Length: 2~~{}",
        "400 | GARBAGE~~",
        "505 | POST /v1/check HTTP/3.7~Host: localhost~~",
        "400 | POST /v1/check HTTP/1.1~Host: localhost~Content-Length: 5~Content-Length: 19~~{}",
        "400 | POST /v1/check HTTP/1.1~Host: localhost~Content-Length: -1~~{}",
        "400 | POST /v1/check HTTP/1.1~Host: localhost~Content-Length: many~~{}",
        "400 | POST /v1/check HTTP/1.1~Host: localhost~Content-Length: 99999999999999999999~~{}",
        "400 | POST /v1/check HTTP/1.1~Host: localhost~Content-Length: 4~Transfer-Encoding: chunked~~0~~",
        "400 | POST /v1/check HTTP/1.1~Host: localhost~Transfer-Encoding: chunked~~FFFFFFFFFFFFFFFFFF~{}~",
        "400 | POST /v1/check HTTP/1.1~Host: localhost~Transfer-Encoding: chunked~~xyz~{}~",
        "400 | POST /v1/check HTTP/1.1~Host: localhost~Transfer-Encoding: gzip~~{}",
        "417 | POST /v1/check HTTP/1.1~Host: localhost~Expect: a-miracle~Content-Length: 2~~{}",
        "400 | POST /v1/check HTTP/1.1~Host: localhost~Bad Header: x~~",
      })
  void message_thatIsNotHttp_isRefused_andTheConnectionEnds(int status, String message)
      throws Exception {
    try (RawHttp connection = node.connect()) {
      connection.send(message.trim().replace("~", "\r\n"));

      assertProblem(status, connection.answer());
      assertTrue(connection.ends());
    }
  }

  @Test
  void header_tooLarge_is431() throws Exception {
    try (RawHttp connection = node.connect()) {
      connection.send(CHECK + "X: " + "y".repeat(20_000) + "\r\n\r\n");

      assertProblem(431, connection.answer());
      assertTrue(connection.ends());
    }
  }

  @Test
  void uri_tooLong_is414() throws Exception {
    try (RawHttp connection = node.connect()) {
      connection.send("POST /" + "y".repeat(20_000) + " HTTP/1.1\r\nHost: localhost\r\n\r\n");

      assertProblem(414, connection.answer());
      assertTrue(connection.ends());
    }
  }

  @Test
  void method_unknown_is405() throws Exception {
    try (RawHttp connection = node.connect()) {
      for (String method : List.of("GET", "DELETE", "BREW")) {
        connection.send(method + " /v1/check HTTP/1.1\r\nHost: localhost\r\n\r\n");

        assertProblem(405, connection.answer());
      }
    }
  }

  /** Regression: a link that was only followed could settle a call. */
  @Test
  void methodOverride_isNotObeyed() throws Exception {
    try (RawHttp connection = node.connect()) {
      String override = " HTTP/1.1\r\nHost: localhost\r\nX-HTTP-Method-Override: ";
      connection.send("GET /v1/calls/nope/settle" + override + "POST\r\n\r\n");
      assertProblem(405, connection.answer());

      connection.send("GET /v1/check" + override + "POST\r\n\r\n");
      RawHttp.Answer answer = connection.answer();
      assertProblem(405, answer);
      assertEquals("POST, OPTIONS", answer.headers().get("allow"));

      String length = "\r\nContent-Length: " + BODY.length() + "\r\n\r\n";
      connection.send("POST /v1/check" + override + "DELETE" + length + BODY);
      assertEquals(200, connection.answer().status());
      expected++;
    }
  }

  @Test
  void contentLength_tooLong_isRefused_whenTheSenderEnds() throws Exception {
    try (RawHttp connection = node.connect()) {
      connection.send(CHECK + "Content-Length: 1000\r\n\r\n" + BODY).finish();

      assertProblem(400, connection.answer());
      assertTrue(connection.ends());
    }
  }

  @Test
  void contentLength_tooShort_bodyAndRestAreRefused() throws Exception {
    try (RawHttp connection = node.connect()) {
      connection.send(CHECK + "Content-Length: 5\r\n\r\n" + BODY + "\r\n\r\n");

      assertProblem(400, connection.answer());
      assertProblem(400, connection.answer());
      assertTrue(connection.ends());
    }
  }

  @Test
  void expectContinue_isAnswered100_unlessTheBodyIsTooLarge() throws Exception {
    expected = 1;
    try (RawHttp connection = node.connect()) {
      connection.send(
          CHECK + "Expect: 100-continue\r\nContent-Length: " + BODY.length() + "\r\n\r\n");
      assertEquals(100, connection.answer().status());
      connection.send(BODY);
      assertEquals(200, connection.answer().status());

      connection.send(CHECK + "Expect: 100-continue\r\nContent-Length: 1048576\r\n\r\n");
      assertProblem(413, connection.answer());
      assertTrue(connection.ends());
    }
  }

  @Test
  void body_of1MibOrWithoutEnd_is413() throws Exception {
    try (RawHttp connection = node.connect()) {
      String body = "{\"client\":\"a\",\"id\":\"" + "x".repeat(1_000_000) + "\"}";
      connection.send(CHECK + "Content-Length: " + body.length() + "\r\n\r\n" + body);
      assertProblem(413, connection.answer());
    }
    try (RawHttp connection = node.connect()) {
      connection.send(CHECK + "Transfer-Encoding: chunked\r\n\r\n");
      String chunk = "4000\r\n" + "x".repeat(0x4000) + "\r\n";
      for (int i = 0; i < 68; i++) {
        connection.send(chunk);
      }
      assertProblem(413, connection.answer());
      assertTrue(connection.ends());
    }
  }

  @Test
  void pipelinedRequests_areAnsweredInOrder() throws Exception {
    expected = 300;
    try (RawHttp connection = node.connect()) {
      StringBuilder requests = new StringBuilder();
      for (int i = 0; i < 300; i++) {
        String body = "{\"client\":\"honest\",\"id\":\"" + (1000 + i) + "\"}";
        requests.append(CHECK).append("Content-Length: ").append(body.length()).append("\r\n\r\n");
        requests.append(body);
      }
      connection.send(requests.toString());
      for (int i = 0; i < 300; i++) {
        RawHttp.Answer answer = connection.answer();
        assertEquals(200, answer.status());
        assertEquals(Integer.toString(1000 + i), JSON.readTree(answer.body()).path("id").asText());
      }
    }
  }

  @Test
  void bodyInPieces_isReadWhole() throws Exception {
    expected = 2;
    try (RawHttp connection = node.connect()) {
      connection.send(CHECK + "Content-Length: " + BODY.length() + "\r\n\r\n");
      for (int i = 0; i < BODY.length(); i++) {
        connection.send(BODY.substring(i, i + 1));
      }
      assertEquals(200, connection.answer().status());

      connection.send(CHECK + "Transfer-Encoding: chunked\r\n\r\n");
      for (int i = 0; i < BODY.length(); i++) {
        connection.send("1\r\n" + BODY.charAt(i) + "\r\n");
      }
      connection.send("0\r\n\r\n");
      assertEquals(200, connection.answer().status());
    }
  }

  /** More trickling senders than there are threads without virtual ones. */
  @Test
  void slowSenders_areAnswered408_andHoldNoThread() throws Exception {
    List<RawHttp> slow = new ArrayList<>();
    String timedOut = "weir_requests_timed_out_total";
    try {
      for (int i = 0; i < 400; i++) {
        slow.add(node.connect().send(CHECK + "Content-Length: 100\r\n\r\n{"));
        slow.add(node.connect().send(CHECK + "Transfer-Encoding: chunked\r\n\r\n5\r\n{"));
        slow.add(node.connect().send("POST /v1/check HTTP/1.1\r\nHost: loc"));
        // a byte now and then does not help
        for (RawHttp connection : slow.subList(slow.size() - 3, slow.size())) {
          connection.send(" ");
        }
      }
      assertEquals(200, node.get("/health/ready").statusCode());
      assertEquals(200, node.send(node.check(BODY)).statusCode());
      expected = 1;
      // on a machine so slow that the first have been ended by now, those count as well
      Await.until(
          "all bodies to be on their way",
          () -> node.metric("weir_http_incomplete_bodies") + node.metric(timedOut + BODIES) == 800);
      Await.until("only them", () -> node.metric("weir_calls_under_way") == 0);
      for (RawHttp connection : slow) {
        assertProblem(408, connection.answer());
        assertTrue(connection.ends());
      }
      Await.until("800 bodies", () -> node.metric(timedOut + BODIES) == 800);
      Await.until("400 headers", () -> node.metric(timedOut + "{part=\"headers\"}") == 400);
      assertEquals(800, node.metric(timedOut + BODIES));
      assertEquals(400, node.metric(timedOut + "{part=\"headers\"}"));
      assertEquals(0, node.metric("weir_http_incomplete_bodies"));
      assertEquals(0, node.metric("weir_http_incomplete_body_bytes"));
    } finally {
      for (RawHttp connection : slow) {
        connection.close();
      }
    }
  }

  /** The first bytes of such a request may arrive together with the end of the one before. */
  @Test
  void slowHead_behindAnAnsweredRequest_is408() throws Exception {
    String timedOut = "weir_requests_timed_out_total{part=\"headers\"}";
    double before = node.metric(timedOut);
    expected = 1;
    try (RawHttp connection = node.connect()) {
      String request = CHECK + "Content-Length: " + BODY.length() + "\r\n\r\n" + BODY;
      connection.send(request + "POST /v1/check HTTP/1.1\r\nX: ");
      assertEquals(200, connection.answer().status());
      Await.until(
          "the trickling head to be ended",
          () -> {
            connection.send("x");
            return node.metric(timedOut) > before;
          });

      assertProblem(408, connection.answer());
      assertTrue(connection.ends());
    }
  }

  private static void assertProblem(int status, RawHttp.Answer answer) throws IOException {
    assertEquals(status, answer.status(), answer.toString());
    assertEquals("application/problem+json", answer.headers().get("content-type"));
    assertEquals("no-store", answer.headers().get("cache-control"));
    assertTrue(answer.headers().containsKey("date"), answer.toString());
    JsonNode problem = JSON.readTree(answer.body());
    assertEquals(status, problem.path("status").asInt());
    assertTrue(problem.path("detail").asText().length() > 5, answer.body());
  }

  /**
   * Regression: a page that made its own host name resolve to the node was accepted as the node's
   * own page.
   */
  @Test
  void pageOfAHostThatIsNotKnown_createsNoKey() throws Exception {
    assertEquals(201, statusOfAPage("limits.example:8080"));
    assertEquals(201, statusOfAPage("192.0.2.7:8080"));
    assertEquals(403, statusOfAPage("evil.example:8080"));
  }

  private int statusOfAPage(String host) throws Exception {
    try (RawHttp raw = node.connect()) {
      return raw.send(
              "POST /v1/clients/page/keys HTTP/1.1\r\nHost: "
                  + host
                  + "\r\nOrigin: http://"
                  + host
                  + "\r\nContent-Length: 0\r\n\r\n")
          .answer()
          .status();
    }
  }
}
