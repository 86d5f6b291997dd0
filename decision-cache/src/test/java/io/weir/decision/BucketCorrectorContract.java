// SPDX-License-Identifier: Apache-2.0
package io.weir.decision;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.decision.correction.BucketCorrector;
import io.weir.decision.correction.CacheUnavailableException;
import io.weir.limits.BucketLimit;
import io.weir.limits.QuotaLimit;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketReply;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.Correction;
import io.weir.limits.correction.CorrectionOutcome;
import io.weir.limits.correction.CorrectionOutcome.Kind;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * The contract of every corrector. Limits refill so slowly (one token an hour) that a running clock
 * gives the same results as a stopped clock.
 */
public abstract class BucketCorrectorContract {
  private static final long HOUR_MICROS = 3_600_000_000L;
  private static final long CAPACITY_TOKENS = 10;
  private static final TokenBucketLimit HOURLY =
      new TokenBucketLimit(CAPACITY_TOKENS, 1, HOUR_MICROS);

  private final String prefix = "w1:{" + UUID.randomUUID() + "}:";
  private final String bucket = prefix + "a";
  private QuotaLimit quota = new QuotaLimit(100, 1);

  /** Returns the corrector under test. */
  protected abstract BucketCorrector corrector();

  /** Returns the cache whose buckets the corrector corrects. */
  protected abstract DecisionCache cache();

  /** Returns the time by the cache's clock or shortly before it, in microseconds since 1970. */
  protected abstract long nowEpochMicros();

  @BeforeEach
  void endThePeriodInAnHour() {
    quota = new QuotaLimit(100, nowEpochMicros() + HOUR_MICROS);
  }

  private BucketReply take(BucketLimit limit, long cost) {
    Check check = new Check(List.of(new BucketRequest(bucket, limit, true)), cost);
    return assertInstanceOf(Decision.Decided.class, cache().take(check)).buckets().get(0);
  }

  private CorrectionOutcome apply(Correction correction) throws CacheUnavailableException {
    return corrector().apply(List.of(new BoundedCorrection(correction, CAPACITY_TOKENS))).get(0);
  }

  private Correction of(BucketLimit limit, long epoch, long version, long charged, long missing) {
    return new Correction(
        bucket,
        limit,
        epoch,
        version,
        charged,
        // half a token more, so that the duration of the test does not change the number of whole
        // tokens
        limit == quota
            ? quota.endsAtEpochMicros()
            : nowEpochMicros() + missing * HOUR_MICROS - HOUR_MICROS / 2,
        missing,
        0,
        Correction.Cause.OVERLAP,
        1,
        2,
        0);
  }

  @Test
  void apply_debit_isSeenByTheNextDecisionWithItsVersion() throws Exception {
    BucketReply before = take(HOURLY, 2);

    assertEquals(
        new CorrectionOutcome(Kind.APPLIED, -3, false), apply(of(HOURLY, before.epoch(), 1, 2, 6)));
    BucketReply after = take(HOURLY, 1);
    assertEquals(3, after.remainingTokens());
    assertEquals(before.epoch(), after.epoch());
    assertEquals(1, after.version());
    assertEquals(3, after.chargedTokens());
  }

  @Test
  void apply_sameCorrectionAgain_changesNothing() throws Exception {
    BucketReply before = take(HOURLY, 2);
    Correction correction = of(HOURLY, before.epoch(), 4, 2, 6);
    apply(correction);
    BucketReply between = take(HOURLY, 1);

    assertEquals(new CorrectionOutcome(Kind.STALE, 0, false), apply(correction));
    assertEquals(
        new CorrectionOutcome(Kind.STALE, 0, false), apply(of(HOURLY, before.epoch(), 3, 0, 0)));
    BucketReply after = take(HOURLY, 1);
    assertEquals(between.remainingTokens() - 1, after.remainingTokens());
    assertEquals(4, after.version());
  }

  @Test
  void apply_chargedMeanwhile_isNotLost() throws Exception {
    BucketReply stamp = take(HOURLY, 1);
    take(HOURLY, 4);

    apply(of(HOURLY, stamp.epoch(), 1, 1, 3));
    assertEquals(2, take(HOURLY, 1).remainingTokens());
  }

