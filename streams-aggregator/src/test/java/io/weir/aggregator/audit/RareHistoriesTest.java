// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.TokenBucketLimit;
import io.weir.topics.model.Charge;
import org.junit.jupiter.api.Test;

/**
 * Histories by which a hostile reading gave a bucket tokens that it did not have, or forgot what it
 * owed. A truth that is later than expected is no fault here: of what is given back only what
 * certainly was not refilled is due.
 */
final class RareHistoriesTest extends ReconcilerFixture {
  /** After a reset the audit may have published fewer corrections than the cache has applied. */
  @Test
  void cacheShowsAVersionThatTheAuditHasNotPublished_theNextIsGreater() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000));
    take(T + 500, charge(EPOCH, 5, 1, 2, T + 2_000));
    take(T + 600, new Charge(BUCKET, 30, LIMIT, null)); // fail-open
    assertEquals((T + 32_000) * 1_000, last().fullAtEpochMicros());
    assertTrue(
        last().version() > 5, () -> "version " + last().version() + ": the cache ignores it");
  }

  /** Regression: the stamp of the older correction confirmed one that the cache ignored. */
  @Test
  void cacheShowsAVersionThatTheAuditHasNotPublished_debtIsNotForgotten() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000));
    take(T + 500, charge(EPOCH, 5, 1, 2, T + 2_000));
    take(T + 600, new Charge(BUCKET, 30, LIMIT, null)); // fail-open; v1, which the cache ignores
    take(T + 700, charge(EPOCH, 5, 1, 3, T + 3_000));
    memory.takeCacheLoss("g1", T + 800);
    memory.tick();
    assertEquals((T + 33_000) * 1_000, last().fullAtEpochMicros());
  }

  /** The first stamp is trusted, but contains no more than its counter says. */
  @Test
  void cacheWentBackBeforeATrustedStamp_earlierRecordsAreMissing() {
    // charged 1..30 until T - 600; goes back to 10 at T - 500; 21 more until T: charged 31
    take(T, charge(EPOCH, 1, 1, 31, T + 31_000));
    take(T - 600, charge(EPOCH, 1, 20, 30, T + 29_400)); // lost by the cache
    take(T - 100, charge(EPOCH, 1, 20, 30, T + 30_000)); // contained in the stamp
    memory.takeCacheLoss("g1", T + 1_000);
    memory.tick();
    assertEquals((T + 51_000) * 1_000, last().fullAtEpochMicros());
  }

  /** Regression: a correction that could not be published was taken for published. */
  @Test
  void debtUnderACapacityOfZero_isNotForgotten() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000));
    take(T + 100, new Charge(BUCKET, 30, LIMIT, null));
    assertEquals((T + 31_000) * 1_000, last().fullAtEpochMicros());
    take(T + 200, new Charge(BUCKET, 20, LIMIT, null)); // waits, v1 is not shown
    take(T + 300, new Charge(BUCKET, 1, new TokenBucketLimit(0, 1, 1_000_000), null));
    watermark(T + 5_000);
    take(T + 6_000, charge(EPOCH, 1, 1, 2, T + 32_000));
    memory.takeCacheLoss("g1", T + 7_000);
    memory.tick();
    assertTrue(last().fullAtEpochMicros() >= (T + 52_000) * 1_000, () -> last().toString());
  }

  /** What the cache has lost by going back is hidden by a credit that it has not applied yet. */
  @Test
  void wentBack_whileACreditIsNotApplied_isOwedWhenAnOlderCorrectionIsShown() {
    take(T, charge(EPOCH, 0, 10, 10, T + 10_000)); // five more are never recorded
    take(T + 1_000, charge(EPOCH, 0, 1, 16, T + 16_000));
    watermark(T + 3_500);
    watermark(T + 4_500);
    assertEquals((T + 11_000) * 1_000, only().fullAtEpochMicros()); // v1, credit of five
    take(T + 4_600, charge(EPOCH, 0, 4, 20, T + 20_000));
    // an older copy has 16, full at T + 16 s
    take(T + 4_700, charge(EPOCH, 0, 1, 17, T + 17_000));
    watermark(T + 5_600); // v2 is published
    assertEquals((T + 16_000) * 1_000, last().fullAtEpochMicros());
    assertEquals(2, last().version());
    // v1 was applied meanwhile: full at T + 11 s, and one since
    take(T + 5_700, charge(EPOCH, 1, 1, 18, T + 13_000));
    memory.takeCacheLoss("g1", T + 5_800);
    memory.tick();
    assertEquals((T + 17_000) * 1_000, last().fullAtEpochMicros()); // 10 + 1 + 4 + 1 + 1
  }

  /** A call that was decided without the cache found the bucket full. */
  @Test
  void gap_refilledBeforeACallWithoutTheCache_isNotCredited() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000)); // three at T + 2 s are never recorded
    take(T + 10_000, new Charge(BUCKET, 20, LIMIT, null));
    take(T + 11_000, charge(EPOCH, 0, 1, 5, T + 12_000));
    watermark(T + 14_000);
    watermark(T + 15_000);
    assertNotEarlierThan(31_000);
  }

  /** The same when the charge without a record is known before that call. */
  @Test
  void gap_refilledInPartBeforeACallWithoutTheCache_isCreditedNoMoreThanWasMissingThen() {
    take(T, charge(EPOCH, 0, 3, 3, T + 3_000)); // 25 at T + 4 s are never recorded
    take(T + 5_000, charge(EPOCH, 0, 4, 32, T + 33_000));
    take(T + 13_000, new Charge(BUCKET, 24, LIMIT, null));
    take(T + 13_500, charge(EPOCH, 0, 1, 33, T + 34_000));
    watermark(T + 16_000);
    watermark(T + 17_000);
    // 5 + 4, full from T + 9 s; 13 + 24 + 1
    assertNotEarlierThan(38_000);
  }

  /** The same when a record that came late was the last in flight: later charges may be unknown. */
  @Test
  void gap_refilledBeforeACallWithoutTheCache_isNotCredited_thoughALateRecordCameInBetween() {
    take(T, charge(EPOCH, 0, 1, 2, T + 2_000)); // three at T + 3 s are never recorded
    take(T + 10_000, new Charge(BUCKET, 20, LIMIT, null));
    take(T - 1, charge(EPOCH, 0, 1, 1, T + 1_000));
    take(T + 11_000, charge(EPOCH, 0, 1, 6, T + 12_000));
    watermark(T + 14_000);
    watermark(T + 15_000);
    assertNotEarlierThan(31_000);
  }

  /** The cache refilled the gap, but the bucket, which owed more than the cache knew, did not. */
  @Test
  void gap_refilledByACacheThatLacksADebt_isCredited() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000));
    take(T + 100, new Charge(BUCKET, 50, LIMIT, null)); // five at T + 200 ms are never recorded
    take(T + 10_000, charge(EPOCH, 0, 1, 7, T + 11_000));
    watermark(T + 14_000);
    watermark(T + 15_000);
    assertEquals((T + 52_000) * 1_000, last().fullAtEpochMicros()); // 1 + 50 + 1
  }

  /** A late record is compared with the debt at its time, not with the later debt. */
  @Test
  void gap_refilledBeforeALateRecord_isNotCredited_thoughADebtCameSince() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000)); // five at T + 2 s are never recorded
    // 20 at T + 10 s are recorded late
    take(T + 11_000, charge(EPOCH, 0, 3, 29, T + 33_000));
    take(T + 12_000, new Charge(BUCKET, 16, LIMIT, null));
    take(T + 12_100, charge(EPOCH, 0, 1, 30, T + 34_000));
    take(T + 10_000, charge(EPOCH, 0, 20, 26, T + 30_000));
    watermark(T + 15_000);
    watermark(T + 16_000);
    assertNotEarlierThan(50_000);
  }

  /** A late record of a previous epoch also shows how full the bucket was. */
  @Test
  void gap_refilledInPartBeforeALateRecordOfAnEndedEpoch_isCreditedNoMoreThanWasMissingThen() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000)); // four at T + 6 s are never recorded
    // six at T + 8 s, when two were missing, are recorded late
    take(T + 9_000, charge(EPOCH, 0, 10, 21, T + 26_000));
    take(T + 10_000, charge((T + 10_000) * 1_000, 0, 1, 1, T + 11_000)); // flushed
    take(T + 8_000, charge(EPOCH, 0, 6, 11, T + 16_000));
    watermark(T + 13_000);
    watermark(T + 14_000);
    memory.takeCacheLoss("g1", T + 14_100);
    memory.tick();
    assertTrue(
        last().fullAtEpochMicros() >= (T + 25_000) * 1_000, // 8 + 6 + 10 + 1
        () -> "full at " + (last().fullAtEpochMicros() / 1_000 - T));
  }

  /** What was refilled for charges in flight is not there for a late one. */
  @Test
  void boundByTheCache_usesUpTheFullTimes() {
    take(T, charge(EPOCH, 0, 3, 3, T + 3_000)); // five at T + 1.5 s are in flight
    take(T + 6_000, new Charge(BUCKET, 1, LIMIT, null));
    take(T + 7_000, charge(EPOCH, 0, 1, 9, T + 9_000));
    take(T + 1_500, charge(EPOCH, 0, 5, 8, T + 8_000));
    take(T + 2_000, new Charge(BUCKET, 4, LIMIT, null));
    memory.takeCacheLoss("g1", T + 8_000);
    memory.tick();
    assertTrue(
        last().fullAtEpochMicros() >= (T + 14_000) * 1_000, // 3 + 5 + 4 + 1 + 1, never full
        () -> "full at " + (last().fullAtEpochMicros() / 1_000 - T));
  }

  private void assertNotEarlierThan(long at) {
    assertTrue(
        last().fullAtEpochMicros() >= (T + at) * 1_000,
        () -> "full at " + (last().fullAtEpochMicros() / 1_000 - T) + ", should be " + at);
  }

  /** A second is the refill of a token. */
  private void assertNear(long at) {
    long off = last().fullAtEpochMicros() / 1_000 - T - at;
    assertTrue(Math.abs(off) <= 1_000, () -> "full " + off + " ms after " + at);
  }

  private void publishAt(long at) {
    memory.takeCacheLoss("g1", T + at);
    memory.tick();
  }

  /** A stamp that is older than a debt says nothing of when that was taken. */
  @Test
  void boundByTheCache_aCallWithoutTheCacheIsNewerThanTheStamp_isOwed() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000)); // one at T + 8 s is recorded late
    take(T + 10_000, new Charge(BUCKET, 6, LIMIT, null));
    take(T + 8_000, charge(EPOCH, 0, 1, 2, T + 9_000)); // refilled before T + 10 s
    publishAt(11_000);
    assertNotEarlierThan(16_000);
  }

  /** The records had a debt refilled, until charges of before it were known. */
  @Test
  void boundByTheCache_aDebtThatSeemedToBeRefilled_isOwedAllTheSame() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000)); // five at T + 2 s are recorded late
    take(T + 4_000, new Charge(BUCKET, 4, LIMIT, null));
    take(T + 3_000, new Charge(BUCKET, 1, LIMIT, null));
    take(T + 2_000, charge(EPOCH, 0, 5, 6, T + 7_000));
    publishAt(5_000);
    assertNotEarlierThan(12_000); // 2 + 5 + 1 + 4, never full since T + 2 s
  }

  /** Regression: it was taken for another one that was still to come. */
  @Test
  void lateRecordOfAnEndedEpoch_beyondItsCounter_isOwed() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000)); // one at T + 8 s is recorded late
    take(T + 10_000, charge(EPOCH, 0, 3, 5, T + 13_000));
    // four at T + 11.3 s are recorded late; flushed
    take(T + 12_000, charge((T + 12_000) * 1_000, 0, 2, 2, T + 14_000));
    take(T + 11_300, charge(EPOCH, 0, 4, 9, T + 17_000));
    take(T + 8_000, charge(EPOCH, 0, 1, 2, T + 9_000));
    publishAt(13_000);
    assertNotEarlierThan(19_000); // 10 + 3 + 4 + 2
  }

  /** The same when a correction has stated the debt. */
  @Test
  void gap_refilledBeforeALateRecord_isNotCredited_thoughADebtWasCorrectedSince() {
    // one at T is never recorded; two at T + 4 s are recorded late
    take(T + 5_000, charge(EPOCH, 0, 1, 4, T + 7_000));
    take(T + 6_000, new Charge(BUCKET, 6, LIMIT, null)); // v1
    take(T + 7_000, charge(EPOCH, 1, 1, 5, T + 14_000));
    take(T + 4_000, charge(EPOCH, 0, 2, 3, T + 6_000)); // the bucket was full then
    watermark(T + 9_500);
    watermark(T + 10_500);
    publishAt(11_000);
    assertNotEarlierThan(14_000); // 4 + 2 + 1 + 6 + 1
  }

  /** Checks that find nothing do not show that nothing is in flight. */
  @Test
  void gap_refilledBeforeACallWithoutTheCache_isNotCredited_thoughChecksWereMadeSince() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000));
    take(T + 3_000, charge(EPOCH, 0, 1, 2, T + 4_000)); // four at T + 5 s are never recorded
    take(T + 10_000, new Charge(BUCKET, 7, LIMIT, null));
    watermark(T + 10_500);
    take(T + 10_900, charge(EPOCH, 0, 1, 7, T + 11_900));
    watermark(T + 14_500);
    watermark(T + 15_500);
    publishAt(16_000);
    assertNotEarlierThan(18_000); // 10 + 7 + 1
  }

  /** The truth was lowered to the cache's time and what was owed, which the bucket had refilled. */
  @Test
  void gap_refilledBeforeAChargeOfTheCache_isNotCredited_thoughADebtWasOwedThen() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000));
    take(T, new Charge(BUCKET, 1, LIMIT, null)); // v1; two at T + 2.2 s are never recorded
    take(T + 4_500, charge(EPOCH, 0, 22, 25, T + 26_500)); // the bucket was full
    take(T + 7_000, charge(EPOCH, 1, 9, 34, T + 35_500));
    watermark(T + 7_100);
    watermark(T + 9_500);
    watermark(T + 10_500);
    publishAt(11_000);
    assertNotEarlierThan(35_500); // 4.5 + 22 + 9
  }

  /** The same for many calls while the cache stood still. */
  @Test
  void callsChargedByACacheThatAnsweredTooLate_areOwedOnce() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000));
    for (int i = 0; i < 20; i++) {
      // the cache charges it when it resumes, at T + 5.4 s, after the deadline of the call
      take(T + 5_000 + 20L * i, new Charge(BUCKET, 2, LIMIT, null));
    }
    take(T + 5_500, charge(EPOCH, 0, 2, 43, T + 47_400));
    watermark(T + 6_100);
    assertEquals(2, last().version());
    assertEquals(87_000, last().fullAtEpochMicros() / 1_000 - T);
    take(T + 7_000, charge(EPOCH, 2, 1, 44, T + 88_000));
    watermark(T + 10_000);
    watermark(T + 11_000);
    publishAt(11_500);
    // 5 + 40 + 2 + 1
    assertNear(48_000);
  }

  /** A call that the cache had charged was decided without it, and found the bucket full. */
  @Test
  void callChargedByACacheThatAnsweredTooLate_isOwedOnce() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000));
    // at T + 5 s the cache charges five, but the answer comes after the deadline
    take(T + 5_050, new Charge(BUCKET, 5, LIMIT, null)); // v1, applied: 5 + 5 + 5.05 s
    take(T + 6_000, charge(EPOCH, 1, 1, 7, T + 16_050));
    watermark(T + 9_000);
    watermark(T + 10_000);
    publishAt(10_500);
    assertNear(11_050); // 5.05 + 5 + 1
  }

  /** The same while the correction is not applied yet. */
  @Test
  void callChargedByACacheThatAnsweredTooLate_isOwedOnce_beforeItIsCorrected() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000));
    take(T + 5_050, new Charge(BUCKET, 5, LIMIT, null));
    take(T + 5_200, charge(EPOCH, 0, 1, 7, T + 11_000));
    watermark(T + 9_000);
    watermark(T + 10_000);
    publishAt(10_500);
    assertNear(11_050);
  }

  /** A stamp of before that call does not show that nothing was in flight at it. */
  @Test
  void gap_refilledBeforeACallWithoutTheCache_isNotCredited_thoughAnOlderStampCame() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000)); // one at T + 1 s is recorded late
    // one at T + 3 s is never recorded
    take(T + 4_000, new Charge(BUCKET, 4, LIMIT, null)); // full
    take(T + 1_000, charge(EPOCH, 0, 1, 2, T + 2_000));
    take(T + 4_900, charge(EPOCH, 0, 6, 9, T + 10_900));
    watermark(T + 8_500);
    watermark(T + 9_500);
    publishAt(10_000);
    assertNotEarlierThan(14_000); // 4 + 4 + 6
  }

  /** Other charges in the first stamp of an epoch may be as late as that stamp. */
  @Test
  void gap_shownByTheFirstStampOfAnEpoch_refilledBeforeALaterCharge_isNotCredited() {
    long epoch = (T + 6_000) * 1_000;
    // four at T are never recorded
    take(T + 2_000, charge(EPOCH, 0, 3, 7, T + 7_000)); // flushed
    // one at T + 6 s is never recorded, one at T + 9 s is recorded late, the bucket was full
    take(T + 9_000, charge(epoch, 0, 6, 8, T + 16_000));
    watermark(T + 7_000);
    take(T + 9_000, charge(epoch, 0, 1, 2, T + 10_000));
    watermark(T + 12_000);
    watermark(T + 13_000);
    publishAt(13_500);
    assertNotEarlierThan(16_000); // 9 + 1 + 6
  }
}
