// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.weir.testing.CoreSuite;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Many checks in one request. */
@CoreSuite
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class CheckBatchIT {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String APPENDED = "weir_log_appended_calls_total";
  private static final String BATCH = "/v1/check/batch";

  private TestNode node;

  @BeforeAll
  void start(@TempDir Path folder) throws Exception {
    Path policies = folder.resolve("ten.yml");
    Files.writeString(
        policies,
        """
        policies:
          - name: ten
            match: {endpoint: ["GET *"]}
            limit: {algorithm: token-bucket, capacity: 10, refill_tokens: 1, refill_period: P1D}
        """);
    node = TestNode.start(folder, Map.of("WEIR_POLICIES", policies.toString()));
  }

  @AfterAll
  void stop() {
    if (node != null) {
      node.close();
    }
  }

  @Test
  void batch_isDecidedInOrder_eachCallByItself_andRecorded() throws Exception {
    double before = node.metric(APPENDED);
    ArrayNode batch = JSON.createArrayNode();
    for (int i = 0; i < 12; i++) {
      batch.add(check("ordered", "GET /a").put("id", "call-" + i));
    }
    batch.add(check("other", "GET /a").put("cost", 11));
    batch.add(check("free", "POST /a"));

    JsonNode results = answered(batch);

    assertEquals(14, results.size());
    Set<String> positions = new HashSet<>();
    for (int i = 0; i < 12; i++) {
      JsonNode result = results.get(i);
      assertEquals(i < 10 ? 200 : 429, result.path("status").asInt(), result::toString);
      assertEquals(i < 10, result.path("allowed").asBoolean());
      assertEquals("call-" + i, result.path("id").asText());
      assertEquals(Math.max(0, 9 - i), result.at("/limits/0/remaining").asInt(), result::toString);
      assertTrue(positions.add(result.path("usage_position").asText()), result::toString);
    }
    assertEquals("not-enough-tokens", results.get(11).path("reason").asText());
    assertEquals("cost-exceeds-capacity", results.get(12).path("reason").asText());
    assertEquals("none", results.get(13).path("decided_by").asText());
    assertFalse(results.get(13).path("id").asText().isEmpty());
    assertEquals(before + 14, node.metric(APPENDED));
  }

  @Test
  void element_notACheck_getsAProblemAtItsIndex_andTheOthersAreDecided() throws Exception {
    double before = node.metric(APPENDED);
    HttpResponse<String> answer =
        post(
            """
            [{"client":"a"}, {"cost":1}, 7, {"client":"a","cost":0,"attributes":{"x":[1,{"y":2}]}},
             {"client":"a","attributes":[{"z":[]}]}, [[{}]], {"client":"a","colour":"red","cost":1},
             {"client":"b","id":"last"}]
            """);

    assertEquals(200, answer.statusCode(), answer::body);
    JsonNode results = JSON.readTree(answer.body());
    assertEquals(8, results.size(), answer::body);
    assertEquals(200, results.get(0).path("status").asInt());
    assertProblem(results.get(1), "invalid-member", "client");
    assertProblem(results.get(2), "invalid-body", "");
    assertProblem(results.get(3), "invalid-member", "cost");
    assertProblem(results.get(4), "invalid-member", "attributes");
    assertProblem(results.get(5), "invalid-body", "");
    assertProblem(results.get(6), "unknown-member", "colour");
    assertEquals("last", results.get(7).path("id").asText());
    assertEquals(before + 2, node.metric(APPENDED));
  }

  private static void assertProblem(JsonNode result, String reason, String field) {
    assertEquals(400, result.path("status").asInt(), result::toString);
    assertEquals(reason, result.path("reason").asText(), result::toString);
    assertEquals(field, result.path("field").asText(), result::toString);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{\"client\":\"a\"}        | it is another JSON value",
        "[]                        | it has no element",
        "[{\"client\":\"a\"}       | it ends before the array does",
        "[{\"client\":\"a\"        | it ends before the array does",
        "[                         | it ends before the array does",
        "[7,{\"cost\":[1           | it ends before the array does",
        "[{\"client\":\"a\"}] 7    | there is more text after the array",
        "[{\"client\":\"a\"}] x    | it is not JSON at line 1, column 18",
        "[{\"client\":\"a\"}][]    | there is more text after the array",
        "[{\"client\":\"a\",\"client\":\"b\"}] | it has the member client twice",
        "[{\"client\" \"a\"}]      | it is not JSON at line 1",
        "7                         | it is another JSON value",
        "``                        | it is empty",
      })
  void body_thatIsNoArrayOfObjects_isRefusedAsAWhole(String body, String detail) throws Exception {
    double before = node.metric(APPENDED);

    HttpResponse<String> answer = post(body == null ? "" : body);

    assertEquals(400, answer.statusCode(), answer::body);
    assertEquals("invalid-body", JSON.readTree(answer.body()).path("reason").asText());
    assertTrue(answer.body().contains(detail), answer::body);
    assertEquals(before, node.metric(APPENDED));
  }

  @Test
  void batch_ofAThousand_isTaken_andOneMoreIsRefused() throws Exception {
    ArrayNode batch = JSON.createArrayNode();
    for (int i = 0; i < 1_000; i++) {
      batch.add(check("client-" + i, "GET /a"));
    }
    JsonNode results = answered(batch);
    assertEquals(1_000, results.size());
    for (JsonNode result : results) {
      assertEquals(200, result.path("status").asInt(), result::toString);
    }

    batch.add(check("one-more", "GET /a"));
    HttpResponse<String> refused = post(batch.toString());
    assertEquals(400, refused.statusCode());
    assertTrue(refused.body().contains("it has more than 1000 elements"), refused::body);
  }

  /**
   * Regression: half of the elements of such batches were shed one by one, under a status of 200.
   */
  @Test
  void batches_aboveTheCachesConcurrency_waitForEachOther_andAreDecidedWhole() throws Exception {
    ArrayNode batch = JSON.createArrayNode();
    for (int i = 0; i < 1_000; i++) {
      batch.add(check("crowd-" + i, "GET /a").put("cost", 11));
    }
    String body = batch.toString();
    List<CompletableFuture<HttpResponse<String>>> answers = new ArrayList<>();
    for (int i = 0; i < 12; i++) {
      answers.add(
          node.http().sendAsync(node.post(BATCH, body), HttpResponse.BodyHandlers.ofString()));
    }
    for (CompletableFuture<HttpResponse<String>> each : answers) {
      HttpResponse<String> answer = each.get();
      assertEquals(200, answer.statusCode(), answer::body);
      for (JsonNode result : JSON.readTree(answer.body())) {
        assertEquals(429, result.path("status").asInt(), result::toString);
      }
    }
  }

  @Test
  void body_ofABatch_hasALargerBoundThanThatOfACheck() throws Exception {
    String large = "x".repeat(RequestBody.MAX_BYTES);
    HttpResponse<String> taken =
        post("[{\"client\":\"a\",\"attributes\":{\"k\":\"" + large + "\"}}]");
    assertEquals(200, taken.statusCode(), taken::body);

    HttpResponse<String> refused =
        post("[{\"client\":\"a\"}" + " ".repeat(RequestBody.MAX_BATCH_BYTES) + "]");
    assertEquals(413, refused.statusCode(), refused::body);
    assertTrue(refused.body().contains("1048576 bytes"), refused::body);
  }

  /** Regression: this was routed to the batches, past the bound on how many may be under way. */
  @Test
  void path_withTrailingSlash_isNotFound() throws Exception {
    double before = node.metric(APPENDED);

    HttpResponse<String> answer = node.send(node.post(BATCH + "/", "[{\"client\":\"a\"}]"));

    assertEquals(404, answer.statusCode(), answer::body);
    assertEquals("no-such-route", JSON.readTree(answer.body()).path("reason").asText());
    assertEquals(before, node.metric(APPENDED));
  }

  @Test
  void peekParameter_ofABatch_isRefused() throws Exception {
    HttpResponse<String> answer =
        node.send(node.post(BATCH + "?peek=true", "[{\"client\":\"a\"}]"));

    assertEquals(400, answer.statusCode());
    assertEquals("peek", JSON.readTree(answer.body()).path("field").asText());
  }

  private static ObjectNode check(String client, String endpoint) {
    return JSON.createObjectNode().put("client", client).put("endpoint", endpoint);
  }

  private JsonNode answered(ArrayNode batch) throws Exception {
    HttpResponse<String> answer = post(batch.toString());
    assertEquals(200, answer.statusCode(), answer::body);
    assertEquals("application/json", answer.headers().firstValue("content-type").orElse(""));
    return JSON.readTree(answer.body());
  }

  private HttpResponse<String> post(String body) throws Exception {
    return node.send(node.post(BATCH, body));
  }
}
