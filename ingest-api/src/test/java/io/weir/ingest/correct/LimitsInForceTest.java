// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.decision.correction.BucketCorrector.Bounded;
import io.weir.topics.model.BucketKeys;
import io.weir.topics.model.CalendarPeriod;
import io.weir.topics.model.CalendarQuota;
import io.weir.topics.model.ColdCacheMode;
import io.weir.topics.model.Correction;
import io.weir.topics.model.FailureMode;
import io.weir.topics.model.KeyPart;
import io.weir.topics.model.Policy;
import io.weir.topics.model.PolicyLimit;
import io.weir.topics.model.PolicyMatch;
import io.weir.topics.model.PolicyMode;
import io.weir.topics.model.PolicySet;
import io.weir.topics.model.QuotaLimit;
import io.weir.topics.model.TokenBucketLimit;
import java.time.ZoneOffset;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Which debt cap a correction gets, and which limit. */
final class LimitsInForceTest {
  private static final long HOUR_MICROS = 3_600_000_000L;
  private static final long ENDS_AT = 1_767_225_600_000_000L;
  private static final TokenBucketLimit LARGE = new TokenBucketLimit(1_000, 1, HOUR_MICROS);
  private static final TokenBucketLimit SMALL = new TokenBucketLimit(10, 1, HOUR_MICROS);
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
  void bound_limitWasLowered_takesWhatIsMissingLessWhatWasCutOff() {
    policies.set(new PolicySet(3, List.of(policy("burst", 7, SMALL))));

    Bounded cut = limits.bound(missing(900, LARGE), 0);
    assertEquals(SMALL, cut.correction().limit());
    assertEquals(0, cut.correction().fullAtEpochMicros());
    assertTrue(cut.takesOnly());
    assertEquals(
        5 * HOUR_MICROS, limits.bound(missing(995, LARGE), 0).correction().fullAtEpochMicros());
  }

  /** Found by {@code ./weir sim}, seed 14703: a full bucket has begun full under the new limit. */
  @Test
  void bound_limitWasRaised_takesWhatIsMissing_andGivesNothing() {
    policies.set(new PolicySet(3, List.of(policy("burst", 7, LARGE))));

    Bounded raised = limits.bound(missing(3, SMALL), 0);
    assertEquals(LARGE, raised.correction().limit());
    assertEquals(3 * HOUR_MICROS, raised.correction().fullAtEpochMicros());
    assertTrue(raised.takesOnly());
  }

  /** Found by {@code ./weir sim}, seed 982: what was used beyond the old capacity was forgiven. */
  @Test
  void bound_quotaWasChanged_isOfTheCapacityInForce() {
    policies.set(new PolicySet(3, List.of(policy("monthly", 0, monthly(118)))));

    Bounded bounded = limits.bound(used137Of(new QuotaLimit(73, ENDS_AT)), 0);
    assertEquals(new QuotaLimit(118, ENDS_AT), bounded.correction().limit());
    assertEquals(ENDS_AT, bounded.correction().fullAtEpochMicros());
    assertEquals(137, bounded.correction().totalTokens());
  }

  /** Found by {@code ./weir sim}, seed 2401: the node was the one with the older policies. */
  @Test
  void bound_quotaIsGreaterThanTheOneInForce_isAppliedAsItIs() {
    policies.set(new PolicySet(3, List.of(policy("monthly", 0, monthly(42)))));
    Correction correction = used137Of(new QuotaLimit(73, ENDS_AT));

    assertEquals(new Bounded(correction, 0), limits.bound(correction, 0));
  }

  @Test
  void bound_policyDeniesNow_isAppliedByTheLimitBefore() {
    policies.set(new PolicySet(3, List.of(policy("burst", 7, TokenBucketLimit.DENY))));
    Correction correction = missing(3, SMALL);

    assertEquals(new Bounded(correction, 10, false), limits.bound(correction, 0));
  }

  @Test
  void bound_limitInForce_isAppliedAsItIs() {
    policies.set(new PolicySet(3, List.of(policy("burst", 7, LARGE))));
    Correction correction = missing(3, LARGE);

    assertEquals(new Bounded(correction, 7, false), limits.bound(correction, 0));
  }

  /** Found by {@code ./weir sim}, seed 12248. */
  @Test
  void bound_computedByABrokersClockThatIsAhead_isFullWhenItWas() {
    TokenBucketLimit large = new TokenBucketLimit(26, 6, 1_000_000);
    TokenBucketLimit small = new TokenBucketLimit(20, 6, 700_000);
    String bucket = BucketKeys.ofClient("burst", "c");
    Correction old =
        new Correction(bucket, large, 1, 1, 0, 5_000_000, 0, 0, Correction.Cause.GAP, 0, 150_000);
    policies.set(new PolicySet(3, List.of(policy("burst", 7, small))));

    assertTrue(limits.bound(old, 20_000).correction().fullAtEpochMicros() <= 20_000_000);
  }

  private static Correction missing(long tokens, TokenBucketLimit limit) {
    return new Correction(
        BucketKeys.ofClient("burst", "c"),
        limit,
        1,
        1,
        0,
        tokens * HOUR_MICROS,
        0,
        0,
        Correction.Cause.GAP,
        0,
        0);
  }

  private static CalendarQuota monthly(long capacityTokens) {
    return new CalendarQuota(
        capacityTokens, CalendarPeriod.MONTH, ZoneOffset.UTC, CalendarQuota.FIRST_OF_MONTH);
  }

  private static Correction used137Of(QuotaLimit limit) {
    return new Correction(
        BucketKeys.ofPeriod(BucketKeys.ofClient("monthly", "c"), 1_764_547_200),
        limit,
        1,
        1,
        16,
        ENDS_AT,
        137,
        0,
        Correction.Cause.UNSTAMPED,
        0,
        0);
  }

  private long cap(Correction correction) {
    return limits.bound(correction, 0).debtCapTokens();
  }

  private static Policy policy(String name, long debtCapTokens) {
    return policy(name, debtCapTokens, TestCorrections.LIMIT);
  }

  private static Policy policy(String name, long debtCapTokens, PolicyLimit limit) {
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