  /**
   * According to the records, the bucket was full after the last recorded charge, and has refilled
   * since then.
   */
  @Test
  void apply_lateCorrection_keepsWhatWasRefilledMeanwhile() throws Exception {
    BucketReply stamp = take(HOURLY, 5);
    apply(of(HOURLY, stamp.epoch(), 1, 5, 0));
    take(HOURLY, 1);

    assertEquals(
        new CorrectionOutcome(Kind.APPLIED, 0, false), apply(of(HOURLY, stamp.epoch(), 2, 2, -5)));
    BucketReply after = take(HOURLY, 1);
    assertEquals(8, after.remainingTokens());
    assertEquals(2, after.version());
  }

  @Test
  void apply_correctionKnowingNoCharges_debitsButDoesNotCredit() throws Exception {
    BucketReply before = take(HOURLY, 5);

    assertEquals(
        new CorrectionOutcome(Kind.APPLIED, 0, false),
        apply(of(HOURLY, before.epoch() + 1, 1, 0, 2)));
    assertEquals(4, take(HOURLY, 1).remainingTokens());
    assertEquals(
        new CorrectionOutcome(Kind.APPLIED, -2, false),
        apply(of(HOURLY, before.epoch() + 1, 2, 0, 8)));
  }

  @Test
  void apply_debt_deniesUntilItIsPaid() throws Exception {
    BucketReply stamp = take(HOURLY, 1);

    CorrectionOutcome outcome = apply(of(HOURLY, stamp.epoch(), 1, 1, 50));
    assertEquals(new CorrectionOutcome(Kind.APPLIED, -19, true), outcome);
    BucketReply reply = take(HOURLY, 1);
    assertEquals(0, reply.remainingTokens());
    assertTrue(!reply.sufficient());
    assertTrue(
        reply.retryAfterMicros() > 10 * HOUR_MICROS && reply.retryAfterMicros() <= 11 * HOUR_MICROS,
        () -> "retry after " + reply.retryAfterMicros());
    assertTrue(reply.resetMicros() > 19 * HOUR_MICROS);
  }

  @Test
  void apply_takesOnly_debitsAndNeverCredits() throws Exception {
    BucketReply stamp = take(HOURLY, 5);

    Correction less = of(HOURLY, stamp.epoch(), 1, 5, 2);
    assertEquals(new CorrectionOutcome(Kind.APPLIED, 0, false), applyTakingOnly(less));
    assertEquals(4, take(HOURLY, 1).remainingTokens());
    Correction more = of(HOURLY, stamp.epoch(), 2, 6, 9);
    assertEquals(-2, applyTakingOnly(more).changeTokens());
    assertEquals(0, take(HOURLY, 1).remainingTokens());
  }

  /**
   * Regression, found by {@code ./weir sim} with the seed 89698: a bucket with a faster limit
   * stayed in a large debt.
   */
  @Test
  void apply_takesOnly_ignoresChargesSinceThatMayHaveBeenRefilled() throws Exception {
    BucketReply stamp = take(HOURLY, 1);
    take(HOURLY, 7);

    Correction late = of(HOURLY, stamp.epoch(), 1, 1, 6);
    assertEquals(new CorrectionOutcome(Kind.APPLIED, 0, false), applyTakingOnly(late));
    assertEquals(1, take(HOURLY, 1).remainingTokens());
  }

  private CorrectionOutcome applyTakingOnly(Correction correction)
      throws CacheUnavailableException {
    return corrector()
        .apply(List.of(new BoundedCorrection(correction, CAPACITY_TOKENS, true)))
        .get(0);
  }

  /** Regression, found by {@code ./weir sim} with the seed 2632. */
  @Test
  void apply_loweredLimitLeavesDebtBeyondTheCap_creditsNothing() throws Exception {
    QuotaLimit lowered = new QuotaLimit(20, quota.endsAtEpochMicros());
    BucketReply used = take(quota, 90);

    CorrectionOutcome outcome = apply(of(lowered, used.epoch(), 1, 90, 90));
    assertEquals(new CorrectionOutcome(Kind.APPLIED, 0, false), outcome);
    assertEquals(9, take(quota, 1).remainingTokens());
  }

