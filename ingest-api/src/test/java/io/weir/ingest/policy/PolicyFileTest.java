// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.topics.model.FailureMode;
import io.weir.topics.model.KeyPart;
import io.weir.topics.model.Policy;
import io.weir.topics.model.PolicyMatch;
import io.weir.topics.model.PolicyMode;
import io.weir.topics.model.PolicySet;
import io.weir.topics.model.TokenBucketLimit;
import java.util.List;
import org.junit.jupiter.api.Test;

final class PolicyFileTest {
  private static final String LIMIT =
      "limit: {algorithm: token-bucket, capacity: 100, refill_tokens: 100, refill_period: PT1M}";

  @Test
  void parse_everyField_isRead() {
    PolicySet set =
        valid(
            """
            version: 7
            policies:
              - name: burst
                match: {client: ["*"], endpoint: ["GET /v1/*"], meter: [calls]}
                key: [client, endpoint]
                limit: {algorithm: token-bucket, capacity: 20, refill_tokens: 100, refill_period: PT1M}
                mode: shadow
                on_cache_failure: closed
            """);

    assertEquals(7, set.version());
    assertEquals(
        new Policy(
            "burst",
            new PolicyMatch(List.of("*"), List.of("GET /v1/*"), List.of("calls")),
            List.of(KeyPart.CLIENT, KeyPart.ENDPOINT),
            new TokenBucketLimit(20, 100, 60_000_000),
            PolicyMode.SHADOW,
            FailureMode.CLOSED),
        set.policies().get(0));
  }

  @Test
  void parse_leastFields_takeTheDefaults() {
    Policy policy = valid("policies:\n  - name: a\n    " + LIMIT).policies().get(0);

    assertEquals(PolicyMatch.ANY, policy.match());
    assertEquals(List.of(KeyPart.CLIENT), policy.key());
    assertEquals(PolicyMode.ENFORCE, policy.mode());
    assertEquals(FailureMode.OPEN, policy.onCacheFailure());
  }

  @Test
  void parse_bareOff_whichYamlReadsAsFalse_isOff() {
    Policy policy = valid("policies:\n  - name: a\n    mode: off\n    " + LIMIT).policies().get(0);

    assertEquals(PolicyMode.OFF, policy.mode());
  }

  @Test
  void parse_noPolicies_isValid() {
    assertEquals(0, valid("policies: []").policies().size());
  }

  @Test
  void parse_everyProblem_isNamedWithItsPlace() {
    List<String> problems =
        invalid(
            """
            policys: []
            policies:
              - match: {client: []}
                limit: {capacity: 0, refill_tokens: 1.5, refill_period: 1 minute}
              - name: b
                key: [endpoint]
                mode: enforced
                on_cache_failure: local
                limit: {algorithm: leaky-bucket, capacity: 1, refill_tokens: 1}
              - name: c
              - 7
            """);

    assertHolds(problems, "policys is not known here");
    assertHolds(problems, "policies[0].name is missing");
    assertHolds(problems, "policies[0].match.client must be a list");
    assertHolds(problems, "policies[0].limit.capacity must be an integer from 1");
    assertHolds(problems, "policies[0].limit.refill_tokens must be an integer");
    assertHolds(problems, "policies[0].limit.refill_period must be an ISO 8601 duration");
    assertHolds(problems, "policies[1].key must be [client] or [client, endpoint]");
    assertHolds(problems, "policies[1].mode must be one of enforce, shadow, off");
    assertHolds(problems, "policies[1].on_cache_failure must be one of open, closed, is 'local'");
    assertHolds(problems, "policies[1].limit.algorithm must be token-bucket");
    assertHolds(problems, "policies[1].limit.refill_period must be an ISO 8601 duration");
    assertHolds(problems, "policies[2].limit is missing");
    assertHolds(problems, "policies[3] must be a mapping");
  }

  @Test
  void parse_nameTwice_isRefused() {
    String twice = "  - name: a\n    " + LIMIT + "\n";

    assertHolds(invalid("policies:\n" + twice + twice), "policies[1].name 'a' is used twice");
  }

  @Test
  void parse_limitThatCannotBeCountedExactly_isRefused() {
    assertHolds(
        invalid(
            "policies:\n  - name: a\n    limit: {capacity: 9000000000000000, refill_tokens: 7,"
                + " refill_period: P1D}"),
        "policies[0].limit: capacity 9000000000000000");
  }

  @Test
  void parse_brokenYaml_namesTheLine() {
    assertTrue(invalid("policies:\n  - name: [").get(0).startsWith("line "));
    assertTrue(invalid("").get(0).contains("empty"));
    assertTrue(invalid("- a").get(0).contains("mapping"));
    assertTrue(invalid("policies: []\npolicies: []").get(0).contains("Duplicate"));
  }

  private static PolicySet valid(String yaml) {
    PolicyFile.Content content = PolicyFile.parse(yaml);
    return assertInstanceOf(PolicyFile.Content.Valid.class, content, content::toString).policies();
  }

  private static List<String> invalid(String yaml) {
    return assertInstanceOf(PolicyFile.Content.Invalid.class, PolicyFile.parse(yaml)).problems();
  }

  private static void assertHolds(List<String> problems, String expected) {
    assertTrue(
        problems.stream().anyMatch(problem -> problem.startsWith(expected)),
        () -> "'" + expected + "' is not among " + problems);
  }
}
