// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import static io.weir.ingest.rls.Requests.descriptor;
import static io.weir.ingest.rls.Requests.negative;
import static io.weir.ingest.rls.Requests.withHits;
import static io.weir.ingest.rls.Requests.withLimit;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.Code;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.DescriptorStatus;
import io.envoyproxy.envoy.type.v3.RateLimitUnit;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.weir.testing.Await;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** The answers of a node to hits that are given back, and the records it writes. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class NegativeHitsIT {
  private static final ObjectMapper JSON = new ObjectMapper();

  private static final String POLICIES =
      """
      policies:
        - name: ten
          match: {attributes: {envoy.domain: [shop], kind: [ten]}}
          key: [client, endpoint]
          limit: {algorithm: fixed-window, limit: 10, window: PT24H}
      """;

  private RateLimitNode node;

  @BeforeAll
  void start(@TempDir Path folder) throws Exception {
    node = RateLimitNode.start(folder, POLICIES, Map.of("WEIR_RLS_NEGATIVE_HITS", "on"));
  }

  @AfterAll
  void stop() {
    if (node != null) {
      node.close();
    }
  }

  private RateLimitResponse ask(RateLimitDescriptor... descriptors) {
    return node.patient().shouldRateLimit(Requests.of(descriptors));
  }

  /** The lines of an endpoint in their order: costs, and of settlements {@code cost→actual}. */
  private List<String> recorded(String endpoint) throws Exception {
    List<String> lines = new ArrayList<>();
    for (String line : node.recorded()) {
      JsonNode call = JSON.readTree(line);
      if (call.path("endpoint").asText().equals(endpoint) && call.path("allowed").asBoolean(true)) {
        JsonNode actual = call.findValue("actual_cost");
        lines.add(call.path("cost").asText() + (actual == null ? "" : "→" + actual.asText()));
      }
    }
    return lines;
  }

  private void awaitRecorded(String endpoint, String... lines) throws Exception {
    List<String> last = new ArrayList<>();
    Await.until(
        () -> endpoint + " should have " + List.of(lines) + ", has " + last,
        () -> {
          last.clear();
          last.addAll(recorded(endpoint));
          return last.equals(List.of(lines));
        });
  }

  private double hits(String outcome) throws Exception {
    String name = "weir_negative_hits_total{outcome=\"" + outcome + "\"} ";
    return node.metrics()
        .lines()
        .filter(line -> line.startsWith(name))
        .mapToDouble(line -> Double.parseDouble(line.substring(name.length())))
        .sum();
  }

  @Test
  void hitsOfKnownCalls_areSettled_andTheAnswerIsOk() throws Exception {
    RateLimitDescriptor asked = descriptor("kind", "ten", "who", "known");
    ask(asked);
    ask(withHits(asked, 4));
    double before = hits("settled");

    DescriptorStatus status = ask(negative(withHits(asked, 2))).getStatuses(0);
    assertEquals(Code.OK, status.getCode());
    assertEquals("ten", status.getCurrentLimit().getName());
    // no aggregator runs in this test, so no hits have returned to the bucket yet
    assertEquals(5, status.getLimitRemaining());
    awaitRecorded("shop;kind=ten;who=known", "1", "4", "1→0", "4→3");
    assertEquals(2, hits("settled") - before);
  }

  @Test
  void hitsThatNobodyKnows_areNotGivenBack_andCounted() throws Exception {
    RateLimitDescriptor asked = descriptor("kind", "ten", "who", "unknown");
    double before = hits("unknown");

    DescriptorStatus status = ask(negative(withHits(asked, 3))).getStatuses(0);
    assertEquals(Code.OK, status.getCode());
    assertEquals(10, status.getLimitRemaining());
    ask(asked);
    ask(negative(withHits(asked, 3)));
    awaitRecorded("shop;kind=ten;who=unknown", "1", "1→0");
    assertEquals(5, hits("unknown") - before);
  }

  @Test
  void deniedCallsAndThoseWithALimitOfTheirOwn_areNotGivenBack() throws Exception {
    RateLimitDescriptor asked = descriptor("kind", "ten", "who", "denied");
    assertEquals(Code.OVER_LIMIT, ask(withHits(asked, 11)).getOverallCode());
    assertEquals(Code.OK, ask(withLimit(asked, 3, RateLimitUnit.DAY)).getOverallCode());
    double before = hits("unknown");

    ask(negative(asked));
    assertEquals(1, hits("unknown") - before);
  }

  /** The answer is that of giving back, whatever is left of the limit. */
  @Test
  void giveBackOfAUsedUpLimit_isOk_besideADescriptorThatIsNot() {
    RateLimitDescriptor asked = descriptor("kind", "ten", "who", "full");
    ask(withHits(asked, 10));

    RateLimitResponse response = ask(negative(asked), asked);
    assertEquals(Code.OVER_LIMIT, response.getOverallCode());
    assertEquals(Code.OK, response.getStatuses(0).getCode());
    assertEquals(0, response.getStatuses(0).getLimitRemaining());
    assertEquals(Code.OVER_LIMIT, response.getStatuses(1).getCode());
    RateLimitResponse alone = ask(negative(asked));
    assertEquals(Code.OK, alone.getOverallCode());
    assertEquals(List.of(), alone.getResponseHeadersToAddList());
  }

  @Test
  void noNegativeHits_areAPeek() throws Exception {
    RateLimitDescriptor asked = descriptor("kind", "ten", "who", "none");
    ask(asked);

    assertEquals(9, ask(negative(withHits(asked, 0))).getStatuses(0).getLimitRemaining());
    awaitRecorded("shop;kind=ten;who=none", "1");
  }

  @Test
  void hitsBesideALimit_areAnInvalidArgument_andNothingIsGivenBack() throws Exception {
    RateLimitDescriptor asked = descriptor("kind", "ten", "who", "limit");
    ask(asked);

    Status refused =
        assertThrows(
                StatusRuntimeException.class,
                () -> ask(negative(asked), negative(withLimit(asked, 9, RateLimitUnit.DAY))))
            .getStatus();
    assertEquals(Status.Code.INVALID_ARGUMENT, refused.getCode());
    assertEquals(
        "descriptors[1].is_negative_hits must not be used together with limit: hits of such a"
            + " limit are not recorded",
        refused.getDescription());
    // the first descriptor of the refused request has given nothing back: the call is still known
    ask(negative(asked));
    awaitRecorded("shop;kind=ten;who=limit", "1", "1→0");
  }

  @Test
  void json_givesBack_whatWasChargedOverGrpc() throws Exception {
    RateLimitDescriptor asked = descriptor("kind", "ten", "who", "json");
    ask(withHits(asked, 7));
    HttpResponse<String> answer =
        node.post(
            "/json",
            """
            {"domain":"shop","descriptors":[{"entries":[{"key":"kind","value":"ten"},\
            {"key":"who","value":"json"}],"hitsAddend":7,"isNegativeHits":true}]}""");

    assertEquals(200, answer.statusCode(), answer::body);
    assertFalse(answer.body().contains("responseHeadersToAdd"), answer::body);
    assertTrue(answer.body().contains("\"code\":\"OK\""), answer::body);
    awaitRecorded("shop;kind=ten;who=json", "7", "7→0");
  }
}
