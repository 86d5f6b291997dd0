// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.decision.BucketReply;
import io.weir.ingest.gate.LimitStatus;
import io.weir.topics.model.FailureMode;
import io.weir.topics.model.KeyPart;
import io.weir.topics.model.Policy;
import io.weir.topics.model.PolicyMatch;
import io.weir.topics.model.PolicyMode;
import io.weir.topics.model.TokenBucketLimit;
import java.util.List;
import java.util.Objects;
import org.greenbytes.http.sfv.Item;
import org.greenbytes.http.sfv.OuterList;
import org.greenbytes.http.sfv.Parser;
import org.junit.jupiter.api.Test;

final class RateLimitFieldsTest {
  @Test
  void fields_ofTwoPolicies_areTheDraftsSyntax() {
    List<LimitStatus> limits =
        List.of(
            limit("burst", PolicyMode.ENFORCE, 100, 99, 600_000),
            limit("daily", PolicyMode.ENFORCE, 1_000, 12, 7_000_001));

    assertEquals("\"burst\";q=100;w=60, \"daily\";q=1000;w=600", RateLimitFields.policy(limits));
    assertEquals("\"burst\";r=99;t=1, \"daily\";r=12;t=8", RateLimitFields.state(limits));
  }

  @Test
  void fields_ofShadowPolicies_areLeftOut() {
    List<LimitStatus> limits = List.of(limit("later", PolicyMode.SHADOW, 5, 0, 1));

    assertEquals("", RateLimitFields.policy(limits));
    assertEquals("", RateLimitFields.state(limits));
  }

  @Test
  void fields_ofAnyName_areReadByAParserOfStructuredFields() {
    for (String name : List.of("a\"b", "a\\b", "ü €", "😀", "a, b;c=1", "100%")) {
      String field = RateLimitFields.policy(List.of(limit(name, PolicyMode.ENFORCE, 100, 1, 1)));

      OuterList parsed = new Parser(field).parseList();

      assertEquals(1, parsed.get().size(), field);
      Item<?> item = (Item<?>) parsed.get().get(0);
      assertEquals(100L, Objects.requireNonNull(item.getParams().get("q")).get(), field);
    }
  }

  @Test
  void retryAfter_isRoundedUp_andNeverZero() {
    assertEquals(1, RateLimitFields.retryAfterSeconds(0));
    assertEquals(1, RateLimitFields.retryAfterSeconds(1));
    assertEquals(1, RateLimitFields.retryAfterSeconds(1_000_000));
    assertEquals(2, RateLimitFields.retryAfterSeconds(1_000_001));
  }

  private static LimitStatus limit(
      String name, PolicyMode mode, long capacity, long remaining, long resetMicros) {
    Policy policy =
        new Policy(
            name,
            PolicyMatch.ANY,
            List.of(KeyPart.CLIENT),
            new TokenBucketLimit(capacity, 100, 60_000_000),
            mode,
            FailureMode.OPEN);
    return new LimitStatus(policy, new BucketReply(true, remaining, resetMicros, 0, 1, 0, 1, true));
  }
}
