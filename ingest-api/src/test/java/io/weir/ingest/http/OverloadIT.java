// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.testing.Await;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * A node that is offered more than it takes: the rest is answered at once, and the node stays up.
 */
@Timeout(value = 15, unit = TimeUnit.MINUTES)
final class OverloadIT {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int MAX_CALLS = 20;
  private static final int MAX_CONNECTIONS = 300;

  private final HeldNode node = new HeldNode(MAX_CALLS, Duration.ZERO, MAX_CONNECTIONS);

  @AfterEach
  void stop() {
    node.close();
  }

  private List<CompletableFuture<HttpResponse<String>>> holdAll() throws Exception {
    node.calls.hold();
    List<CompletableFuture<HttpResponse<String>>> held = new ArrayList<>();
    for (int i = 0; i < MAX_CALLS; i++) {
      held.add(node.check());
    }
    // one that is under way only could still be turned away by a stop
    Await.until("all to be held", () -> node.calls.held() == MAX_CALLS);
    return held;
  }

  private static HttpResponse<String> answer(CompletableFuture<HttpResponse<String>> call)
      throws Exception {
    Await.until("an answer", call::isDone);
    return call.join();
  }

  private void assertAllServed(List<CompletableFuture<HttpResponse<String>>> held)
      throws Exception {
    for (CompletableFuture<HttpResponse<String>> call : held) {
      assertEquals(200, answer(call).statusCode());
    }
    Await.until("none under way", () -> node.statistics.callsUnderWay() == 0);
  }

  @Test
  void callsAboveTheBound_areShedAtOnce_andTheOthersAreServed() throws Exception {
    List<CompletableFuture<HttpResponse<String>>> held = holdAll();

    for (int i = 0; i < 100; i++) {
      assertShed(node.send("/v1/check", "{\"client\":\"a\"}"));
      // nothing was parsed
      assertShed(node.send("/v1/check", "["));
      assertShed(node.send("/v1/calls/x/settle", "{}"));
    }
    assertEquals(200, node.get("/health/ready").statusCode());
    assertEquals(200, node.get("/health/live").statusCode());
    assertEquals(200, node.get("/metrics").statusCode());
    assertEquals(300, node.statistics.shed(HttpStatistics.Shed.CALLS_UNDER_WAY).count());
    assertEquals(0, node.calls.recorded());

    node.calls.letGo();
    assertAllServed(held);
    assertEquals(200, node.send("/v1/check", "{\"client\":\"a\"}").statusCode());
    assertEquals(MAX_CALLS + 1, node.calls.recorded());
  }

  @Test
  void shedQuestionsOfNginx_haveNoBody_soThatItKeepsTheConnection() throws Exception {
    List<CompletableFuture<HttpResponse<String>>> held = holdAll();

    HttpResponse<String> shed = node.get("/v1/authz/nginx");

    assertEquals(503, shed.statusCode());
    assertEquals("", shed.body());
    assertEquals("overloaded", shed.headers().firstValue("X-RateLimit-Reason").orElse(""));
    assertTrue(shed.headers().firstValue("Retry-After").isPresent());
    assertShed(node.get("/v1/authz/plain"));
    node.calls.letGo();
    assertAllServed(held);
  }

  @Test
  void shedCalls_ofOneConnection_closeItAfterEvery64th() throws Exception {
    List<CompletableFuture<HttpResponse<String>>> held = holdAll();
    try (RawHttp connection = node.connect()) {
      String request = "POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}";
      connection.send(request.repeat(64));
      int answers = 0;
      RawHttp.Answer answer;
      do {
        answer = connection.answer();
        assertEquals(503, answer.status());
        answers++;
      } while (!"close".equals(answer.headers().get("connection")));

      assertEquals(64, answers);
      assertTrue(connection.ends());
    }
    node.calls.letGo();
    assertAllServed(held);
  }

  @Test
  void callOfADisconnectedCaller_isUnderWayUntilRecorded() throws Exception {
    node.calls.hold();
    for (int i = 0; i < 5; i++) {
      node.connect()
          .send(
              "POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Length: 14\r\n\r\n"
                  + "{\"client\":\"a\"}")
          .close();
    }
    Await.until("five under way", () -> node.statistics.callsUnderWay() == 5);

    node.calls.letGo();
    Await.until("none under way", () -> node.statistics.callsUnderWay() == 0);
    assertEquals(5, node.calls.recorded());
  }

  @Test
  void scrapesAboveTheirBound_areShed_whileCallsAndHealthAreServed() throws Exception {
    node.holdScrapes();
    List<CompletableFuture<HttpResponse<String>>> scrapes = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      scrapes.add(node.scrapeLater());
    }
    Await.until("four scrapes under way", () -> node.scrapesUnderWay.get() == 4);

    for (int i = 0; i < 100; i++) {
      assertEquals(503, node.get("/metrics").statusCode());
    }
    assertEquals(200, node.get("/health/ready").statusCode());
    assertEquals(200, node.send("/v1/check", "{\"client\":\"a\"}").statusCode());
    assertEquals(100, node.statistics.shed(HttpStatistics.Shed.SCRAPES).count());
    assertEquals(4, node.scrapesUnderWay.get());

    node.letScrapesGo();
    assertAllServed(scrapes);
    assertEquals(200, node.get("/metrics").statusCode());
  }

  @Test
  void stop_waitsForTheCallsUnderWay() throws Exception {
    List<CompletableFuture<HttpResponse<String>>> held = holdAll();

    CompletableFuture<Void> stopping = CompletableFuture.runAsync(node::stopWithoutLettingGo);
    node.calls.letGo();

    for (CompletableFuture<HttpResponse<String>> call : held) {
      assertEquals(200, answer(call).statusCode());
    }
    Await.until("the end of the stop", stopping::isDone);
    stopping.join();
  }

  @Test
  void idleConnections_upToTheBound_doNotKeepOthersOut() throws Exception {
    List<RawHttp> idle = new ArrayList<>();
    try {
      for (int i = 0; i < MAX_CONNECTIONS + 50; i++) {
        idle.add(node.connect());
      }
      // at the bound idle connections end early, so that one that calls finds room; one that has
      // waited too long before its call ends, too, and its caller comes again
      Await.until(
          () -> "an answer while the server holds " + node.statistics.connections(),
          this::isServed);
      assertTrue(node.statistics.connections() <= MAX_CONNECTIONS);
    } finally {
      for (RawHttp connection : idle) {
        connection.close();
      }
    }
  }

  private boolean isServed() throws Exception {
    try (RawHttp connection = node.connect()) {
      connection.send("GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n");
      return connection.answer().status() == 200;
    } catch (SocketTimeoutException silent) {
      throw new AssertionError("accepted, but not answered", silent);
    } catch (IOException endedBefore) {
      return false;
    }
  }

  private static void assertShed(HttpResponse<String> answer) throws Exception {
    assertEquals(503, answer.statusCode(), answer.body());
    int retryAfter = Integer.parseInt(answer.headers().firstValue("Retry-After").orElse("none"));
    assertTrue(retryAfter >= 1 && retryAfter <= 3, () -> "Retry-After " + retryAfter);
    assertEquals(
        "application/problem+json", answer.headers().firstValue("Content-Type").orElse("none"));
    JsonNode problem = JSON.readTree(answer.body());
    assertTrue(problem.path("type").asText().endsWith("#temporary-reduced-capacity"));
    String detail = problem.path("detail").asText();
    assertTrue(detail.contains("neither decided nor recorded"), detail);
  }
}
