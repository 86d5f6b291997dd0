// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.limits.correction.Correction.Cause;
import org.junit.jupiter.api.Test;

/**
 * Tests of overlaps, tokens recorded beyond the cache's counter: credited charges of a gap, and
 * charges that a cache repeated after it had gone back. While later charges are always in flight,
 * only a check finds either. And what a correction states while records of before it are still to
 * come.
 */
final class OverlapReconcilerTest extends ReconcilerFixture {
  /** What was charged again before the first record of after it is hidden by what is in flight. */
  @Test
  void counterWentBack_chargesSinceRecordedLate_areOwed_alsoWhileOthersAreAlwaysInFlight() {
    take(T, quotaCharge(0, 10, 10));
    // an older copy has 3; another node's 5 (to 8) are in flight when the 9th is recorded
    take(T + 1_000, quotaCharge(0, 1, 9));
    assertEquals(2, only().driftTokens());
    take(T + 2_000, quotaCharge(1, 1, 30)); // twenty more of the other node are in flight
    take(T + 900, quotaCharge(0, 5, 8)); // and now those come
    take(T + 9_000, quotaCharge(1, 1, 60)); // twenty-nine in flight
    take(T + 1_900, quotaCharge(1, 20, 29));
    watermark(T + 5_000);
    take(T + 16_000, quotaCharge(1, 1, 90)); // twenty-nine in flight
    take(T + 8_900, quotaCharge(1, 29, 59));
    watermark(T + 12_000);
    watermark(T + 13_000);
    take(T + 23_000, quotaCharge(1, 1, 120));
    take(T + 15_900, quotaCharge(1, 29, 89));
    watermark(T + 19_000);
    watermark(T + 20_000);
    memory.takeCacheLoss("g1", T + 23_001);
    memory.tick();

    // 10 + (120 - 3) were charged
    assertEquals(120, last().chargedTokens());
    assertEquals(127, last().totalTokens());
  }

  /** The counter of after it has overtaken that of before when it is first seen. */
  @Test
  void counterWentBackUnseen_isOwed_alsoWhileOthersAreAlwaysInFlight() {
    take(T, quotaCharge(0, 10, 10));
    // an older copy has 3; another node's 12 (to 15) are in flight when the 16th is recorded
    take(T + 1_000, quotaCharge(0, 1, 16));
    take(T + 2_000, quotaCharge(0, 1, 40)); // 23 more in flight
    take(T + 900, quotaCharge(0, 12, 15));
    take(T + 9_000, quotaCharge(0, 1, 70)); // 29 more in flight
    take(T + 1_900, quotaCharge(0, 23, 39));
    watermark(T + 5_000);
    take(T + 16_000, quotaCharge(0, 1, 100));
    take(T + 8_900, quotaCharge(0, 29, 69));
    watermark(T + 12_000);
    watermark(T + 13_000);
    take(T + 23_000, quotaCharge(0, 1, 130));
    take(T + 15_900, quotaCharge(0, 29, 99));
    watermark(T + 19_000);
    watermark(T + 20_000);
    memory.takeCacheLoss("g1", T + 23_001);
    memory.tick();

    assertEquals(130, last().chargedTokens());
    assertEquals(137, last().totalTokens());
  }

  @Test
  void gap_recordedAfterAnOverlapOfOtherCharges_isTakenBack() {
    take(T, quotaCharge(0, 1, 1), quotaCharge(0, 1, 8));
    watermark(T + 3_000);
    watermark(T + 4_000);
    assertEquals(-6, only().driftTokens());
    // goes back to 2: 3 to 8 are charged again by another node, 9 is recorded first
    take(T + 5_000, quotaCharge(0, 1, 9));
    take(T + 4_900, quotaCharge(0, 6, 8)); // overlap of six, no gap
    take(T + 6_000, quotaCharge(1, 1, 30)); // twenty in flight
    take(T, quotaCharge(0, 6, 7)); // the gap
    take(T + 12_000, quotaCharge(1, 1, 60)); // 29 in flight
    take(T + 5_900, quotaCharge(1, 20, 29));
    watermark(T + 9_000);
    watermark(T + 9_500);
    take(T + 19_000, quotaCharge(1, 1, 90)); // 29 in flight
    take(T + 11_900, quotaCharge(1, 29, 59));
    watermark(T + 16_000);
    watermark(T + 16_500);
    memory.takeCacheLoss("g1", T + 19_001);
    memory.tick();

    assertEquals(90, last().chargedTokens());
    assertEquals(8 + 90 - 2, last().totalTokens());
  }

