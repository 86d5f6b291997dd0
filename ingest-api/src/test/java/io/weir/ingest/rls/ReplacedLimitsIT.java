// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import static io.weir.ingest.rls.Requests.descriptor;
import static io.weir.ingest.rls.Requests.withHits;
import static io.weir.ingest.rls.Requests.withLimit;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.Code;
import io.envoyproxy.envoy.type.v3.RateLimitUnit;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** A limit of one descriptor takes the place of that of another one in the same request. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class ReplacedLimitsIT {
  private static final String POLICIES =
      """
      policies:
        - name: reads
          match: {attributes: {envoy.domain: [shop], envoy.descriptor: [kind], kind: ["read*"]}}
          key: [client, endpoint]
          limit: {algorithm: fixed-window, limit: 2, window: PT24H}
        - name: one path
          match: {attributes: {envoy.domain: [shop], envoy.descriptor: [path], path: ["/report*"]}}
          key: [client, endpoint]
          limit: {algorithm: fixed-window, limit: 5, window: PT24H}
          replaces: [reads, everything of corp]
        - name: any path
          match: {attributes: {envoy.domain: [shop], envoy.descriptor: [path]}}
          key: [client, endpoint]
          limit: {algorithm: fixed-window, limit: 9, window: PT24H}
        - name: a path of corp
          match: {attributes: {envoy.domain: [shop], envoy.descriptor: [user_id;path]}}
          key: [client, endpoint]
          limit: {algorithm: fixed-window, limit: 8, window: PT24H}
          replaces: [everything of corp]
        - name: everything of corp
          match: {client: [corp]}
          limit: {algorithm: token-bucket, capacity: 4, refill_tokens: 1, refill_period: PT24H}
      """;

  private RateLimitNode node;

  @BeforeAll
  void start(@TempDir Path folder) throws Exception {
    node = RateLimitNode.start(folder, POLICIES, Map.of("WEIR_RLS_CLIENT_KEYS", "user_id"));
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

  private List<String> limits(RateLimitDescriptor... descriptors) {
    return ask(descriptors).getStatusesList().stream()
        .map(status -> status.getCurrentLimit().getName())
        .toList();
  }

  @Test
  void replacedLimit_isNotEvaluatedOrCharged_inThatRequest() {
    RateLimitDescriptor read = descriptor("kind", "read");
    RateLimitDescriptor report = descriptor("path", "/report");
    for (int i = 0; i < 3; i++) {
      RateLimitResponse both = ask(read, report);
      assertEquals(Code.OK, both.getOverallCode());
      assertFalse(both.getStatuses(0).hasCurrentLimit());
      assertEquals("one path", both.getStatuses(1).getCurrentLimit().getName());
      assertEquals(4 - i, both.getStatuses(1).getLimitRemaining());
    }
    // the order of the descriptors makes no difference, and a peek replaces, too
    assertEquals(List.of("one path", ""), limits(report, read));
    assertEquals(List.of("", "one path"), limits(read, withHits(report, 0)));
    // alone, or together with a path whose policy replaces nothing, the limit is unchanged
    assertEquals(1, ask(read).getStatuses(0).getLimitRemaining());
    assertEquals(List.of("reads", "any path"), limits(read, descriptor("path", "/other")));
    assertEquals(Code.OVER_LIMIT, ask(read).getOverallCode());
    // and a used-up limit does not count where it is replaced
    assertEquals(Code.OK, ask(read, report).getOverallCode());
  }

  @Test
  void policyThatIsNotForDescriptors_isReplacedInTheDescriptorItselfOnly() {
    RateLimitDescriptor corp = descriptor("user_id", "corp");
    assertEquals(
        List.of("everything of corp", "any path"), limits(corp, descriptor("path", "/mine")));
    assertEquals(
        List.of("everything of corp", "one path"), limits(corp, descriptor("path", "/report/2")));
    assertEquals(
        List.of("a path of corp"), limits(descriptor("user_id", "corp", "path", "/report/2")));
  }

  @Test
  void limitThatCameWithTheDescriptor_replacesNothing_andIsNotReplaced() {
    RateLimitDescriptor read = descriptor("kind", "read/3");
    RateLimitDescriptor report = descriptor("path", "/report/3");
    assertEquals(
        List.of("reads", "one path"),
        limits(withLimit(read, 7, RateLimitUnit.HOUR), withLimit(report, 8, RateLimitUnit.HOUR)));
    assertEquals(
        List.of("reads", "one path"), limits(withLimit(read, 6, RateLimitUnit.HOUR), report));
  }
}
