// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.BucketKey;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import java.util.List;
import org.junit.jupiter.api.Test;

final class LocalDeciderTest {
  private static final TokenBucketLimit HUNDRED = new TokenBucketLimit(100, 100, 60_000_000);
  private static final TokenBucketLimit TWENTY = new TokenBucketLimit(20, 20, 60_000_000);

  private static final Decision.Decided ALLOWED = new Decision.Allowed(1, List.of());

  private long nowEpochMillis = 1_800_000_000_000L;

  private Decision.Decided take(LocalDecider local, long cost, TokenBucketLimit... limits) {
    List<BucketRequest> buckets =
        List.of(limits).stream()
            .map(limit -> new BucketRequest("b" + limit.capacityTokens(), limit, true, true))
            .toList();
    return local.decide(new Check(buckets, cost), false, nowEpochMillis);
  }

  private LocalDecider decider(int nodes) {
    return new LocalDecider(nodes, () -> nowEpochMillis * 1_000);
  }

  @Test
  void decide_costBetweenShareAndLimit_isDeniedWithAShortRetryAfter() {
    Decision.Denied denied =
        assertInstanceOf(Decision.Denied.class, take(decider(4), 10, HUNDRED, TWENTY));

    assertFalse(denied.costExceedsCapacity());
    assertEquals(1, denied.decidingBucket());
    assertTrue(denied.buckets().get(0).sufficient());
    assertFalse(denied.buckets().get(1).sufficient());
    assertEquals(LocalDecider.RETRY_AFTER_MICROS, denied.buckets().get(1).retryAfterMicros());
  }

  @Test
  void decide_costAboveTheLimit_isDeniedWithoutRetryAfter() {
    Decision.Denied denied =
        assertInstanceOf(Decision.Denied.class, take(decider(4), 30, HUNDRED, TWENTY));

    assertTrue(denied.costExceedsCapacity());
    assertEquals(1, denied.decidingBucket());
    assertEquals(-1, denied.buckets().get(1).retryAfterMicros());
    assertEquals(LocalDecider.RETRY_AFTER_MICROS, denied.buckets().get(0).retryAfterMicros());
  }

  @Test
  void decide_severalBuckets_takesFromAllOrNone() {
    LocalDecider local = decider(2);

    assertInstanceOf(Decision.Allowed.class, take(local, 10, HUNDRED, TWENTY));
    assertInstanceOf(Decision.Denied.class, take(local, 10, HUNDRED, TWENTY));
    assertInstanceOf(Decision.Allowed.class, take(local, 40, HUNDRED));
    assertInstanceOf(Decision.Denied.class, take(local, 1, HUNDRED));
  }

  @Test
  void decide_clientInventsEndpoints_forgetsOnlyItsOwnBuckets() {
    LocalDecider local = decider(1);
    BucketRequest others = new BucketRequest(BucketKey.of("p", "other").text(), HUNDRED, true);
    local.decide(new Check(List.of(others), 100), false, nowEpochMillis);
    int invented = LocalDecider.MAX_BUCKETS + LocalDecider.MAX_BUCKETS / 10;
    for (int i = 0; i < invented; i++) {
      String bucket = BucketKey.of("p", "inventor", "GET /" + i).text();
      local.decide(
          new Check(List.of(new BucketRequest(bucket, HUNDRED, true)), 1), false, nowEpochMillis);
    }

    assertTrue(local.bucketCount() <= LocalDecider.MAX_BUCKETS);
    assertEquals(invented + 1, local.bucketCount() + local.forgottenBuckets());
    assertInstanceOf(
        Decision.Denied.class, local.decide(new Check(List.of(others), 1), false, nowEpochMillis));
  }

  @Test
  void cacheDecided_forgetsOnlyAfterAWhileWithoutLocalDecisions() {
    LocalDecider local = decider(1);
    take(local, 1, HUNDRED);

    local.cacheDecided(
        List.of(), ALLOWED, 1, nowEpochMillis + LocalDecider.FORGET_AFTER_MILLIS - 1);
    assertEquals(1, local.bucketCount());
    local.cacheDecided(List.of(), ALLOWED, 1, nowEpochMillis + LocalDecider.FORGET_AFTER_MILLIS);
    assertEquals(0, local.bucketCount());
  }

  @Test
  void new_nodesOutOfRange_isRefused() {
    assertThrows(IllegalArgumentException.class, () -> decider(0));
    assertThrows(IllegalArgumentException.class, () -> decider(LocalDecider.MAX_NODES + 1));
  }
}
