// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.testing.Await;
import io.weir.topics.problem.ProblemPages;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Every bad input of {@link BadBodies} and {@link BadMessages} over a real connection of its own:
 * each is refused with a problem, none is recorded, an honest caller is served after each hundred.
 * Prints how many were tried.
 */
@Timeout(value = 10, unit = TimeUnit.MINUTES)
final class BadInputTableIT {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String CHECK = "/v1/check";
  private static final String SETTLE = "/v1/calls/x/settle";
  private static final ProblemPages PAGES = ProblemPages.load();
  private static final int HONEST_EVERY = 100;

  private final List<String> wrong = new ArrayList<>();
  private int tried;
  private int honest;

  @Test
  void badInputs_areRefusedWithAReason_andNeverRecorded(@TempDir Path folder) throws Exception {
    try (TestNode node = TestNode.start(folder, Map.of())) {
      for (byte[] body : BadBodies.noChecks()) {
        tryOne(node, message(CHECK, body));
        tryOne(node, message(CHECK + "?peek=true", body));
      }
      for (byte[] body : BadBodies.noSettlements()) {
        tryOne(node, message(SETTLE, body));
      }
      for (String large :
          List.of(
              "{\"client\":\"a\",\"id\":\"" + "x".repeat(1 << 20) + "\"}",
              "{\"client\":\"" + "x".repeat(1 << 20) + "\"}",
              " ".repeat(RequestBody.MAX_BYTES + 1))) {
        byte[] body = large.getBytes(StandardCharsets.UTF_8);
        tryOne(node, message(CHECK, body));
        tryOne(node, message(SETTLE, body));
      }
      for (String message : BadMessages.all()) {
        tryOne(node, message);
      }

      System.out.printf("%,d bad inputs tried%n", tried);
      assertEquals(List.of(), wrong);
      assertEquals(honest, node.metric("weir_log_appended_calls_total"));
      // a call ends a moment after its answer
      Await.until("no call under way", () -> node.metric("weir_calls_under_way") == 0);
      Await.until("no body on its way", () -> node.metric("weir_http_incomplete_bodies") == 0);
    }
  }

  private static String message(String path, byte[] body) {
    return "POST "
        + path
        + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
        + body.length
        + "\r\n\r\n"
        + new String(body, StandardCharsets.ISO_8859_1);
  }

  private void tryOne(TestNode node, String message) throws Exception {
    tried++;
    String shown = message.substring(0, Math.min(200, message.length())).replace("\r\n", "~");
    try (RawHttp connection = node.connect()) {
      send(connection, message);
      RawHttp.Answer answer = connection.answer();
      String problem = problemOf(answer);
      if (!problem.isEmpty()) {
        wrong.add(problem + ": " + shown + " -> " + answer);
      }
    } catch (IOException unanswered) {
      wrong.add("no answer (" + unanswered + "): " + shown);
    }
    if (tried % HONEST_EVERY == 0) {
      honest++;
      assertEquals(200, node.send(node.check("{\"client\":\"honest\"}")).statusCode());
    }
  }

  private static void send(RawHttp connection, String message) throws IOException {
    try {
      connection.send(message).finish();
    } catch (IOException refusedMeanwhile) {
      // the answer to a large message may come, and the connection end, before all of it is sent
      assertTrue(message.length() > RequestBody.MAX_BYTES, refusedMeanwhile::toString);
    }
  }

  /** The errors in an answer to an invalid input; empty if there are none. */
  private static String problemOf(RawHttp.Answer answer) throws IOException {
    if (answer.status() < 400 || answer.status() >= 600 || answer.status() == 500) {
      return "status";
    }
    if (!"application/problem+json".equals(answer.headers().get("content-type"))) {
      return "content type";
    }
    if (!"no-store".equals(answer.headers().get("cache-control"))
        || !answer.headers().containsKey("date")) {
      return "headers";
    }
    JsonNode problem = JSON.readTree(answer.body());
    if (problem.path("status").asInt() != answer.status()) {
      return "status in the problem";
    }
    if (PAGES.page(problem.path("reason").asText()) == null) {
      return "reason";
    }
    int detail = problem.path("detail").asText().length();
    return detail > 5 && detail < 500 ? "" : "detail";
  }
}
