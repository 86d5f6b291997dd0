// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.BucketKey;
import io.weir.limits.CalendarPeriod;
import io.weir.limits.CalendarQuota;
import io.weir.limits.PolicyLimit;
import io.weir.limits.QuotaLimit;
import io.weir.limits.SlidingLog;
import io.weir.limits.SlidingWindow;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.Correction;
import io.weir.limits.policy.CacheFailureMode;
import io.weir.limits.policy.KeyPart;
import io.weir.limits.policy.Policy;
import io.weir.limits.policy.PolicyMatch;
import io.weir.limits.policy.PolicyMode;
import io.weir.limits.policy.PolicySet;
import io.weir.topics.model.Stamp;
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
    assertEquals(7, cap(of(BucketKey.of("burst", "c").text())));
    assertEquals(7, cap(of(BucketKey.of("burst", "{c}", "GET /:x").text())));
    assertEquals(7, cap(of(BucketKey.of("burst", "c").in(1_764_547_200).text())));
    assertEquals(8, cap(of(BucketKey.of(LONG_NAME, "c").text())));
    assertEquals(8, cap(of(BucketKey.of(LONG_NAME, "c").in(1_764_547_200).text())));
    assertEquals(9, cap(of(BucketKey.of("été", "c", "GET /").text())));
  }

  @Test
  void of_policyIsGone_isOneCapacity() {
    assertEquals(100, cap(of(BucketKey.of("gone", "c").text())));
  }

  @Test
  void of_policiesChanged_isTheNewCap() {
    cap(of(BucketKey.of("burst", "c").text()));
    policies.set(new PolicySet(2, List.of(policy("burst", 0))));

    assertEquals(0, cap(of(BucketKey.of("burst", "c").text())));
    assertEquals(100, cap(of(BucketKey.of("été", "c").text())));
  }

  @Test
  void of_foreignKey_isRefused() {
    assertThrows(IllegalArgumentException.class, () -> cap(of("somebody's key")));
  }

  @Test
  void bound_limitLowered_debitsWhatIsMissingLessTheCapacityCutOff() {
    policies.set(new PolicySet(3, List.of(policy("burst", 7, SMALL))));

    BoundedCorrection cut = limits.bound(missing(900, LARGE), 0);
    assertEquals(SMALL, cut.correction().limit());
    assertEquals(0, cut.correction().fullAtEpochMicros());
    assertTrue(cut.takesOnly());
    assertEquals(
        5 * HOUR_MICROS, limits.bound(missing(995, LARGE), 0).correction().fullAtEpochMicros());
  }

  /** Found by {@code ./weir sim}, seed 14703: a full bucket starts full under the new limit. */
  @Test
  void bound_limitRaised_debitsWhatIsMissing_andCreditsNothing() {
    policies.set(new PolicySet(3, List.of(policy("burst", 7, LARGE))));

    BoundedCorrection raised = limits.bound(missing(3, SMALL), 0);
    assertEquals(LARGE, raised.correction().limit());
    assertEquals(3 * HOUR_MICROS, raised.correction().fullAtEpochMicros());
    assertTrue(raised.takesOnly());
  }

  /** Regression: the time was out of range, and the correction was skipped as malformed. */
  @Test
  void bound_limitSlowedToFillBeyondTheTimeRange_isFullAtTheMaximumTime() {
    TokenBucketLimit fast = new TokenBucketLimit(2_000_000_000, 1_000_000, 1_000_000);
    TokenBucketLimit slow = new TokenBucketLimit(2_000_000_000, 10, 86_400_000_000L);
    policies.set(new PolicySet(3, List.of(policy("burst", 7, slow))));

    Correction carriedOver = limits.bound(missing(1, fast), 1_000).correction();

    assertEquals(slow, carriedOver.limit());
    assertEquals(Stamp.MAX_FULL_AT_MICROS, carriedOver.fullAtEpochMicros());
  }

  /**
   * Found by {@code ./weir sim}, seeds 982, 2401 and 63960: what was used beyond a limit and a debt
   * cap was forgiven when the limit was raised, at least until the next correction.
   */
  @Test
  void bound_quota_isUnchanged_withoutADebtCap() {
    Correction correction = used137Of(new QuotaLimit(73, ENDS_AT));
    for (long inForce : new long[] {42, 73, 118}) {
      policies.set(new PolicySet(3, List.of(policy("monthly", 0, monthly(inForce)))));

      assertEquals(
          new BoundedCorrection(correction, TokenBucketLimit.EXACT_BELOW - 1),
          limits.bound(correction, 0));
    }
  }

  @Test
  void bound_policyNowDenies_isAppliedUnderThePreviousLimit() {
    policies.set(new PolicySet(3, List.of(policy("burst", 7, TokenBucketLimit.DENY))));
    Correction correction = missing(3, SMALL);

    assertEquals(new BoundedCorrection(correction, 10, false), limits.bound(correction, 0));
  }

  /** Neither a log nor a window has a refill that could carry missing tokens over. */
  @Test
  void bound_policyNowHasALogOrWindows_isAppliedToTheBucketOfBefore() {
    Correction correction = missing(3, SMALL);
    for (PolicyLimit now :
        List.of(new SlidingLog(20, 60_000_000), new SlidingWindow(20, 60, 4), monthly(20))) {
      policies.set(new PolicySet(3, List.of(policy("burst", 7, now))));

      assertEquals(new BoundedCorrection(correction, 7, false), limits.bound(correction, 0));
    }
  }

  @Test
  void bound_correctionUnderTheLimitInForce_isUnchanged() {
    policies.set(new PolicySet(3, List.of(policy("burst", 7, LARGE))));
    Correction correction = missing(3, LARGE);

    assertEquals(new BoundedCorrection(correction, 7, false), limits.bound(correction, 0));
  }

  /** Found by {@code ./weir sim}, seed 12248. */
  @Test
  void bound_computedByABrokerClockAhead_isFullByNow() {
    TokenBucketLimit large = new TokenBucketLimit(26, 6, 1_000_000);
    TokenBucketLimit small = new TokenBucketLimit(20, 6, 700_000);
    String bucket = BucketKey.of("burst", "c").text();
    Correction old =
        new Correction(
            bucket, large, 1, 1, 0, 5_000_000, 0, 0, Correction.Cause.GAP, 0, 150_000, 0);
    policies.set(new PolicySet(3, List.of(policy("burst", 7, small))));

    assertTrue(limits.bound(old, 20_000).correction().fullAtEpochMicros() <= 20_000_000);
  }

  @Test
  void bound_clockHasSteppedBackSinceTheNewestCharge_carriesOverWhatWasMissingThen() {
    TokenBucketLimit slow = new TokenBucketLimit(26, 1, 1_000_000);
    TokenBucketLimit fast = new TokenBucketLimit(26, 2, 1_000_000);
    String bucket = BucketKey.of("burst", "c").text();
    long known = 7_200_000_000L;
    Correction old =
        new Correction(
            bucket,
            slow,
            1,
            1,
            0,
            known + 8_000_000,
            0,
            0,
            Correction.Cause.GAP,
            0,
            150_000,
            known);
    policies.set(new PolicySet(3, List.of(policy("burst", 7, fast))));

    Correction carriedOver = limits.bound(old, 1_000).correction();
    assertEquals(known + 4_000_000, carriedOver.fullAtEpochMicros());
    assertEquals(known, carriedOver.knownThroughEpochMicros());
  }

  private static Correction missing(long tokens, TokenBucketLimit limit) {
    return new Correction(
        BucketKey.of("burst", "c").text(),
        limit,
        1,
        1,
        0,
        tokens * HOUR_MICROS,
        0,
        0,
        Correction.Cause.GAP,
        0,
        0,
        0);
  }

  private static CalendarQuota monthly(long capacityTokens) {
    return new CalendarQuota(
        capacityTokens, CalendarPeriod.MONTH, ZoneOffset.UTC, CalendarQuota.FIRST_OF_MONTH);
  }

  private static Correction used137Of(QuotaLimit limit) {
    return new Correction(
        BucketKey.of("monthly", "c").in(1_764_547_200).text(),
        limit,
        1,
        1,
        16,
        ENDS_AT,
        137,
        0,
        Correction.Cause.UNSTAMPED,
        0,
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
            CacheFailureMode.OPEN)
        .toBuilder().debtCapTokens(debtCapTokens).build();
  }

  private static Correction of(String bucket) {
    return new Correction(
        bucket, TestCorrections.LIMIT, 1, 1, 0, 0, 0, 0, Correction.Cause.GAP, 0, 0, 0);
  }
}