  @Test
  void apply_bucketGone_isRecreatedInANewEpoch() throws Exception {
    long epoch = nowEpochMicros() - HOUR_MICROS;

    assertEquals(Kind.CREATED, apply(of(HOURLY, epoch, 7, 42, 6)).kind());
    BucketReply reply = take(HOURLY, 1);
    assertTrue(reply.epoch() > epoch);
    assertEquals(0, reply.version());
    assertEquals(1, reply.chargedTokens());
    assertEquals(3, reply.remainingTokens());
  }

  /**
   * Regression, found by {@code ./weir sim} with the seed 103808: the correction must count charges
   * that follow the greater counter of the previous epoch.
   */
  @Test
  void apply_greaterCounterThanTheRecreatedBuckets_chargesSinceStillCount() throws Exception {
    long epoch = nowEpochMicros() - HOUR_MICROS;
    apply(of(HOURLY, epoch, 7, 42, 2));
    take(HOURLY, 3);

    assertEquals(
        new CorrectionOutcome(Kind.APPLIED, -1, false), apply(of(HOURLY, epoch, 8, 45, 3)));
    BucketReply reply = take(HOURLY, 1);
    assertEquals(3, reply.remainingTokens());
    assertEquals(0, reply.version());
  }

  @Test
  void apply_counterWentBack_chargesSinceStillCount() throws Exception {
    BucketReply stamp = take(HOURLY, 1);
    apply(of(HOURLY, stamp.epoch(), 1, 42, 2));
    BucketReply begun = take(HOURLY, 3);

    assertTrue(begun.epoch() > stamp.epoch());
    assertEquals(3, begun.chargedTokens());
    assertEquals(
        new CorrectionOutcome(Kind.APPLIED, -1, false), apply(of(HOURLY, stamp.epoch(), 2, 45, 3)));
    assertEquals(Kind.APPLIED, apply(of(HOURLY, begun.epoch(), 1, 3, 5)).kind());
    BucketReply reply = take(HOURLY, 1);
    assertEquals(4, reply.remainingTokens());
    assertEquals(1, reply.version());
  }

  @Test
  void apply_bucketGoneAndNothingCharged_isRecreated() throws Exception {
    long epoch = nowEpochMicros() - HOUR_MICROS;

    assertEquals(Kind.CREATED, apply(of(HOURLY, epoch, 1, 0, 6)).kind());
    assertEquals(1, take(HOURLY, 1).chargedTokens());
  }

  @Test
  void apply_bucketGoneAndFull_storesNothing() throws Exception {
    long epoch = nowEpochMicros() - HOUR_MICROS;

    assertEquals(new CorrectionOutcome(Kind.FULL, 0, false), apply(of(HOURLY, epoch, 7, 42, 0)));
    assertEquals(1, take(HOURLY, 1).chargedTokens());
  }

  @Test
  void apply_quota_isExact() throws Exception {
    BucketReply stamp = take(quota, 10);
    take(quota, 5);

    assertEquals(
        new CorrectionOutcome(Kind.APPLIED, -20, false),
        apply(of(quota, stamp.epoch(), 1, 10, 30)));
    BucketReply reply = take(quota, 1);
    assertEquals(64, reply.remainingTokens());
    assertEquals(16, reply.chargedTokens());
    assertEquals(
        new CorrectionOutcome(Kind.APPLIED, -46, false),
        apply(of(quota, stamp.epoch(), 2, 16, 82)));
    assertEquals(17, take(quota, 1).remainingTokens());
    assertEquals(
        new CorrectionOutcome(Kind.APPLIED, -27, true),
        apply(of(quota, stamp.epoch(), 3, 17, 111)));
    assertTrue(!take(quota, 1).sufficient());
  }

  /** Regression, found by {@code ./weir sim} with the seed 20435. */
  @Test
  void apply_olderEpochOfAQuota_isAppliedToTheEpochBegunByACharge() throws Exception {
    BucketReply begun = take(quota, 1);
    long older = begun.epoch() - 1_000;

    assertEquals(
        new CorrectionOutcome(Kind.APPLIED, -40, false), apply(of(quota, older, 3, 0, 40)));
    assertEquals(new CorrectionOutcome(Kind.STALE, 0, false), apply(of(quota, older, 2, 0, 90)));
    assertEquals(
        new CorrectionOutcome(Kind.APPLIED, -1, false), apply(of(quota, begun.epoch(), 1, 1, 42)));
    assertEquals(57, take(quota, 1).remainingTokens());
  }

