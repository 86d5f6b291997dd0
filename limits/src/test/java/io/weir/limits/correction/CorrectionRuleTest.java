// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.correction;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.weir.limits.BucketArithmetic;
import io.weir.limits.BucketLimit;
import io.weir.limits.BucketState;
import io.weir.limits.QuotaLimit;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.correction.CorrectionOutcome.Kind;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Checks the edge cases of the rule with numbers. */
class CorrectionRuleTest {
  private static final long T0 = 1_800_000_000_000_000L;
  private static final long SECOND = 1_000_000;
  private static final long E = T0 - 60 * SECOND;

  /** A limit with capacity 10 and one token per second. */
  private static final TokenBucketLimit LIMIT = new TokenBucketLimit(10, 1, SECOND);

  private static final QuotaLimit QUOTA = new QuotaLimit(100, T0 + 3_600 * SECOND);

  private static Correction correction(
      BucketLimit limit, long epoch, long version, long charged, long fullAt, long total) {
    return new Correction(
        "b", limit, epoch, version, charged, fullAt, total, 0, Correction.Cause.OVERLAP, 1, 2, 0);
  }

  @Test
  void correctionKnownThroughATimeFarAhead_clockHasSteppedBack_countsAsKnownNow() {
    long hours = 7_200 * SECOND;
    Correction before = bucket(E, 1, 5, 7_200 + 4);
    Correction ahead =
        new Correction(
            "b",
            LIMIT,
            E,
            1,
            5,
            before.fullAtEpochMicros(),
            0,
            0,
            before.cause(),
            1,
            2,
            T0 + hours);

    assertEquals(holding(LIMIT, 6, 1, 5), apply(ahead, holding(LIMIT, 10, 0, 5)).state());
    assertEquals(
        holding(LIMIT, 6, 1, 5), apply(bucket(E, 1, 5, 4), holding(LIMIT, 10, 0, 5)).state());
  }

  @Test
  void correctionKnownThroughATimeAFillAhead_isWaitedFor() {
    Correction ahead =
        new Correction(
            "b",
            LIMIT,
            E,
            1,
            5,
            T0 + 14 * SECOND,
            0,
            0,
            Correction.Cause.OVERLAP,
            1,
            2,
            T0 + 10 * SECOND);

    assertEquals(holding(LIMIT, -4, 1, 5), apply(ahead, holding(LIMIT, 10, 0, 5)).state());
  }

  private static Correction bucket(long epoch, long version, long charged, long missingTokens) {
    return correction(LIMIT, epoch, version, charged, T0 + missingTokens * SECOND, 0);
  }

  private static Correction quota(long epoch, long version, long charged, long total) {
    return correction(QUOTA, epoch, version, charged, QUOTA.endsAtEpochMicros(), total);
  }

  private static BucketState holding(BucketLimit limit, long tokens, long version, long charged) {
    return kept(limit, tokens, E, version == 0 ? 0 : E, version, charged);
  }

  /** An epoch that began with a correction of the epoch E. */
  private static BucketState begun(
      BucketLimit limit, long epoch, long tokens, long version, long charged) {
    return kept(limit, tokens, epoch, E, version, charged);
  }

  private static BucketState kept(
      BucketLimit limit, long tokens, long epoch, long corrected, long version, long charged) {
    BucketArithmetic arithmetic = limit.arithmetic();
    BucketState life = new BucketState(0, 0, 0, epoch, corrected, version, charged);
    return arithmetic.atLevel(life, tokens * arithmetic.unitsPerToken(), T0);
  }

  private static CorrectionRule.Result apply(Correction correction, @Nullable BucketState kept) {
    return CorrectionRule.apply(new BoundedCorrection(correction, 10), kept, T0);
  }

  private static void assertApplied(
      CorrectionOutcome outcome, BucketState state, CorrectionRule.Result result) {
    assertEquals(outcome, result.outcome());
    assertEquals(state, result.state());
  }

  @Test
  void apply_nothingChargedSince_setsTheTrueLevel() {
    assertApplied(
        new CorrectionOutcome(Kind.APPLIED, -3, false),
        holding(LIMIT, 6, 1, 7),
        apply(bucket(E, 1, 7, 4), holding(LIMIT, 9, 0, 7)));
  }

