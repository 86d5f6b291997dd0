// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.policy.LeaseTerms;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The terms of leases in a policy file. */
final class LeaseReaderTest {
  private static final String BUCKET =
      "limit: {algorithm: token-bucket, capacity: 1000, refill_tokens: 100, refill_period: PT1M}";

  private static PolicyFile.Content parse(String limit, String lease) {
    return PolicyFile.parse("policies:\n  - name: a\n    " + limit + "\n    lease: " + lease);
  }

  private static @Nullable LeaseTerms lease(String lease) {
    return assertInstanceOf(PolicyFile.Content.Valid.class, parse(BUCKET, lease))
        .policies()
        .policies()
        .get(0)
        .lease();
  }

  private static List<String> problems(String limit, String lease) {
    return assertInstanceOf(PolicyFile.Content.Invalid.class, parse(limit, lease)).problems();
  }

  @Test
  void absent_isNone() {
    PolicyFile.Content content = PolicyFile.parse("policies:\n  - name: a\n    " + BUCKET);

    assertNull(
        assertInstanceOf(PolicyFile.Content.Valid.class, content)
            .policies()
            .policies()
            .get(0)
            .lease());
  }

  @ParameterizedTest
  @CsvSource({
    "'{tokens: 5%, for: PT0.2S}', 50, 200000",
    "'{tokens: 2.5 %, for: PT1S}', 25, 1000000",
    "'{tokens: 0.25%, for: PT0.001S}', 2, 1000",
    "'{tokens: 50%, for: PT0.000999S}', -1, 0",
    "'{tokens: 500}', 500, 200000",
    "'{tokens: 2}', 2, 200000"
  })
  void terms_areRead(String lease, long tokens, long micros) {
    if (tokens < 0) {
      assertEquals(1, problems(BUCKET, lease).size());
    } else {
      assertEquals(new LeaseTerms(tokens, micros), lease(lease));
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{for: PT0.2S}",
        "{tokens: 1}",
        "{tokens: 501}",
        "{tokens: 50.1%}",
        "{tokens: 0.1%}",
        "{tokens: -5}",
        "{tokens: 5 percent}",
        "{tokens: 5.5}",
        "{tokens: [5]}",
        "{tokens: 99999999999999999999}",
        "{tokens: 1000%}"
      })
  void tokens_outOfRange_areRefusedWithTheirPlaceAndRange(String lease) {
    List<String> problems = problems(BUCKET, lease);

    assertEquals(1, problems.size(), problems::toString);
    assertTrue(
        problems.get(0).startsWith("policies[0].lease.tokens must be a part"), problems::toString);
    assertTrue(problems.get(0).contains("500"), problems::toString);
  }

  @ParameterizedTest
  @ValueSource(strings = {"PT2S", "PT0S", "-PT0.2S", "PT0.0002S", "PT0.2000001S", "200 ms", "[]"})
  void length_outOfRange_isRefusedWithItsPlaceAndRange(String length) {
    List<String> problems = problems(BUCKET, "{tokens: 5%, for: " + length + "}");

    assertEquals(1, problems.size(), problems::toString);
    assertTrue(
        problems
            .get(0)
            .startsWith("policies[0].lease.for must be an ISO 8601 duration from PT0.001S"),
        problems::toString);
  }

  @Test
  void otherThings_areRefused() {
    assertTrue(
        problems("limit: {algorithm: quota, limit: 100, period: day}", "{tokens: 5%}")
            .get(0)
            .startsWith("policies[0].lease requires a token bucket"));
    assertTrue(
        problems("limit: {algorithm: deny}", "{tokens: 5%}")
            .get(0)
            .startsWith("policies[0].lease requires a token bucket"));
    assertTrue(problems(BUCKET, "5%").get(0).startsWith("policies[0].lease must be a mapping"));
    assertTrue(
        problems(BUCKET, "{tokens: 5%, until: PT1S}")
            .get(0)
            .startsWith(
                "policies[0].lease.until is not known here; the known fields are for, tokens"));
  }

  @Test
  void limitThatIsWrong_isNamedAlone() {
    List<String> problems =
        problems("limit: {algorithm: token-bucket, capacity: 0}", "{tokens: 5%}");

    assertTrue(
        problems.stream().allMatch(one -> one.startsWith("policies[0].limit")), problems::toString);
  }
}