  /** Regression: the overlap was treated as tokens of the gap, and added no debt. */
  @Test
  void overlap_longAfterAGapThatWasCreditedNothing_isOwed() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000));
    take(T + 20_000, charge(EPOCH, 0, 1, 9, T + 21_000)); // 7 were charged and refilled between
    watermark(T + 25_000);
    watermark(T + 26_000);
    assertEquals((T + 21_000) * 1_000, only().fullAtEpochMicros());

    take(T + 30_000, charge(EPOCH, 1, 30, 39, T + 60_000));
    // an older copy has 9, full; 5 of another node are in flight
    take(T + 31_100, charge(EPOCH, 1, 1, 15, T + 37_100));
    take(T + 31_000, charge(EPOCH, 1, 5, 14, T + 36_000));
    watermark(T + 40_000);
    watermark(T + 41_000);

    assertEquals((T + 66_000) * 1_000, last().fullAtEpochMicros());
  }

  @Test
  void overlap_longAfterAGapThatWasCreditedNothing_isOwed_alsoWhileOthersAreAlwaysInFlight() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000));
    take(T + 20_000, charge(EPOCH, 0, 1, 9, T + 21_000)); // 7 were charged and refilled between
    watermark(T + 25_000);
    watermark(T + 26_000);
    assertEquals((T + 21_000) * 1_000, only().fullAtEpochMicros());

    take(T + 30_000, charge(EPOCH, 1, 30, 39, T + 60_000));
    // an older copy has 9, full; 5 of another node are in flight
    take(T + 31_100, charge(EPOCH, 1, 1, 15, T + 37_100));
    take(T + 32_000, charge(EPOCH, 1, 1, 26, T + 48_100)); // 10 in flight
    take(T + 31_000, charge(EPOCH, 1, 5, 14, T + 36_000));
    watermark(T + 32_500); // a check begins with the stamp of 32,000
    take(T + 41_000, charge(EPOCH, 1, 1, 37, T + 59_100)); // 10 in flight
    take(T + 31_900, charge(EPOCH, 1, 10, 25, T + 47_100));
    watermark(T + 36_000);
    watermark(T + 37_000);

    // 30 lost: 60 s, and 5 + 1 + 10 + 1 + 10 + 1
    assertEquals((T + 88_000) * 1_000, last().fullAtEpochMicros());
  }

  /**
   * Found by {@code ./weir sim}, seed 6000712: charges of an epoch to which the cache had gone back
   * were treated as tokens of an old gap, and added no debt.
   */
  @Test
  void callOfAnEndedEpoch_madeAfterItsGap_isOwed() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000), charge(EPOCH, 0, 1, 8, T + 8_000));
    watermark(T + 3_000);
    watermark(T + 4_000);
    assertEquals((T + 2_000) * 1_000, only().fullAtEpochMicros()); // six are given back
    take(T + 10_000, charge((T + 10_000) * 1_000, 0, 1, 1, T + 11_000));

    take(T + 20_000, charge(EPOCH, 0, 4, 12, T + 24_000)); // an older copy took over, unseen
    watermark(T + 6_000);

    assertEquals(Cause.OVERLAP, last().cause());
    assertEquals((T + 24_000) * 1_000, last().fullAtEpochMicros());
  }

  /**
   * Found by {@code ./weir sim}, seed 6004171: the correction of a loss, published before a record
   * showed that the cache had gone back, bounded the truth as if it had stated what was lost.
   */
  @Test
  void counterWentBack_afterACorrectionThatDidNotKnow_isOwedWhenThatIsShown() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000));
    take(T + 4_000, charge(EPOCH, 0, 20, 21, T + 24_000));
    memory.takeCacheLoss("g1", T + 19_800);
    memory.tick();
    assertEquals((T + 24_000) * 1_000, only().fullAtEpochMicros());

    // an older copy has 1, full; 25 are charged before the correction is applied
    take(T + 20_000, charge(EPOCH, 0, 25, 26, T + 45_000));
    take(T + 20_500, charge(EPOCH, 1, 1, 27, T + 30_000));
    watermark(T + 22_000);

    assertEquals((T + 50_000) * 1_000, last().fullAtEpochMicros());
  }

  /**
   * Found by {@code ./weir sim}, seed 6002804: before a stamp shows a correction, charges in flight
   * counted as made now, though the cache had refilled them.
   */
  @Test
  void correctionThatCorrectsNothing_takesNothing_alsoWhileChargesAreInFlight() {
    take(T, charge(EPOCH, 0, 5, 5, T + 5_000));
    memory.takeCacheLoss("g1", T + 1_000);
    memory.tick();
    assertEquals((T + 5_000) * 1_000, only().fullAtEpochMicros());

    // five of another node were charged at T + 3 s; the bucket misses two now, not six
    take(T + 9_000, charge(EPOCH, 0, 1, 11, T + 11_000));

    assertEquals(Cause.RESTORE, last().cause()); // no stamp has shown it for 5 s: once more
    assertEquals(2, last().version());
    assertEquals((T + 11_000) * 1_000, last().fullAtEpochMicros());
  }

  /**
   * An overlap that was accepted when its record came is not found once more by the check that
   * waits for a stamp of before.
   */
  @Test
  void overlap_acceptedWhileACheckWaits_isOwedOnce() {
    take(T, charge(EPOCH, 0, 10, 10, T + 10_000));
    // an older copy has 5, and is full at T + 5 s; another node's 5 are in flight
    take(T + 2_000, charge(EPOCH, 0, 1, 11, T + 11_000));
    watermark(T + 3_500); // the check waits for the stamp of 2,000
    take(T + 1_000, charge(EPOCH, 0, 5, 10, T + 10_000));
    assertEquals((T + 16_000) * 1_000, only().fullAtEpochMicros());

    watermark(T + 5_000);
    watermark(T + 6_000);
    memory.takeCacheLoss("g1", T + 6_001);
    memory.tick();

    assertEquals((T + 16_000) * 1_000, last().fullAtEpochMicros());
    assertEquals(16, last().totalTokens());
    assertEquals(11, last().chargedTokens());
  }

  /** The check takes back the credit of a gap, not only the credit of a quota. */
  @Test
  void gap_recordedAfterAll_isTakenBackByACheck_alsoWhileOthersAreAlwaysInFlight() {
    take(
        T,
        charge(EPOCH, 0, 50, 50, T + 50_000),
        charge(EPOCH, 0, 1, 71, T + 71_000)); // twenty in flight
    watermark(T + 3_000);
    watermark(T + 4_000);
    assertEquals((T + 51_000) * 1_000, only().fullAtEpochMicros());

    take(T + 6_000, charge(EPOCH, 1, 1, 102, T + 82_000)); // thirty more in flight
    take(T, charge(EPOCH, 0, 20, 70, T + 70_000)); // those given up
    watermark(T + 9_000);

    assertEquals((T + 102_000) * 1_000, last().fullAtEpochMicros());
  }

  /** Regression: what the first stamp of a bucket was trusted to contain was counted again. */
  @Test
  void recordBeforeATrustedStamp_isNotCountedAgain() {
    take(T, quotaCharge(1, 1, 30)); // the log lacks the beginning
    take(T - 100, quotaCharge(1, 5, 29));
    take(T + 100, quotaCharge(1, 4, 34));
    memory.takeCacheLoss("g1", T + 1_000);
    memory.tick();

    assertEquals(34, only().chargedTokens());
    assertEquals(34, only().totalTokens());
  }

  @Test
  void recordBeforeATrustedStamp_ofAnEndedEpoch_isNotCountedAgain() {
    take(T, charge(EPOCH, 1, 1, 30, T + 30_000), charge(EPOCH, 1, 1, 32, T + 32_000));
    take(T + 40_000, charge((T + 40_000) * 1_000, 0, 1, 1, T + 41_000)); // full before
    take(T - 100, charge(EPOCH, 1, 5, 29, T + 29_000));
    memory.takeCacheLoss("g1", T + 40_500);
    memory.tick();

    assertEquals((T + 41_000) * 1_000, only().fullAtEpochMicros());
  }
}
