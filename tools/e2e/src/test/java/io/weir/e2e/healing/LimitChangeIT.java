// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.healing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.testing.Await;
import io.weir.topics.model.CallEvent;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A limit is lowered and raised by {@code PUT /v1/policies/…} while two nodes decide calls by it:
 * no call fails, the records say which version decided each, and neither change gives a second
 * burst.
 */
final class LimitChangeIT {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int CLIENTS = 10;
  private static final double CALLS_PER_SECOND = 300;
  private static final long SECONDS_OF_CALLS = (long) CALLS_PER_SECOND;
  private static final Duration IN_FORCE_WITHIN = Duration.ofSeconds(1);

  private static final long LOW = 10;
  private static final long LOW_MILLIS = 500;
  private static final long HIGH = 60;
  private static final long HIGH_MILLIS = 200;

  private static final Rule BURST = Rule.bucket("burst", "*", HIGH, Duration.ofMillis(HIGH_MILLIS));

  private final HttpClient http = HttpClient.newHttpClient();

  @TempDir private Path folder;

  private static Load.Call call(long n) {
    return new Load.Call("client-" + n % CLIENTS, "GET /v1/items", 1);
  }

  @Test
  void limitLoweredAndRaisedUnderLoad_noCallFails_andNoSecondBurst() throws Exception {
    try (Fleet fleet = Fleet.start(folder, List.of(BURST), 2);
        CallTopic topic = new CallTopic(fleet.kafka())) {
      long lowered;
      long raised;
      try (Load load = Load.on(fleet, 8, CALLS_PER_SECOND, LimitChangeIT::call)) {
        load.start().awaitAnswered(SECONDS_OF_CALLS);
        lowered = put(fleet, LOW, LOW_MILLIS);
        load.awaitAnswered(3 * SECONDS_OF_CALLS);
        raised = put(fleet, HIGH, HIGH_MILLIS);
        load.awaitAnswered(3 * SECONDS_OF_CALLS);
        load.stop();
        System.out.println("limit changed twice: " + load);
        assertEquals(0, load.refused() + load.unanswered(), load::toString);
      }
      List<CallEvent> calls =
          topic.through(System.currentTimeMillis(), 2).stream()
              .filter(call -> call.client().startsWith("client-"))
              .sorted(Comparator.comparingLong(CallEvent::decidedAtEpochMillis))
              .toList();
      long since = lastBefore(calls, lowered);
      long until = lastBefore(calls, raised);
      long raisedAt = firstBy(calls, raised);
      for (int i = 0; i < CLIENTS; i++) {
        String client = "client-" + i;
        requireBound(admitted(calls, client, lowered, since), LOW, LOW_MILLIS);
        // what was left of the lower limit is carried over, and no more
        List<Long> afterwards = admitted(calls, client, raised, until);
        assertTrue(
            afterwards.size()
                <= LOW + 1 + (afterwards.get(afterwards.size() - 1) - raisedAt) / HIGH_MILLIS,
            () -> client + " after the limit was raised: " + afterwards);
      }
    }
  }

  /**
   * Sets the limit over the first node, which decides by it when it answers, and waits for the
   * other one. Returns the version.
   */
  private long put(Fleet fleet, long capacity, long millisAToken) throws Exception {
    HttpResponse<String> answer =
        http.send(
            HttpRequest.newBuilder(URI.create(fleet.nodeUrls().get(0) + "/v1/policies/burst"))
                .header("Content-Type", "application/json")
                .PUT(
                    HttpRequest.BodyPublishers.ofString(
                        String.format(
                            "{\"limit\":{\"capacity\":%d,\"refill_tokens\":1,"
                                + "\"refill_period\":\"PT%d.%03dS\"}}",
                            capacity, millisAToken / 1_000, millisAToken % 1_000)))
                .build(),
            HttpResponse.BodyHandlers.ofString());
    assertEquals(200, answer.statusCode(), answer.body());
    long answered = System.nanoTime();
    long version = JSON.readTree(answer.body()).path("version").asLong();
    assertEquals(version, version(fleet.nodeUrls().get(0)));
    Await.until(
        "the other node to decide by version " + version,
        () -> version(fleet.nodeUrls().get(1)) == version);
    Duration taken = Duration.ofNanos(System.nanoTime() - answered);
    System.out.printf("version %d at both nodes after %d ms%n", version, taken.toMillis());
    assertTrue(!Lengths.LONG || taken.compareTo(IN_FORCE_WITHIN) <= 0, taken::toString);
    return version;
  }

  private long version(String node) throws Exception {
    HttpResponse<String> answer =
        http.send(
            HttpRequest.newBuilder(URI.create(node + "/v1/check?peek=true"))
                .POST(HttpRequest.BodyPublishers.ofString("{\"client\":\"looks\"}"))
                .build(),
            HttpResponse.BodyHandlers.ofString());
    JsonNode body = JSON.readTree(answer.body());
    return body.path("policies_version").asLong();
  }

  /** Returns when the last call was decided by an older version. */
  private static long lastBefore(List<CallEvent> calls, long version) {
    return calls.stream()
        .filter(call -> call.policiesVersion() < version)
        .mapToLong(CallEvent::decidedAtEpochMillis)
        .max()
        .orElseThrow();
  }

  /** Returns when the first call was decided by a version. */
  private static long firstBy(List<CallEvent> calls, long version) {
    return calls.stream()
        .filter(call -> call.policiesVersion() == version)
        .mapToLong(CallEvent::decidedAtEpochMillis)
        .min()
        .orElseThrow();
  }

  /** Returns when a client's calls were admitted by a version, after a time, in order. */
  private static List<Long> admitted(
      List<CallEvent> calls, String client, long version, long afterMillis) {
    List<Long> times =
        calls.stream()
            .filter(call -> call.client().equals(client) && call.allowed())
            .filter(call -> call.policiesVersion() == version)
            .map(CallEvent::decidedAtEpochMillis)
            .filter(at -> at > afterMillis)
            .toList();
    assertTrue(times.size() > 1, () -> client + " was admitted at " + times);
    return times;
  }

  /** In any interval T at most capacity + rate × T; times are known to a millisecond. */
  private static void requireBound(List<Long> times, long capacity, long millisAToken) {
    for (int from = 0; from < times.size(); from++) {
      for (int to = from; to < times.size(); to++) {
        long most = capacity + (times.get(to) - times.get(from) + 1) / millisAToken + 1;
        int count = to - from + 1;
        assertTrue(count <= most, () -> count + " admitted, " + most + " at most: " + times);
      }
    }
  }
}
