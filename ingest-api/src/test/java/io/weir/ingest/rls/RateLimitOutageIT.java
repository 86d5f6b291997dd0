// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import static io.weir.ingest.rls.Requests.descriptor;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.Code;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.weir.testing.Await;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** The service by Envoy's deadline of 20 ms, while Redis answers and while it does not. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class RateLimitOutageIT {
  private static final ObjectMapper JSON = new ObjectMapper();

  private static final int CALLS = 200;

  private static final String POLICIES =
      """
      policies:
        - name: opens
          match: {attributes: {envoy.domain: [shop], fails: [open]}}
          limit: {algorithm: token-bucket, capacity: 1000000, refill_tokens: 1, refill_period: PT1H}
          on_cache_failure: open
        - name: closes
          match: {attributes: {envoy.domain: [shop], fails: [closed]}}
          limit: {algorithm: token-bucket, capacity: 1000000, refill_tokens: 1, refill_period: PT1H}
          on_cache_failure: closed
        - name: decides
          match: {attributes: {envoy.domain: [shop], fails: [local]}}
          key: [client, endpoint]
          limit: {algorithm: token-bucket, capacity: 2, refill_tokens: 1, refill_period: PT1H}
          on_cache_failure: local
      """;

  private static final RateLimitDescriptor OPEN = descriptor("fails", "open");
  private static final RateLimitDescriptor CLOSED = descriptor("fails", "closed");

  private RateLimitNode node;

  @BeforeAll
  void start(@TempDir Path folder) throws Exception {
    // longer than any test, so that only the service itself can answer the calls
    node = RateLimitNode.start(folder, POLICIES, Map.of("WEIR_DECISION_DEADLINE", "PT10S"));
  }

  @AfterAll
  void stop() {
    if (node != null) {
      node.redis.resume();
      node.close();
    }
  }

  /** The outcomes of calls with Envoy's deadline. */
  private record Answers(Map<Status.Code, Integer> statuses, Map<Code, Integer> verdicts) {
    int of(Status.Code status) {
      return statuses.getOrDefault(status, 0);
    }
  }

  private Answers ask(RateLimitDescriptor descriptor) {
    Answers answers = new Answers(new EnumMap<>(Status.Code.class), new EnumMap<>(Code.class));
    for (int i = 0; i < CALLS; i++) {
      try {
        Code code = node.asEnvoy().shouldRateLimit(Requests.of(descriptor)).getOverallCode();
        answers.statuses.merge(Status.Code.OK, 1, Integer::sum);
        answers.verdicts.merge(code, 1, Integer::sum);
      } catch (StatusRuntimeException failed) {
        answers.statuses.merge(failed.getStatus().getCode(), 1, Integer::sum);
      }
    }
    return answers;
  }

  /**
   * Waits for a round in which most calls are in time: a machine that is busy with other tests may
   * be late for some rounds. In each of them calls are in time or late, and nothing else.
   */
  private void awaitInTime(RateLimitDescriptor descriptor, Code verdict) throws Exception {
    Await.until(
        "most calls to be in time",
        () -> {
          Answers answers = ask(descriptor);
          int inTime = answers.of(Status.Code.OK);
          assertEquals(
              CALLS, inTime + answers.of(Status.Code.DEADLINE_EXCEEDED), answers::toString);
          assertTrue(Set.of(verdict).containsAll(answers.verdicts().keySet()), answers::toString);
          return inTime > CALLS / 2;
        });
  }

  @Test
  void calls_areAnsweredWithinEnvoysDeadline_whileRedisAnswers() throws Exception {
    awaitInTime(OPEN, Code.OK);
  }

  @Test
  void calls_areAnsweredByTheirFailureModes_withinEnvoysDeadline_whileRedisStandsStill()
      throws Exception {
    node.redis.pause();
    try {
      awaitInTime(OPEN, Code.OK);
      awaitInTime(CLOSED, Code.OVER_LIMIT);

      // decided on this node: its share holds two
      RateLimitDescriptor local = descriptor("fails", "local", "who", "grpc");
      Code first = node.patient().shouldRateLimit(Requests.of(local)).getOverallCode();
      Code second = node.patient().shouldRateLimit(Requests.of(local)).getOverallCode();
      Code third = node.patient().shouldRateLimit(Requests.of(local)).getOverallCode();
      assertEquals(Code.OK, first);
      assertEquals(Code.OK, second);
      assertEquals(Code.OVER_LIMIT, third);

      assertJson(200, "OK", "open");
      assertJson(429, "OVER_LIMIT", "closed");
    } finally {
      node.redis.resume();
    }
    Await.until(
        "Redis to decide again",
        () -> node.patient().shouldRateLimit(Requests.of(CLOSED)).getOverallCode() == Code.OK);
  }

  private void assertJson(int status, String code, String fails) throws Exception {
    HttpResponse<String> answer =
        node.post(
            "/json",
            "{\"domain\":\"shop\",\"descriptors\":[{\"entries\":[{\"key\":\"fails\",\"value\":\""
                + fails
                + "\"}]}]}");
    assertEquals(status, answer.statusCode(), answer.body());
    assertEquals(code, JSON.readTree(answer.body()).path("overallCode").asText());
  }

  @Test
  void connectionThatIsGone_isDecidedByFailureModes_andIsNoFaultOfTheRequest() throws Exception {
    node.redis.kill();
    try {
      awaitInTime(CLOSED, Code.OVER_LIMIT);
      assertJson(429, "OVER_LIMIT", "closed");
    } finally {
      node.redis.restart();
    }
    Await.until(
        "Redis to decide again",
        () -> node.patient().shouldRateLimit(Requests.of(CLOSED)).getOverallCode() == Code.OK);
  }
}