  @Test
  void apply_chargedSince_isSubtracted() {
    assertApplied(
        new CorrectionOutcome(Kind.APPLIED, -5, false),
        holding(LIMIT, 4, 1, 9),
        apply(bucket(E, 1, 7, 4), holding(LIMIT, 9, 0, 9)));
  }

  /**
   * Regression: a correction that arrived seconds late took the tokens that the bucket had gained
   * in these seconds.
   */
  @Test
  void apply_lateCorrection_keepsWhatWasRefilledMeanwhile() {
    Correction fullFor4Seconds = bucket(E, 1, 7, -4);
    Correction fullFor1Second = bucket(E, 1, 7, -1);

    assertApplied(
        new CorrectionOutcome(Kind.APPLIED, 0, false),
        holding(LIMIT, 9, 1, 11),
        apply(fullFor4Seconds, holding(LIMIT, 9, 0, 11)));
    assertApplied(
        new CorrectionOutcome(Kind.APPLIED, -2, false),
        holding(LIMIT, 7, 1, 11),
        apply(fullFor1Second, holding(LIMIT, 9, 0, 11)));
    assertApplied(
        new CorrectionOutcome(Kind.APPLIED, 4, false),
        holding(LIMIT, 6, 1, 11),
        apply(fullFor4Seconds, holding(LIMIT, 2, 0, 11)));
  }

  @Test
  void apply_lateCorrectionWithoutChange_keepsTheElapsedPartOfATick() {
    TokenBucketLimit slow = // ticks of a second
        new TokenBucketLimit(100_000_000, 1, TokenBucketLimit.MAX_PERIOD_MICROS);
    TokenBucketLimit.Scale scale = slow.scale();
    long level = scale.capacityUnits() - 4 * scale.unitsPerToken() + 30 * scale.unitsPerTick();
    BucketState kept = slow.arithmetic().atLevel(holding(slow, 0, 0, 11), level, T0 - SECOND / 2);

    CorrectionRule.Result late = apply(correction(slow, E, 1, 7, T0 - 60 * SECOND, 0), kept);
    assertEquals(kept.corrected(E, 1), late.state());
  }

  @Test
  void apply_counterWentBack_beginsANewEpoch() {
    assertApplied(
        new CorrectionOutcome(Kind.APPLIED, -3, false),
        begun(LIMIT, T0, 6, 1, 0),
        apply(bucket(E, 1, 7, 4), holding(LIMIT, 9, 0, 2)));
  }

  @Test
  void apply_correctionOfANewerEpoch_beginsANewEpoch() {
    assertApplied(
        new CorrectionOutcome(Kind.APPLIED, -3, false),
        kept(LIMIT, 6, T0, E + 1, 1, 0),
        apply(bucket(E + 1, 1, 3, 4), holding(LIMIT, 9, 8, 90)));
  }

  /** Regression, found by {@code ./weir sim} with the seeds 302036, 309480 and 312083. */
  @Test
  void apply_correctionKnowingNoCharges_debitsAnyBucket_creditsQuotasOnly() {
    assertApplied(
        new CorrectionOutcome(Kind.APPLIED, 0, false),
        kept(LIMIT, 2, T0, E + 1, 1, 0),
        apply(bucket(E + 1, 1, 0, 4), holding(LIMIT, 2, 0, 8)));
    assertApplied(
        new CorrectionOutcome(Kind.APPLIED, -3, false),
        kept(LIMIT, 6, T0, E + 1, 1, 0),
        apply(bucket(E + 1, 1, 0, 4), holding(LIMIT, 9, 0, 1)));
    assertApplied(
        new CorrectionOutcome(Kind.APPLIED, 10, false),
        kept(QUOTA, 40, T0, E + 1, 1, 0),
        apply(quota(E + 1, 1, 0, 60), holding(QUOTA, 30, 0, 70)));
  }

