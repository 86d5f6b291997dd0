// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.healing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.cli.verify.Verification;
import io.weir.cli.verify.Verifier;
import io.weir.testing.Await;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** A call is settled: its bill, its bucket and its quota follow, once. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class SettleIT {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final List<Rule> RULES =
      List.of(
          Rule.bucket("burst", "*", 100, Duration.ofHours(1)), Rule.quota("monthly", "*", 1_000));

  private final Set<String> askedAgain = new HashSet<>();
  private final HttpClient http = HttpClient.newHttpClient();
  private final Instant begin = Instant.now().minusSeconds(3_600);
  private Fleet fleet;

  @BeforeAll
  void start(@TempDir Path folder) throws Exception {
    fleet = Fleet.start(folder, RULES, 2);
  }

  @AfterAll
  void stop() throws IOException {
    if (fleet != null) {
      fleet.close();
    }
  }

  /** A recorded call. */
  private record Called(String client, String id, String position) {}

  @Test
  void trueUp_isBilled_andTakenFromBucketAndQuota() throws Exception {
    Called call = call("up", 8, "");
    HttpResponse<String> answer = settle(0, call.client(), call.id(), 12);

    JsonNode body = JSON.readTree(answer.body());
    assertEquals(200, answer.statusCode(), answer::body);
    assertEquals(8, body.path("cost").asLong());
    assertEquals(12, body.path("actual_cost").asLong());
    assertEquals(4, body.path("difference").asLong());
    assertChanged(answer);
    assertEquals("acked", body.path("durability").asText());
    assertEquals(12, billed("up", answer));
    awaitRemaining("up", 88, 988);
  }

  @Test
  void refund_isBilled_andGivenBackToBucketAndQuota() throws Exception {
    Called call = call("refund", 8, "");
    HttpResponse<String> answer = settle(0, call.client(), call.id(), 3);

    assertEquals(200, answer.statusCode(), answer::body);
    assertEquals(3, billed("refund", answer));
    awaitRemaining("refund", 97, 997);
  }

  @Test
  void voidedCall_costsNothing() throws Exception {
    Called call = call("void", 8, "");
    HttpResponse<String> answer = settle(0, call.client(), call.id(), 0);

    assertEquals(200, answer.statusCode(), answer::body);
    assertEquals(0, billed("void", answer));
    awaitRemaining("void", 100, 1_000);
  }

  @Test
  void callSettledAtOnceThroughAnotherNode_withACallersId_isFound() throws Exception {
    for (int i = 0; i < 5; i++) {
      Called call = call("other", 2, "order/" + i);
      HttpResponse<String> answer = settle(1, call.client(), call.id(), 3);
      assertEquals(200, answer.statusCode(), answer::body);
      assertEquals(3L * (i + 1), billed("other", answer));
    }
    awaitRemaining("other", 85, 985);
  }

  @Test
  void settledTwice_countsOnce_andAnotherCostIsAConflict() throws Exception {
    Called call = call("twice", 8, "");
    HttpResponse<String> first = settle(0, call.client(), call.id(), 12);
    assertEquals(12, billed("twice", first));
    HttpResponse<String> repeated = settle(1, call.client(), call.id(), 12);
    HttpResponse<String> other = settle(1, call.client(), call.id(), 3);

    assertEquals(200, repeated.statusCode(), repeated::body);
    assertEquals(position(first), position(repeated));
    assertEquals(409, other.statusCode(), other::body);
    assertTrue(other.body().contains("actual_cost 12"), other::body);
    assertEquals(12, billed("twice", repeated));
    awaitRemaining("twice", 88, 988);
  }

  @Test
  void unchangedCost_changesNothing_andSettlesTheCall() throws Exception {
    Called call = call("same", 8, "");
    HttpResponse<String> answer = settle(0, call.client(), call.id(), 8);
    HttpResponse<String> other = settle(1, call.client(), call.id(), 3);

    assertEquals(200, answer.statusCode(), answer::body);
    assertFalse(changed(answer));
    assertEquals(409, other.statusCode(), other::body);
    assertEquals(8, billed("same", answer));
  }

  /** Regression: an earlier settlement was looked for in 16 MiB behind the call only. */
  @Test
  void settledAgain_farBehindTheCall_isAnsweredByTheFirstSettlement() throws Exception {
    Called call = call("far", 8, "");
    awaitCounted(call);
    try (CallsProducer producer = new CallsProducer(fleet.kafka(), Fleet.PARTITIONS)) {
      producer.fill("far", 32);
    }
    HttpResponse<String> first = settle(0, call.client(), call.id(), 12);
    HttpResponse<String> other = settle(1, call.client(), call.id(), 3);
    HttpResponse<String> again = settle(1, call.client(), call.id(), 12);

    assertEquals(200, first.statusCode(), first::body);
    assertChanged(first);
    assertEquals(409, other.statusCode(), other::body);
    assertTrue(other.body().contains("actual_cost 12"), other::body);
    assertEquals(200, again.statusCode(), again::body);
    assertFalse(changed(again));
    assertEquals(12, billed("far", again));
  }

  /** A call that the aggregator has refused is in the log, but was never billed. */
  @Test
  void callThatWasNotCounted_isNotCredited() throws Exception {
    try (CallsProducer producer = new CallsProducer(fleet.kafka(), Fleet.PARTITIONS)) {
      producer.batchThatIsRefused("unbilled", "u1", 8);
    }
    HttpResponse<String> answer = settle(0, "unbilled", "u1", 0);

    assertEquals(409, answer.statusCode(), answer::body);
    assertTrue(answer.body().contains("not counted"), answer::body);
    Called next = call("unbilled", 2, "");
    assertEquals(
        2,
        usage("unbilled", next.position(), "total").path("data").path(0).path("quantity").asLong());
  }

  @Test
  void unknownId_orAnotherClientsId_isNotFound() throws Exception {
    Called call = call("known", 1, "");
    Set<Integer> again = Set.of(202, 503);
    HttpResponse<String> unknown = settle(0, "known", "nobody-knows", 12, Optional.empty(), again);
    HttpResponse<String> others = settle(0, "stranger", call.id(), 12, Optional.empty(), again);

    assertEquals(404, unknown.statusCode(), unknown::body);
    assertTrue(unknown.body().contains("was recorded from"), unknown::body);
    assertEquals(404, others.statusCode(), others::body);
    assertEquals("application/problem+json", header(unknown, "Content-Type"));
  }

  @Test
  void deniedCall_isAConflict() throws Exception {
    HttpResponse<String> denied =
        post(0, "/v1/check", "{\"client\":\"deny\",\"cost\":101,\"id\":\"d\"}", Optional.empty());
    assertEquals(429, denied.statusCode(), denied::body);
    HttpResponse<String> answer = settle(0, "deny", "d", 1);

    assertEquals(409, answer.statusCode(), answer::body);
  }

  @Test
  void badRequests_areNamed() throws Exception {
    assertField("actual_cost", "{\"client\":\"a\",\"actual_cost\":-1}", "");
    assertField("client", "{\"actual_cost\":1}", "");
    assertField("peek", "{\"client\":\"a\",\"actual_cost\":1}", "?peek=true");
    assertEquals(
        413, post(0, "/v1/calls/a/settle", " ".repeat(70_000), Optional.empty()).statusCode());
  }

  @Test
  void closedWindow_isAdjusted_andVerifyFindsNoDifference() throws Exception {
    Called call = call("late", 8, "");
    Called voided = call("late", 5, "");
    awaitFinal("late");
    HttpResponse<String> answer = settle(1, call.client(), call.id(), 12);
    HttpResponse<String> voiding =
        settle(0, "late", voided.id(), 0, Optional.of(voided.position()));

    assertEquals(200, answer.statusCode(), answer::body);
    assertEquals(200, voiding.statusCode(), voiding::body);
    assertEquals(12, billed("late", voiding));
    awaitRemaining("late", 88, 988);
    JsonNode rows = usage("late", position(voiding), "total").path("data");
    assertEquals(2, rows.path(0).path("allowed").asLong(), rows::toString);
    List<JsonNode> events = events("late", position(voiding));
    assertEquals(4, events.size(), events::toString);
    assertTrue(
        events.stream()
            .flatMap(event -> event.findValues("actual_cost").stream())
            .anyMatch(cost -> cost.asLong() == 12));

    Verification verified =
        new Verifier(
                KafkaConnection.to(fleet.kafka()), Fleet.WINDOW, Topics.LATENESS, Await.TIMEOUT)
            .verify(begin, Instant.now(), null, (what, done, total) -> {});
    assertEquals(List.of(), verified.differences());
    assertTrue(verified.windows() > 0);
  }

  /** Returns all events of a client; a page may end early, when it takes too long. */
  private List<JsonNode> events(String client, String position) throws Exception {
    List<JsonNode> events = new ArrayList<>();
    String page = "";
    do {
      JsonNode document = get("/v1/usage/" + client + "/events" + page, Optional.of(position));
      document.path("data").forEach(events::add);
      page =
          document.path("has_more").asBoolean()
              ? "?page=" + document.path("next_page").asText()
              : "";
    } while (!page.isEmpty());
    return events;
  }

  private void assertField(String field, String body, String query) throws Exception {
    HttpResponse<String> answer = post(0, "/v1/calls/a/settle" + query, body, Optional.empty());
    assertEquals(400, answer.statusCode(), answer::body);
    assertEquals(field, JSON.readTree(answer.body()).path("field").asText(), answer::body);
  }

  private Called call(String client, long cost, String id) throws Exception {
    String named = id.isEmpty() ? "" : ",\"id\":\"" + id + "\"";
    HttpResponse<String> answer =
        post(
            0,
            "/v1/check",
            "{\"client\":\"" + client + "\",\"cost\":" + cost + named + "}",
            Optional.empty());
    assertEquals(200, answer.statusCode(), answer::body);
    return new Called(client, JSON.readTree(answer.body()).path("id").asText(), position(answer));
  }

  private HttpResponse<String> settle(int node, String client, String id, long actualCost)
      throws Exception {
    return settle(node, client, id, actualCost, Optional.empty());
  }

  /**
   * Settles a call that was answered, and asks again while the call has not come to Kafka, the
   * counting has not judged it, or the search was too slow.
   */
  private HttpResponse<String> settle(
      int node, String client, String id, long actualCost, Optional<String> position)
      throws Exception {
    return settle(node, client, id, actualCost, position, Set.of(202, 404, 503));
  }

  private HttpResponse<String> settle(
      int node,
      String client,
      String id,
      long actualCost,
      Optional<String> position,
      Set<Integer> again)
      throws Exception {
    String body = "{\"client\":\"" + client + "\",\"actual_cost\":" + actualCost + "}";
    List<HttpResponse<String>> answers = new ArrayList<>();
    Await.until(
        () -> "a verdict, not " + answers.get(answers.size() - 1).body(),
        () -> {
          answers.add(post(node, "/v1/calls/" + id + "/settle", body, position));
          return !again.contains(answers.get(answers.size() - 1).statusCode());
        });
    HttpResponse<String> last = answers.get(answers.size() - 1);
    if (answers.size() > 1) {
      askedAgain.add(position(last));
    }
    return last;
  }

  /** A repeated request gets the same result; only the first settlement changes the bill. */
  private void assertChanged(HttpResponse<String> answer) throws Exception {
    assertTrue(changed(answer) || askedAgain.contains(position(answer)), answer::body);
  }

  private HttpResponse<String> post(int node, String path, String body, Optional<String> position)
      throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(fleet.nodeUrls().get(node) + path))
            .POST(HttpRequest.BodyPublishers.ofString(body));
    position.ifPresent(at -> request.header("Usage-Position", at));
    return http.send(request.build(), HttpResponse.BodyHandlers.ofString());
  }

  private JsonNode get(String pathAndQuery, Optional<String> position) throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(fleet.reportsUrl() + pathAndQuery));
    position.ifPresent(at -> request.header("Usage-Position", at));
    List<HttpResponse<String>> answers = new ArrayList<>();
    // the count may be further behind than a report waits
    Await.until(
        () -> "a report, not " + answers,
        () -> {
          answers.add(http.send(request.build(), HttpResponse.BodyHandlers.ofString()));
          return answers.get(answers.size() - 1).statusCode() != 504;
        });
    HttpResponse<String> answer = answers.get(answers.size() - 1);
    assertEquals(200, answer.statusCode(), answer::body);
    return JSON.readTree(answer.body());
  }

  private JsonNode usage(String client, String position, String window) throws Exception {
    String from = URLEncoder.encode(begin.toString(), StandardCharsets.UTF_8);
    return get(
        "/v1/usage?client=" + client + "&from=" + from + "&window=" + window,
        position.isEmpty() ? Optional.empty() : Optional.of(position));
  }

  /** Returns a report that includes the settlement. */
  private long billed(String client, HttpResponse<String> settled) throws Exception {
    JsonNode rows = usage(client, position(settled), "total").path("data");
    assertEquals(1, rows.size(), rows::toString);
    return rows.path(0).path("quantity").asLong(-1);
  }

  /** A report that is asked for with the call's place waits until the call is in it. */
  private void awaitCounted(Called call) throws Exception {
    usage(call.client(), call.position(), "total");
  }

  private void awaitFinal(String client) throws Exception {
    JsonNode[] last = new JsonNode[1];
    Await.until(
        () -> client + ": " + last[0],
        () -> {
          last[0] = usage(client, "", Fleet.WINDOW.toString()).path("data");
          List<String> statuses = last[0].findValuesAsText("status");
          return !statuses.isEmpty() && statuses.stream().allMatch("final"::equals);
        });
  }

  private void awaitRemaining(String client, long burst, long monthly) throws Exception {
    String[] last = new String[1];
    Await.until(
        () -> client + " should have " + burst + " and " + monthly + ", has " + last[0],
        () -> {
          last[0] =
              post(0, "/v1/check?peek=true", "{\"client\":\"" + client + "\"}", Optional.empty())
                  .body();
          JsonNode limits = JSON.readTree(last[0]).path("limits");
          return limits.path(0).path("remaining").asLong(-1) == burst
              && limits.path(1).path("remaining").asLong(-1) == monthly;
        });
  }

  private static boolean changed(HttpResponse<String> answer) throws Exception {
    return JSON.readTree(answer.body()).path("changed").asBoolean();
  }

  private static String position(HttpResponse<String> answer) {
    return header(answer, "Usage-Position");
  }

  private static String header(HttpResponse<String> answer, String name) {
    return answer.headers().firstValue(name).orElse("");
  }
}
