// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.ingest.gate.CheckOutcome;
import io.weir.ingest.gate.LimitStatus;
import io.weir.limits.LeakyBucket;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketReply;
import io.weir.limits.policy.CacheFailureMode;
import io.weir.limits.policy.KeyPart;
import io.weir.limits.policy.Policy;
import io.weir.limits.policy.PolicyMatch;
import io.weir.limits.policy.PolicyMode;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.DecidedBy;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;

final class CheckResponseTest {
  private static final TokenBucketLimit LIMIT = new TokenBucketLimit(100, 100, 60_000_000);

  @Test
  void body_ofABucketInDebt_showsZeroRemaining_andTheFullWait() throws IOException {
    CheckOutcome.Decided denied = denied(DecidedBy.CACHE, LIMIT, -50);

    JsonNode body = new ObjectMapper().readTree(CheckResponse.body(denied));

    assertEquals(429, CheckResponse.status(denied));
    assertEquals(0, body.path("limits").path(0).path("remaining").asLong(-1));
    assertEquals(90_000, body.path("limits").path(0).path("reset_ms").asLong());
    assertEquals(30_600, body.path("retry_after_ms").asLong());
  }

  @Test
  void body_ofALocalDenial_showsTheNodesShare() throws IOException {
    CheckOutcome.Decided denied =
        denied(DecidedBy.LOCAL, new TokenBucketLimit(25, 100, 240_000_000), 0);

    JsonNode body = new ObjectMapper().readTree(CheckResponse.body(denied));

    assertEquals(429, CheckResponse.status(denied));
    assertEquals("local", body.path("decided_by").asText());
    assertEquals(25, body.path("limits").path(0).path("limit").asLong());
    assertTrue(body.path("detail").asText().contains("this node's share"));
  }

  @Test
  void body_ofACallInAQueue_saysHowLongToWait() throws IOException {
    TokenBucketLimit mirror = new TokenBucketLimit(20, 10, 1_000_000);
    Policy queue =
        new Policy(
            "queue",
            PolicyMatch.ANY,
            List.of(KeyPart.CLIENT),
            new LeakyBucket(mirror, true),
            PolicyMode.ENFORCE,
            CacheFailureMode.LOCAL);
    CallEvent call =
        new CallEvent(
            "id",
            true,
            "acme",
            "-",
            "calls",
            2,
            true,
            DecidedBy.CACHE,
            "queue",
            1,
            1,
            null,
            List.of());
    BucketReply reply = new BucketReply(true, 13, 700_000, 0, 1, 0, 7, true);
    CheckOutcome.Decided allowed =
        new CheckOutcome.Decided(
            call, List.of(new LimitStatus(queue, mirror, null, reply)), null, null);

    JsonNode body = new ObjectMapper().readTree(CheckResponse.body(allowed));

    assertEquals(500, body.path("delay_ms").asLong());
    BucketReply peeked = new BucketReply(true, 15, 500_000, 0, 1, 0, 5, false);
    CheckOutcome.Decided peek =
        new CheckOutcome.Decided(
            call, List.of(new LimitStatus(queue, mirror, null, peeked)), null, null);
    assertEquals(
        500, new ObjectMapper().readTree(CheckResponse.body(peek)).path("delay_ms").asLong());
    assertTrue(
        new ObjectMapper()
            .readTree(CheckResponse.body(denied(DecidedBy.CACHE, LIMIT, 0)))
            .path("delay_ms")
            .isMissingNode());
  }

  private static CheckOutcome.Decided denied(
      DecidedBy decidedBy, TokenBucketLimit limit, long remaining) {
    Policy policy =
        new Policy(
            "burst",
            PolicyMatch.ANY,
            List.of(KeyPart.CLIENT),
            LIMIT,
            PolicyMode.ENFORCE,
            CacheFailureMode.LOCAL);
    BucketReply reply = new BucketReply(false, remaining, 90_000_000, 30_600_000, 1, 0, 5, false);
    CallEvent call =
        new CallEvent(
            "id", true, "acme", "-", "calls", 1, false, decidedBy, "burst", 1, 1, null, List.of());
    return new CheckOutcome.Decided(
        call,
        List.of(new LimitStatus(policy, limit, null, reply)),
        new CheckOutcome.Denial(List.of("burst"), 30_600_000, false),
        null);
  }
}
