// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.TokenBucketLimit;
import io.weir.limits.correction.Correction;
import io.weir.limits.correction.Correction.Cause;
import io.weir.topics.model.Charge;
import io.weir.topics.model.Stamp;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Credits for charges without a record, and their withdrawal if a record arrives. */
final class GapReconcilerTest extends ReconcilerFixture {
  @Test
  void truncatedLog_gapsOfEarlierEpochs_areNotCredited() {
    String younger = "w1:{4:acme}:5:other";
    long later = T + 3_600_000;
    long epoch = later * 1_000;
    memory.skipOffsets(1_000);

    take(T, charge(EPOCH, 0, 1, 8, T + 8_000)); // seven may have expired
    take(
        later,
        new Charge(younger, 1, LIMIT, new Stamp(epoch, 0, 2, (later + 2_000) * 1_000)),
        new Charge(younger, 1, LIMIT, new Stamp(epoch, 0, 1, (later + 1_000) * 1_000)));
    watermark(later + 10_000);
    watermark(later + 20_000);
    assertEquals(List.of(), memory.corrections);

    take(
        later + 30_000,
        new Charge(younger, 1, LIMIT, new Stamp(epoch, 0, 6, (later + 31_000) * 1_000)));
    watermark(later + 40_000);
    watermark(later + 50_000);
    assertEquals(Cause.GAP, only().cause());
  }

