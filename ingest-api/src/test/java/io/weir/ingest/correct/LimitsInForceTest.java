// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.weir.topics.model.BucketKeys;
import io.weir.topics.model.ColdCacheMode;
import io.weir.topics.model.Correction;
import io.weir.topics.model.FailureMode;
import io.weir.topics.model.KeyPart;
import io.weir.topics.model.Policy;
import io.weir.topics.model.PolicyMatch;
import io.weir.topics.model.PolicyMode;
import io.weir.topics.model.PolicySet;
import io.weir.topics.model.TokenBucketLimit;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Which debt cap a correction gets, and which limit. */
final class LimitsInForceTest {
  private static final long HOUR_MICROS = 3_600_000_000L;
  private static final String LONG_NAME = "n".repeat(65);

  private final AtomicReference<PolicySet> policies =
      new AtomicReference<>(
          new PolicySet(1, List.of(policy("burst", 7), policy(LONG_NAME, 8), policy("été", 9))));
  private final LimitsInForce limits = new LimitsInForce(policies::get);

  @Test
  void of_policyInForce_isThePolicysCap_alsoWhenItsNameIsHashed() {
    assertEquals(7, cap(of(BucketKeys.ofClient("burst", "c"))));
    assertEquals(7, cap(of(BucketKeys.ofClientAndEndpoint("burst", "{c}", "GET /:x"))));
    assertEquals(7, cap(of(BucketKeys.ofPeriod(BucketKeys.ofClient("burst", "c"), 1_764_547_200))));
    assertEquals(8, cap(of(BucketKeys.ofClient(LONG_NAME, "c"))));
    assertEquals(
        8, cap(of(BucketKeys.ofPeriod(BucketKeys.ofClient(LONG_NAME, "c"), 1_764_547_200))));
    assertEquals(9, cap(of(BucketKeys.ofClientAndEndpoint("été", "c", "GET /"))));
  }

  @Test
  void of_policyIsGone_isOneCapacity() {
    assertEquals(100, cap(of(BucketKeys.ofClient("gone", "c"))));
  }

  @Test
  void of_policiesChanged_isTheNewCap() {
    cap(of(BucketKeys.ofClient("burst", "c")));
    policies.set(new PolicySet(2, List.of(policy("burst", 0))));

    assertEquals(0, cap(of(BucketKeys.ofClient("burst", "c"))));
    assertEquals(100, cap(of(BucketKeys.ofClient("été", "c"))));
  }

  @Test
  void of_bucketThatIsNotOurs_isRefused() {
    assertThrows(IllegalArgumentException.class, () -> cap(of("somebody's key")));
  }

  @Test
  void bound_limitHasChanged_carriesOverWhatIsLeft() {
    TokenBucketLimit large = new TokenBucketLimit(1_000, 1, HOUR_MICROS);
    TokenBucketLimit small = new TokenBucketLimit(10, 1, HOUR_MICROS);
    String bucket = BucketKeys.ofClient("burst", "c");
    Correction old =
        new Correction(bucket, large, 1, 1, 0, 900 * HOUR_MICROS, 0, 0, Correction.Cause.GAP, 0, 0);
    policies.set(new PolicySet(3, List.of(policy("burst", 7, small))));

    Correction lowered = limits.bound(old, 0).correction();
    assertEquals(small, lowered.limit());
    assertEquals(0, lowered.fullAtEpochMicros());

    policies.set(new PolicySet(4, List.of(policy("burst", 7, large))));
    assertEquals(990 * HOUR_MICROS, limits.bound(lowered, 0).correction().fullAtEpochMicros());
    assertSame(old, limits.bound(old, 0).correction());
  }

  @Test
  void bound_limitHasChanged_refillsAtTheSlowerSpeedSinceItWasComputed() {
    TokenBucketLimit slow = new TokenBucketLimit(10, 1, HOUR_MICROS);
    TokenBucketLimit fast = new TokenBucketLimit(10, 2, HOUR_MICROS);
    String bucket = BucketKeys.ofClient("burst", "c");
    Correction old =
        new Correction(bucket, slow, 1, 1, 0, 8 * HOUR_MICROS, 0, 0, Correction.Cause.GAP, 0, 0);
    policies.set(new PolicySet(3, List.of(policy("burst", 7, fast))));

    // two are left, and another one after an hour: seven are missing then, which take 3.5 hours
    Correction later = limits.bound(old, HOUR_MICROS / 1_000).correction();
    assertEquals(9 * HOUR_MICROS / 2, later.fullAtEpochMicros());
  }

  private long cap(Correction correction) {
    return limits.bound(correction, 0).debtCapTokens();
  }

  private static Policy policy(String name, long debtCapTokens) {
    return policy(name, debtCapTokens, TestCorrections.LIMIT);
  }

  private static Policy policy(String name, long debtCapTokens, TokenBucketLimit limit) {
    return new Policy(
        name,
        new PolicyMatch(List.of(), List.of(), List.of()),
        List.of(KeyPart.CLIENT),
        limit,
        PolicyMode.ENFORCE,
        FailureMode.OPEN,
        ColdCacheMode.ALLOW,
        debtCapTokens);
  }

  private static Correction of(String bucket) {
    return new Correction(
        bucket, TestCorrections.LIMIT, 1, 1, 0, 0, 0, 0, Correction.Cause.GAP, 0, 0);
  }
}
