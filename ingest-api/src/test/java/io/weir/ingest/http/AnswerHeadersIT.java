// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.testing.Await;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The header fields of answers for caches, clocks and clients that used a wrong method. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class AnswerHeadersIT {
  private TestNode node;

  @BeforeAll
  void start(@TempDir Path folder) throws Exception {
    Path policies = folder.resolve("one.yml");
    Files.writeString(
        policies,
        """
        policies:
          - name: slow
            match: {endpoint: ["GET /slow"]}
            limit: {algorithm: token-bucket, capacity: 10, refill_tokens: 1, refill_period: PT10S}
          - name: month
            match: {endpoint: ["GET /slow"]}
            limit: {algorithm: quota, limit: 1000, period: month}
        """);
    node = TestNode.start(folder, Map.of("WEIR_POLICIES", policies.toString()));
  }

  @AfterAll
  void stop() {
    if (node != null) {
      node.close();
    }
  }

  private RawHttp.Answer ask(String method, String path, String body) throws Exception {
    try (RawHttp connection = node.connect()) {
      return connection
          .send(
              String.format(
                  Locale.ROOT,
                  "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s",
                  method,
                  path,
                  body.length(),
                  body))
          .answer();
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "POST | /v1/check          | {\"client\":\"a\"}                            | 200",
        "POST | /v1/check?peek=true| {\"client\":\"a\"}                            | 200",
        "POST | /v1/check          | {\"client\":\"a\",\"endpoint\":\"GET /slow\",\"cost\":11} | 429",
        "POST | /v1/check          | {}                                            | 400",
        "POST | /v1/calls/x/settle | {\"client\":\"a\",\"actual_cost\":1}          | 404",
        "GET  | /nowhere           | {}                                            | 404",
        "GET  | /v1/check          | {}                                            | 405",
        "GET  | /health/live       | {}                                            | 200",
        "GET  | /health/ready      | {}                                            | 200",
        "GET  | /metrics           | {}                                            | 200"
      })
  void answers_areNotCacheable_andHaveADate(String method, String path, String body, int status)
      throws Exception {
    List<RawHttp.Answer> answers = new ArrayList<>();
    // the first search for a call, and the first readiness, may take longer than an answer waits
    Await.until(
        () -> "another answer than " + answers,
        () -> {
          answers.add(ask(method, path, body));
          return answers.get(answers.size() - 1).status() != 503;
        });
    RawHttp.Answer answer = answers.get(answers.size() - 1);

    assertEquals(status, answer.status(), answer.toString());
    assertEquals("no-store", answer.headers().get("cache-control"));
    assertTrue(String.valueOf(answer.headers().get("date")).endsWith(" GMT"), answer.toString());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "GET     | /v1/check          | POST, OPTIONS",
        "BREW    | /v1/check          | POST, OPTIONS",
        "DELETE  | /v1/calls/x/settle | POST, OPTIONS",
        "POST    | /health/live       | GET, HEAD, OPTIONS",
        "PUT     | /metrics           | GET, HEAD, OPTIONS"
      })
  void wrongMethod_is405_withTheAllowedOnes(String method, String path, String allowed)
      throws Exception {
    RawHttp.Answer answer = ask(method, path, "");

    assertEquals(405, answer.status(), answer.toString());
    assertEquals(allowed, answer.headers().get("allow"));
    assertEquals("application/problem+json", answer.headers().get("content-type"));
  }

  @Test
  void problem_typeLeadsToItsPage() throws Exception {
    RawHttp.Answer refused = ask("POST", "/v1/check", "{\"client\":\"a\",\"endpont\":\"GET /x\"}");
    JsonNode problem = new ObjectMapper().readTree(refused.body());

    RawHttp.Answer page = ask("GET", problem.path("type").asText(), "");

    assertEquals(400, refused.status(), refused.toString());
    assertEquals("unknown-member", problem.path("reason").asText());
    assertEquals("endpont", problem.path("field").asText());
    assertEquals(200, page.status(), page.toString());
    assertTrue(page.body().startsWith("## unknown-member"), page.body());
    assertEquals(404, ask("GET", "/problems/none-such", "").status());
  }

  @Test
  void denied_noLimitShowsAResetLaterThanRetryAfter() throws Exception {
    RawHttp.Answer first = check("waits", 9);
    RawHttp.Answer denied = check("waits", 3);

    assertEquals(200, first.status(), first.toString());
    assertTrue(header(first, "ratelimit").startsWith("\"slow\";r=1;t=10, \"month\""));
    assertNull(first.headers().get("retry-after"));
    assertEquals(429, denied.status(), denied.toString());
    long retryAfter = Long.parseLong(header(denied, "retry-after"));
    String[] limits = header(denied, "ratelimit").split(", ", -1);
    assertEquals(2, limits.length);
    for (String limit : limits) {
      long seconds = Long.parseLong(limit.substring(limit.indexOf(";t=") + 3));
      assertTrue(seconds <= retryAfter, () -> denied.toString());
    }
  }

  private static String header(RawHttp.Answer answer, String name) {
    return Objects.requireNonNull(answer.headers().get(name), () -> name + ": " + answer);
  }

  private RawHttp.Answer check(String client, int cost) throws Exception {
    return ask(
        "POST",
        "/v1/check",
        "{\"client\":\"" + client + "\",\"endpoint\":\"GET /slow\",\"cost\":" + cost + "}");
  }
}