  /**
   * Regression, found by {@code ./weir sim} with the seed 48071: the second correction added the
   * tokens that the first correction had not added.
   */
  @Test
  void apply_nextCorrectionKnowingNoCharges_doesNotCreditTheEpochTheFirstBegan() {
    BucketState begun =
        Objects.requireNonNull(apply(bucket(E + 1, 1, 0, 4), holding(LIMIT, 2, 0, 8)).state());

    CorrectionRule.Result more = apply(bucket(E + 1, 2, 0, 1), begun);
    assertEquals(new CorrectionOutcome(Kind.APPLIED, 0, false), more.outcome());
    CorrectionRule.Result less = apply(bucket(E + 1, 2, 0, 9), begun);
    assertEquals(new CorrectionOutcome(Kind.APPLIED, -1, false), less.outcome());
    CorrectionRule.Result ofThatLife = apply(bucket(begun.epoch(), 1, 0, 1), begun);
    assertEquals(new CorrectionOutcome(Kind.APPLIED, 7, false), ofThatLife.outcome());
  }

  @Test
  void apply_epochAheadOfTheClock_newEpochIsLaterStill() {
    Correction ahead = correction(LIMIT, T0 + 5, 1, 3, T0 + 4 * SECOND, 0);

    assertEquals(
        T0 + 6, Objects.requireNonNull(apply(ahead, holding(LIMIT, 9, 8, 90)).state()).epoch());
  }

  @Test
  void apply_epochBegunByACorrection_acceptsTheNextCorrectionOfThePreviousEpoch() {
    long begunAt = T0 - SECOND;

    assertApplied(
        new CorrectionOutcome(Kind.APPLIED, -5, false),
        begun(LIMIT, begunAt, 2, 2, 3),
        apply(bucket(E, 2, 90, 5), begun(LIMIT, begunAt, 7, 1, 3)));
    assertApplied(
        new CorrectionOutcome(Kind.APPLIED, -27, false),
        begun(QUOTA, begunAt, 37, 2, 3),
        apply(quota(E, 2, 90, 60), begun(QUOTA, begunAt, 64, 1, 3)));
  }

  @Test
  void apply_epochBegunByACorrection_sameOrOlderCorrection_isStale() {
    BucketState kept = begun(LIMIT, T0, 7, 2, 3);

    assertEquals(Kind.STALE, apply(bucket(E, 2, 90, 5), kept).outcome().kind());
    assertEquals(Kind.STALE, apply(bucket(E, 1, 90, 5), kept).outcome().kind());
    assertEquals(Kind.STALE, apply(bucket(E - 1, 9, 90, 5), kept).outcome().kind());
  }

  /** The bucket may have gained the tokens of later charges when it was almost full. */
  @Test
  void apply_epochBegunByACorrectionWasFull_creditsButDoesNotDebit() {
    long begunAt = T0 - 30 * SECOND;

    assertApplied(
        new CorrectionOutcome(Kind.APPLIED, 0, false),
        begun(LIMIT, begunAt, 8, 2, 30),
        apply(bucket(E, 2, 90, -30), begun(LIMIT, begunAt, 8, 1, 30)));
    assertApplied(
        new CorrectionOutcome(Kind.APPLIED, 4, false),
        begun(LIMIT, begunAt, 7, 2, 3),
        apply(bucket(E, 2, 90, -30), begun(LIMIT, begunAt, 3, 1, 3)));
  }

  @Test
  void versionOfThisEpoch_epochBegunByACorrection_isZero() {
    assertEquals(0, begun(LIMIT, T0, 7, 2, 3).versionOfThisEpoch());
    assertEquals(2, holding(LIMIT, 7, 2, 3).versionOfThisEpoch());
  }

  @Test
  void apply_sameOrOlderCorrection_isStaleAndChangesNothing() {
    for (Correction old : new Correction[] {bucket(E, 5, 7, 4), bucket(E, 4, 7, 4)}) {
      CorrectionRule.Result result = apply(old, holding(LIMIT, 9, 5, 7));
      assertEquals(new CorrectionOutcome(Kind.STALE, 0, false), result.outcome());
      assertNull(result.state());
    }
    Correction older = bucket(E - 1, 99, 7, 4);
    assertEquals(Kind.STALE, apply(older, holding(LIMIT, 9, 5, 7)).outcome().kind());
    assertEquals(Kind.STALE, apply(older, holding(LIMIT, 9, 0, 7)).outcome().kind());
  }

  @Test
  void apply_credit_isClampedAtCapacity() {
    assertApplied(
        new CorrectionOutcome(Kind.APPLIED, 8, false),
        holding(LIMIT, 10, 1, 7),
        apply(bucket(E, 1, 7, -50), holding(LIMIT, 2, 0, 7)));
  }