  @Test
  void gap_passedByTheWatermark_isCreditedOnce() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000), charge(EPOCH, 0, 1, 8, T + 8_000));
    watermark(T + 10_000);
    watermark(T + 20_000);

    Correction only = only();
    assertEquals(Cause.GAP, only.cause());
    assertEquals(8, only.chargedTokens());
    assertEquals((T + 2_000) * 1_000, only.fullAtEpochMicros());
    assertEquals(-6, only.driftTokens());
  }

  @Test
  void gap_bucketFullWithoutIt_creditsAtMostWhatIsMissingToFull() {
    // six charged at T + 5 s, when the bucket was full; a second later one more
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000));
    take(T + 6_000, charge(EPOCH, 0, 1, 8, T + 12_000));
    watermark(T + 10_000);
    watermark(T + 20_000);

    assertEquals((T + 7_000) * 1_000, only().fullAtEpochMicros());
    assertEquals(-6, only().driftTokens());
  }

  @Test
  void gap_beforeAnOvertakenRecord_creditsAtMostWhatThatRecordShowsMissing() {
    // as before, but the call of T + 6 s is recorded after a later one
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000));
    take(T + 6_500, charge(EPOCH, 0, 1, 9, T + 13_000));
    take(T + 6_000, charge(EPOCH, 0, 1, 8, T + 12_000));
    watermark(T + 10_000);
    watermark(T + 20_000);

    assertEquals((T + 8_000) * 1_000, only().fullAtEpochMicros());
  }

  @Test
  void gap_bucketNearlyFullBefore_isCreditedInFull() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000));
    watermark(T + 500);
    take(T + 900, charge(EPOCH, 0, 1, 2, T + 2_000));
    take(T + 1_000, charge(EPOCH, 0, 1, 9, T + 9_000));
    watermark(T + 10_000);
    watermark(T + 20_000);

    assertEquals((T + 3_000) * 1_000, only().fullAtEpochMicros());
  }

  /** Found by {@code ./weir sim}, seeds 202508 and 203907. */
  @Test
  void gap_counterWentBackUnseen_creditsAtMostWhatIsInFlight() {
    // five are missing at T; then the counter goes back by two, which what is charged since hides
    take(T, charge(EPOCH, 0, 1, 6, T + 6_000));
    take(T + 1_000, charge(EPOCH, 0, 1, 8, T + 8_000));
    take(T + 900, charge(EPOCH, 0, 1, 6, T + 6_000));
    take(T + 950, charge(EPOCH, 0, 1, 7, T + 7_000));
    watermark(T + 10_000);
    watermark(T + 20_000);

    assertEquals((T + 4_000) * 1_000, only().fullAtEpochMicros());
  }

  /** Found by {@code ./weir sim}, seed 301570. */
  @Test
  void gap_refilledBeforeTheCorrectionWasConfirmed_isNotCredited() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000));
    take(T + 9_000, new Charge(BUCKET, 1, LIMIT, null));
    // one charged at T + 10 s and refilled before the next; T has it charged with that
    take(T + 12_000, charge(EPOCH, 0, 1, 3, T + 13_000));
    take(T + 12_100, charge(EPOCH, 1, 1, 4, T + 14_000));
    watermark(T + 20_000);
    watermark(T + 30_000);

    Correction last = memory.corrections.get(memory.corrections.size() - 1);
    assertEquals(Cause.GAP, last.cause());
    assertEquals((T + 14_000) * 1_000, last.fullAtEpochMicros());
  }

  /**
   * Found by {@code ./weir sim}, seed 1064746: the record that would have shown the bucket as full
   * was in flight.
   */
  @Test
  void gap_chargeInFlightMayHaveMetAFullBucket_isNotCredited() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000));
    take(T + 500, charge(EPOCH, 0, 1, 7, T + 7_000)); // five that are never recorded
    watermark(T + 2_600);
    take(T + 10_500, charge(EPOCH, 0, 1, 9, T + 12_000)); // another's of T + 10 s is in flight
    watermark(T + 11_000);

    assertEquals(Cause.GAP, last().cause());
    assertEquals((T + 12_000) * 1_000, last().fullAtEpochMicros());
  }

  /** The record of the charge in flight shows how many tokens the bucket lacked. */
  @Test
  void gap_beforeAChargeRecordedLater_creditsWhatThatChargeShowsMissing() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000));
    take(T + 500, charge(EPOCH, 0, 1, 17, T + 17_000)); // fifteen that are never recorded
    take(T + 14_000, charge(EPOCH, 0, 1, 19, T + 19_000));
    watermark(T + 15_000);
    take(T + 13_000, charge(EPOCH, 0, 1, 18, T + 18_000));
    watermark(T + 17_000);

    assertEquals(Cause.GAP, last().cause());
    assertEquals((T + 15_000) * 1_000, last().fullAtEpochMicros());
  }

  /**
   * Found by {@code ./weir sim}, seed 1069498: an earlier error of the cache was taken for its
   * present error, so that nothing was credited.
   */
  @Test
  void gap_beforeARecordOvertakenByACorrection_isCreditedByTheTrueLevelThen() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000));
    take(T + 100, new Charge(BUCKET, 50, LIMIT, null));
    take(T + 2_000, charge(EPOCH, 1, 1, 12, T + 62_000));
    take(T + 200, charge(EPOCH, 0, 1, 2, T + 2_000));
    watermark(T + 4_500);
    watermark(T + 6_500);

    assertEquals(Cause.GAP, last().cause());
    assertEquals((T + 53_000) * 1_000, last().fullAtEpochMicros());
  }

  /** Tokens cut off by the debt cap do not count as refilled. */
  @Test
  void gap_afterADebitClampedAtTheDebtCap_isCredited() {
    take(T, charge(EPOCH, 0, 1, 41, T + 41_000)); // forty of other nodes are in flight
    take(T + 500, new Charge(BUCKET, 200, LIMIT, null));
    take(T + 1_500, charge(EPOCH, 1, 0, 41, T + 101_500));
    take(T + 1_000, charge(EPOCH, 0, 40, 40, T + 40_000));
    take(T + 8_000, charge(EPOCH, 1, 1, 47, T + 107_500));
    watermark(T + 20_000);
    watermark(T + 30_000);

    Correction last = memory.corrections.get(memory.corrections.size() - 1);
    assertEquals(Cause.GAP, last.cause());
    assertEquals((T + 102_500) * 1_000, last.fullAtEpochMicros());
  }

  @Test
  void gap_notPassedByTheWatermark_isInFlight() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000), charge(EPOCH, 0, 1, 8, T + 8_000));
    memory.tick();

    assertEquals(List.of(), memory.corrections);
  }

  @Test
  void gap_foundWhileACorrectionIsDue_isDriftUntilConfirmed() {
    take(T, charge(EPOCH, 0, 1, 1, T + 50_000), charge(EPOCH, 0, 1, 7, T + 56_000));
    watermark(T + 2_100); // the charges are remembered for the check after the next watermark
    take(T + 2_200, new Charge(BUCKET, 3, LIMIT, null));
    take(T + 2_300, new Charge(BUCKET, 2, LIMIT, null)); // due, but a second has not passed
    watermark(T + 2_400);
    assertEquals(10, accuracy().driftNowTokens());

    watermark(T + 4_000);
    take(T + 4_100, charge(EPOCH, 2, 1, 8, T + 57_000));

    assertEquals(0, accuracy().driftNowTokens());
  }

  @Test
  void gap_recordedAfterAll_creditIsTakenBack() {
    take(T, charge(EPOCH, 0, 1, 1, T + 50_000), charge(EPOCH, 0, 1, 8, T + 57_000));
    watermark(T + 10_000);
    watermark(T + 10_100);
    take(T, charge(EPOCH, 0, 6, 7, T + 56_000));
    watermark(T + 12_000); // a bucket is corrected once a second until it shows a correction

    assertEquals(
        List.of(Cause.GAP, Cause.OVERLAP),
        memory.corrections.stream().map(Correction::cause).toList());
    assertEquals((T + 57_000) * 1_000, memory.corrections.get(1).fullAtEpochMicros());
    assertEquals(0, memory.corrections.get(1).driftTokens());
  }

  /** Found by {@code ./weir sim}, seed 7437. */
  @Test
  void gap_epochBeganNearlyFull_isCreditedInFull() {
    take(T, charge(EPOCH, 0, 10, 10, T + 10_000));
    take(T + 9_600, charge((T + 9_500) * 1_000, 0, 1, 8, T + 17_500));
    watermark(T + 20_000);
    watermark(T + 30_000);

    Correction last = memory.corrections.get(memory.corrections.size() - 1);
    assertEquals(Cause.GAP, last.cause());
    assertEquals((T + 11_000) * 1_000, last.fullAtEpochMicros());
  }

  /** Found by {@code ./weir sim}, seeds 37936, 54906 and 60920. */
  @Test
  void twoGaps_bucketNearlyFullAfterwards_creditTogetherAtMostWhatWasMissing() {
    // two charged at T + 100 ms and two at T + 300 ms; without them full long before T + 5 s
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000));
    take(T + 200, charge(EPOCH, 0, 1, 4, T + 4_000));
    watermark(T + 2_300);
    take(T + 5_000, charge(EPOCH, 0, 1, 7, T + 7_000));
    watermark(T + 5_100);
    // the two that this counter shows besides may have found the bucket full
    assertEquals((T + 7_000) * 1_000, only().fullAtEpochMicros());

    watermark(T + 10_000);
    watermark(T + 20_000);

    Correction last = memory.corrections.get(memory.corrections.size() - 1);
    assertEquals(-4, last.driftTokens());
    assertEquals((T + 6_000) * 1_000, last.fullAtEpochMicros());
  }

  /** The same charges, never recorded: they are credited like any other gap. */
  @Test
  void firstRecordUnstamped_earlierChargesNeverRecorded_areCredited() {
    take(T + 50, new Charge(BUCKET, 1, LIMIT, null));
    long epoch = (T + 100) * 1_000;
    take(T + 200, charge(epoch, 1, 1, 1, T + 4_000));
    watermark(T + 4_000);
    watermark(T + 8_000);

    Correction last = memory.corrections.get(memory.corrections.size() - 1);
    assertEquals(Cause.GAP, last.cause());
    assertTrue(last.fullAtEpochMicros() < (T + 4_000) * 1_000, last::toString);
  }

  /**
   * Found by {@code ./weir sim}, seeds 500 and 3573: tokens already refilled were debited again.
   */
  @Test
  void gap_recordedAfterAll_takesBackAtMostItsCredit() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000));
    take(T + 20_000, charge(EPOCH, 0, 1, 9, T + 21_000)); // 7 were charged and refilled between
    watermark(T + 25_000);
    watermark(T + 26_000);
    assertEquals(Cause.GAP, only().cause());
    assertEquals((T + 21_000) * 1_000, only().fullAtEpochMicros());

    take(T + 10_000, charge(EPOCH, 0, 7, 8, T + 17_000));
    watermark(T + 40_000);

    Correction last = memory.corrections.get(memory.corrections.size() - 1);
    assertEquals(Cause.OVERLAP, last.cause());
    assertEquals((T + 21_000) * 1_000, last.fullAtEpochMicros());
    assertEquals(9, last.totalTokens());
  }

  /** Found by {@code ./weir sim}, seed 1017828: tokens refilled since the credit were debited. */
  @Test
  void gap_recordedAfterAll_takesBackOnlyWhatWasNotRefilledMeanwhile() {
    take(T, charge(EPOCH, 0, 1, 11, T + 11_000));
    watermark(T + 3_000);
    watermark(T + 4_000);
    assertEquals((T + 1_000) * 1_000, only().fullAtEpochMicros());
    take(T + 5_000, charge(EPOCH, 1, 1, 12, T + 6_000)); // it stood full for 4 s

    take(T, charge(EPOCH, 0, 10, 10, T + 10_000));
    watermark(T + 6_000);

    assertEquals(Cause.OVERLAP, last().cause());
    assertEquals((T + 12_000) * 1_000, last().fullAtEpochMicros());
  }

  @Test
  void gap_recordedAfterAll_bucketNeverFull_takesBackTheWholeCredit() {
    take(T, charge(EPOCH, 0, 1, 50, T + 50_000), charge(EPOCH, 0, 1, 60, T + 60_000));
    watermark(T + 3_000);
    watermark(T + 4_000);
    Correction gap = memory.corrections.get(memory.corrections.size() - 1);
    assertTrue(gap.fullAtEpochMicros() < (T + 60_000) * 1_000, "nothing was given");

    take(T, charge(EPOCH, 0, 58, 59, T + 59_000));
    watermark(T + 5_000);

    Correction last = memory.corrections.get(memory.corrections.size() - 1);
    assertEquals((T + 60_000) * 1_000, last.fullAtEpochMicros());
  }

  /**
   * Found by {@code ./weir sim}, seed 4027591: later charges, some always in flight, hid that the
   * charges of the gap had been recorded.
   */
  @Test
  void gap_recordedAfterAll_creditIsTakenBackThoughLaterChargesAreInFlight() {
    take(T, quotaCharge(0, 1, 1), quotaCharge(0, 1, 8));
    watermark(T + 3_000);
    watermark(T + 4_000);
    assertEquals(-6, only().driftTokens());

    take(T + 5_000, quotaCharge(1, 1, 20)); // eleven of another node are in flight
    take(T, quotaCharge(0, 6, 7));
    take(T + 9_000, quotaCharge(1, 1, 30)); // nine more
    take(T + 4_900, quotaCharge(1, 11, 19));
    watermark(T + 8_000);

    assertEquals(Cause.OVERLAP, last().cause());
    assertEquals(0, last().driftTokens());
  }

  /**
   * Found by {@code ./weir sim}, seed 50004349: until the next check, recorded charges of a gap hid
   * charges in flight, and a quota was credited twice.
   */
  @Test
  void gap_recordedAfterAll_doesNotHideChargesInFlightBeforeTheNextCheck() {
    take(T, quotaCharge(0, 1, 1), quotaCharge(0, 1, 8));
    watermark(T + 3_000);
    watermark(T + 4_000);
    assertEquals(2, only().totalTokens());

    take(T + 5_000, quotaCharge(1, 1, 20)); // eleven of another node are in flight
    take(T, quotaCharge(0, 6, 7));
    memory.takeCacheLoss("g1", T + 5_100);
    memory.tick();

    assertEquals(Cause.RESTORE, last().cause());
    assertEquals(20, last().totalTokens());
  }

  /** Regression: a correction under the deny limit debited what it should have credited. */
  @Test
  void gap_bucketKnownOnlyFromRefusalsUnderDeny_isNotCorrected() {
    Stamp full = new Stamp(EPOCH, 0, 60, (T + 50) * 1_000);
    take(T + 50, new Charge(BUCKET, 0, TokenBucketLimit.DENY, full));
    watermark(T + 5_000);
    watermark(T + 10_000);
    memory.takeCacheLoss("g1", T + 10_050);
    memory.tick();
    watermark(T + 20_000);

    assertEquals(List.of(), memory.corrections);
    assertEquals(1, memory.restored.size());
  }

  /** Found by {@code ./weir sim}, seed 2667. */
  @Test
  void gap_bucketLostTwiceSince_isCredited() {
    take(T, charge(EPOCH, 0, 1, 8, T + 8_000));
    take(T + 100, charge((T + 100) * 1_000, 0, 1, 1, T + 1_100));
    take(T + 200, charge((T + 200) * 1_000, 0, 1, 1, T + 1_200));
    watermark(T + 10_000);
    watermark(T + 20_000);

    Correction last = memory.corrections.get(memory.corrections.size() - 1);
    assertEquals(Cause.GAP, last.cause());
    assertEquals((T + 3_000) * 1_000, last.fullAtEpochMicros());
  }
}
