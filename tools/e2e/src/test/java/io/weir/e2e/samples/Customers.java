// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.testing.Await;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Clients that call for one period after the other, and keep what they were answered: the truth
 * that a bill must tell. Not safe for threads.
 */
final class Customers {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final HttpClient http = HttpClient.newHttpClient();
  private final String url;
  private final Duration window;
  private Instant ended;

  /**
   * Customers whose first period begins with the running window.
   *
   * @param url of the check API, without a path
   * @param window of the ledger
   */
  Customers(String url, Duration window) {
    this.url = url;
    this.window = window;
    this.ended = windowOf(Instant.now());
  }

  /** An allowed call, as it was answered. */
  record Call(String client, String meter, String id, long cost, String position) {}

  /** The allowed calls between the starts of two windows. */
  record Period(Instant from, Instant to, List<Call> calls) {
    /** Costs of a client's calls, by meter. */
    Map<String, Long> quantities(String client) {
      Map<String, Long> sums = new TreeMap<>();
      for (Call call : calls) {
        if (call.client().equals(client)) {
          sums.merge(call.meter(), call.cost(), Long::sum);
        }
      }
      return sums;
    }

    /** The first call of a client and meter. */
    Call first(String client, String meter) {
      return calls.stream()
          .filter(call -> call.client().equals(client) && call.meter().equals(meter))
          .findFirst()
          .orElseThrow();
    }
  }

  /**
   * Waits until the period before is over, lets each client call with two meters, some calls beyond
   * a limit, and ends the period with the window in which the last one was answered.
   */
  Period period(String... clients) throws Exception {
    Instant from = ended;
    Await.until("the beginning of " + from, () -> !Instant.now().isBefore(from));
    List<Call> calls = new ArrayList<>();
    boolean refused = false;
    for (int i = 0; i < 12; i++) {
      for (String client : clients) {
        refused |= !check(client, "GET /v1/limited", "calls", 1, calls);
        check(client, "GET /v1/items", "calls", 1 + i % 3, calls);
        check(client, "GET /v1/files", "bytes", 1_000_000_007L * (i + 1), calls);
      }
    }
    assertTrue(refused, "some calls were meant to be denied");
    ended = windowOf(Instant.now()).plus(window);
    return new Period(from, ended, calls);
  }

  private Instant windowOf(Instant time) {
    return Instant.ofEpochMilli(time.toEpochMilli() / window.toMillis() * window.toMillis());
  }

  private boolean check(String client, String endpoint, String meter, long cost, List<Call> calls)
      throws Exception {
    Map<String, Object> call =
        Map.of("client", client, "endpoint", endpoint, "meter", meter, "cost", cost);
    HttpResponse<String> answer = post("/v1/check", JSON.writeValueAsString(call), "");
    if (answer.statusCode() == 429) {
      return false;
    }
    assertEquals(200, answer.statusCode(), answer::body);
    String position = answer.headers().firstValue("Usage-Position").orElseThrow();
    calls.add(
        new Call(client, meter, JSON.readTree(answer.body()).path("id").asText(), cost, position));
    return true;
  }

  /** Settles a call at another cost; that is counted when this returns. */
  void settle(Call call, long actualCost) throws Exception {
    String body =
        JSON.writeValueAsString(Map.of("client", call.client(), "actual_cost", actualCost));
    String path = "/v1/calls/" + call.id() + "/settle";
    Await.until(
        () -> call + " is settled",
        () -> {
          HttpResponse<String> answer = post(path, body, call.position());
          if (answer.statusCode() == 404 || answer.statusCode() == 503) {
            return false; // not in Kafka yet, or not found in time
          }
          JsonNode told = JSON.readTree(answer.body());
          assertTrue(answer.statusCode() / 100 == 2, answer::body);
          assertEquals(actualCost - call.cost(), told.path("difference").asLong());
          return answer.statusCode() == 200;
        });
  }

  private HttpResponse<String> post(String path, String body, String position)
      throws IOException, InterruptedException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(url + path))
            .timeout(Await.TIMEOUT)
            .POST(HttpRequest.BodyPublishers.ofString(body));
    if (!position.isEmpty()) {
      request.header("Usage-Position", position);
    }
    return http.send(request.build(), HttpResponse.BodyHandlers.ofString());
  }
}