  @Test
  void apply_debit_isClampedAtTheDebtCap() {
    assertApplied(
        new CorrectionOutcome(Kind.APPLIED, -12, true),
        holding(LIMIT, -10, 1, 7),
        apply(bucket(E, 1, 7, 21), holding(LIMIT, 2, 0, 7)));
    assertEquals(
        new CorrectionOutcome(Kind.APPLIED, -12, false),
        apply(bucket(E, 1, 7, 20), holding(LIMIT, 2, 0, 7)).outcome());
  }

  @Test
  void apply_partOfAToken_roundsTheChangeTowardZero() {
    Correction half = correction(LIMIT, E, 1, 7, T0 + SECOND / 2, 0);

    assertEquals(0, apply(half, holding(LIMIT, 10, 0, 7)).outcome().changeTokens());
    assertEquals(9, apply(half, holding(LIMIT, 0, 0, 7)).outcome().changeTokens());
    assertEquals(
        9_500_000, Objects.requireNonNull(apply(half, holding(LIMIT, 0, 0, 7)).state()).units());
  }

  @Test
  void apply_bucketGone_recreatesIt() {
    assertApplied(
        new CorrectionOutcome(Kind.CREATED, -4, false),
        begun(LIMIT, T0, 6, 3, 0),
        apply(bucket(E, 3, 9, 4), null));
  }

  @Test
  void apply_bucketGoneAndFullByNow_writesNothing() {
    assertEquals(Kind.FULL, apply(bucket(E, 3, 5, 0), null).outcome().kind());
    assertNull(apply(bucket(E, 3, 5, -1), null).state());
  }

  @Test
  void apply_bucketInDebt_isKeptUntilTheDebtIsPaid() {
    assertEquals(30_000, apply(bucket(E, 1, 7, 20), holding(LIMIT, 2, 0, 7)).ttlMillis());
  }

  @Test
  void apply_quota_isCapacityLessTotalLessChargedSince() {
    assertApplied(
        new CorrectionOutcome(Kind.APPLIED, -20, false),
        holding(QUOTA, 30, 1, 60),
        apply(quota(E, 1, 50, 60), holding(QUOTA, 50, 0, 60)));
    assertApplied(
        new CorrectionOutcome(Kind.CREATED, -60, false),
        begun(QUOTA, T0, 40, 1, 0),
        apply(quota(E, 1, 50, 60), null));
    assertApplied(
        new CorrectionOutcome(Kind.APPLIED, -60, true),
        holding(QUOTA, -10, 1, 60),
        apply(quota(E, 1, 60, 500), holding(QUOTA, 50, 0, 60)));
    assertApplied(
        new CorrectionOutcome(Kind.APPLIED, 50, false),
        holding(QUOTA, 100, 1, 60),
        apply(quota(E, 1, 60, -5), holding(QUOTA, 50, 0, 60)));
  }

  @Test
  void apply_quotaGone_isRecreatedUntilItsPeriodEnds() {
    BoundedCorrection untouched = new BoundedCorrection(quota(E, 1, 0, 0), 10);
    long end = QUOTA.endsAtEpochMicros();

    assertEquals(Kind.CREATED, CorrectionRule.apply(untouched, null, end - 1).outcome().kind());
    assertEquals(Kind.FULL, CorrectionRule.apply(untouched, null, end).outcome().kind());
  }

  @Test
  void apply_largestNumbers_doesNotOverflow() {
    TokenBucketLimit slow =
        new TokenBucketLimit(100_000_000, 1, TokenBucketLimit.MAX_PERIOD_MICROS);
    long most = TokenBucketLimit.EXACT_BELOW - 1;
    BucketState kept = new BucketState(0, 1, T0, E, 0, 0, TokenBucketLimit.EXACT_BELOW - 1);

    for (long charged : new long[] {0, most}) {
      CorrectionRule.Result result =
          CorrectionRule.apply(
              new BoundedCorrection(correction(slow, E, most, charged, most, most), most),
              kept,
              T0);
      assertEquals(Kind.APPLIED, result.outcome().kind());
      BucketState after = Objects.requireNonNull(result.state());
      assertEquals(TokenBucketLimit.EXACT_BELOW - 1, after.version());
    }
  }
}
