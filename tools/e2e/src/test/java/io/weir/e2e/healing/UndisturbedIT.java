// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.healing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.servers.testing.CorrectionTopic;
import io.weir.testing.Await;
import io.weir.testing.FullSuite;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.DecidedBy;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Nothing happens: the loop must stay silent, for what it says it would also do. */
@FullSuite(
    reason =
        "a long load; in FlushIT, which always runs, what is not disturbed must stay as it is, too")
final class UndisturbedIT {
  private static final int CLIENTS = 200;
  private static final double CALLS_PER_SECOND = 1_000;
  private static final long CALLS = Lengths.of(8_000, 12_000, 600_000);

  private static final Rule BURST = Rule.bucket("burst", "*", 10, Duration.ofMillis(400));
  private static final Rule ORDERS = Rule.bucket("orders", "POST *", 3, Duration.ofSeconds(3));
  private static final Rule MONTHLY = Rule.quota("monthly", "GET *", 1_000_000);
  private static final Rule SMALL =
      Rule.quota("small", "POST *", 5).onCacheFailure("closed").onColdCacheHold();
  private static final List<Rule> RULES = List.of(BURST, ORDERS, MONTHLY, SMALL);

  @TempDir private Path folder;

  private static Load.Call call(long n) {
    String client = "client-" + n * 7 % CLIENTS;
    return new Load.Call(client, n % 3 == 0 ? "POST /v1/orders" : "GET /v1/items", 1 + n % 2);
  }

  @Test
  void undisturbedMixedLoad_noCorrectionNoDriftNoWrongDecision() throws Exception {
    try (Fleet fleet = Fleet.start(folder, RULES, 2);
        RedisEye eye = new RedisEye(fleet.redis().uri());
        CallTopic topic = new CallTopic(fleet.kafka());
        Load load = Load.on(fleet, 16, CALLS_PER_SECOND, UndisturbedIT::call)) {
      load.start();
      for (long more = CALLS; more > 0; more -= 1_000) {
        load.awaitAnswered(1_000);
      }
      load.stop();

      System.out.println("undisturbed: " + load);
      List<CallEvent> calls = topic.through(System.currentTimeMillis(), 2);
      assertTrue(load.allowed() > 0 && load.denied() > 0, load::toString);
      assertEquals(0, load.refused() + load.unanswered(), load::toString);
      assertEquals(load.answered(), calls.size());
      assertEquals(
          List.of(), calls.stream().filter(c -> c.decidedBy() != DecidedBy.CACHE).toList());
      Standing.awaitRight(new Oracle(RULES, calls), eye);
      awaitJudged(fleet, calls.size());
      assertEquals(List.of(), new CorrectionTopic(fleet.kafka(), Fleet.PARTITIONS).corrections());
    }
  }

  /** Waits until every decision has been judged, and asserts that all were right. */
  private static void awaitJudged(Fleet fleet, long calls) throws Exception {
    HttpClient http = HttpClient.newHttpClient();
    JsonNode[] last = new JsonNode[1];
    Await.until(
        () -> last[0] + ", calls are " + calls,
        () -> {
          HttpResponse<String> answer =
              http.send(
                  HttpRequest.newBuilder(URI.create(fleet.reportsUrl() + "/v1/accuracy")).build(),
                  HttpResponse.BodyHandlers.ofString());
          assertEquals(200, answer.statusCode(), answer::body);
          last[0] = new ObjectMapper().readTree(answer.body());
          return last[0].path("fleet").path("decided").asLong() >= calls;
        });
    JsonNode figures = last[0].path("fleet");
    assertEquals(0, figures.path("wrongly_admitted").asLong(-1), figures::toString);
    assertEquals(0, figures.path("wrongly_denied").asLong(-1), figures::toString);
    assertEquals(0, figures.path("drift_now").asLong(-1), figures::toString);
  }
}