  @Test
  void apply_quotaGone_isRestored() throws Exception {
    long epoch = nowEpochMicros() - HOUR_MICROS;

    assertEquals(
        new CorrectionOutcome(Kind.CREATED, -70, false), apply(of(quota, epoch, 3, 65, 70)));
    BucketReply reply = take(quota, 1);
    assertEquals(29, reply.remainingTokens());
    assertEquals(1, reply.chargedTokens());
  }

  @Test
  void apply_quotaWhosePeriodIsOver_isNotRestored() throws Exception {
    quota = new QuotaLimit(100, nowEpochMicros() - HOUR_MICROS);

    assertEquals(Kind.FULL, apply(of(quota, quota.endsAtEpochMicros() - 1, 3, 65, 70)).kind());
    assertEquals(1, take(quota, 1).chargedTokens());
  }

  @Test
  void apply_severalCorrectionsOfOneBucket_areAppliedInOrder() throws Exception {
    BucketReply stamp = take(HOURLY, 1);
    List<BoundedCorrection> corrections = new ArrayList<>();
    for (long version : new long[] {1, 3, 2, 3, 4}) {
      corrections.add(
          new BoundedCorrection(of(HOURLY, stamp.epoch(), version, 1, 1 + version), 10));
    }

    assertEquals(
        List.of(
            new CorrectionOutcome(Kind.APPLIED, 0, false),
            new CorrectionOutcome(Kind.APPLIED, -2, false),
            new CorrectionOutcome(Kind.STALE, 0, false),
            new CorrectionOutcome(Kind.STALE, 0, false),
            new CorrectionOutcome(Kind.APPLIED, -1, false)),
        corrector().apply(corrections));
    assertEquals(4, take(HOURLY, 1).version());
  }

  /** Regression: no later correction was applied while the bucket had the same epoch. */
  @Test
  void apply_greatestVersion_beginsAnEpochThatCanBeCorrected() throws Exception {
    long greatest = TokenBucketLimit.EXACT_BELOW - 1;
    BucketReply stamp = take(HOURLY, 4);
    assertEquals(Kind.APPLIED, apply(of(HOURLY, stamp.epoch(), greatest, 4, 0)).kind());
    assertEquals(Kind.STALE, apply(of(HOURLY, stamp.epoch(), greatest, 4, 0)).kind());

    BucketReply next = take(HOURLY, 1);
    assertTrue(next.epoch() > stamp.epoch(), next::toString);
    assertEquals(0, next.version());
    assertEquals(1, next.chargedTokens());
    assertEquals(CAPACITY_TOKENS - 1, next.remainingTokens());
    assertEquals(
        new CorrectionOutcome(Kind.APPLIED, -3, false), apply(of(HOURLY, next.epoch(), 1, 1, 5)));
    assertEquals(1, take(HOURLY, 1).version());
  }

  @Test
  void apply_fullBatch_answersEachCorrection() throws Exception {
    List<BoundedCorrection> corrections =
        Collections.nCopies(
            BucketCorrector.MAX_BATCH,
            new BoundedCorrection(of(HOURLY, nowEpochMicros(), 1, 1, 5), 10));

    List<CorrectionOutcome> outcomes = corrector().apply(corrections);
    assertEquals(BucketCorrector.MAX_BATCH, outcomes.size());
    assertEquals(Kind.CREATED, outcomes.get(0).kind());
    assertEquals(
        Collections.nCopies(
            BucketCorrector.MAX_BATCH - 1, new CorrectionOutcome(Kind.STALE, 0, false)),
        outcomes.subList(1, BucketCorrector.MAX_BATCH));
    List<BoundedCorrection> tooMany = new ArrayList<>(corrections);
    tooMany.add(corrections.get(0));
    assertThrows(IllegalArgumentException.class, () -> corrector().apply(tooMany));
    assertThrows(IllegalArgumentException.class, () -> corrector().apply(List.of()));
  }

  @Test
  void apply_newEpochOfTheCache_startsWithoutVersion() throws Exception {
    long epoch = nowEpochMicros();
    long most = TokenBucketLimit.EXACT_BELOW - 2;
    apply(of(HOURLY, epoch, 9, most, 2));

    BucketReply reply = take(HOURLY, 3);
    assertEquals(3, reply.chargedTokens());
    assertEquals(0, reply.version());
    assertTrue(reply.epoch() > epoch);
  }
}
