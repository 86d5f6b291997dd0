// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.aggregator.count.CountSettings;
import io.weir.aggregator.count.Memory;
import io.weir.limits.BucketLimit;
import io.weir.limits.QuotaLimit;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.correction.Correction;
import io.weir.limits.correction.Correction.Cause;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.PartitionAccuracy;
import io.weir.topics.model.Stamp;
import io.weir.topics.wire.BatchLines;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Which corrections each disturbance leads to. A token refills in a second. */
final class BucketReconcilerTest {
  private static final CountSettings SETTINGS =
      new CountSettings(10_000, 2_000, 600_000, 3_600_000);

  private static final long T = 1_700_000_000_000L;
  private static final long EPOCH = (T - 1_000) * 1_000;
  private static final String BUCKET = "w1:{4:acme}:5:burst";
  private static final BucketLimit LIMIT = new TokenBucketLimit(100, 1, 1_000_000);

  private final Memory memory = new Memory(SETTINGS);
  private long sequence;
  private long lines;

  @Test
  void stampsInOrder_nothingIsPublished() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000), charge(EPOCH, 0, 2, 3, T + 3_000));
    watermark(T + 10_000);

    assertEquals(List.of(), memory.corrections);
  }

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
    take(T + 500, charge(EPOCH, 0, 1, 7, T + 7_000)); // five that nobody records
    watermark(T + 2_600);
    take(T + 10_500, charge(EPOCH, 0, 1, 9, T + 12_000)); // another's of T + 10 s is in flight
    watermark(T + 11_000);

    assertEquals(Cause.GAP, last().cause());
    assertEquals((T + 12_000) * 1_000, last().fullAtEpochMicros());
  }

  /** Once the charge in flight is recorded, it shows what the bucket lacked. */
  @Test
  void gap_beforeAChargeRecordedLater_creditsWhatThatChargeShowsMissing() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000));
    take(T + 500, charge(EPOCH, 0, 1, 17, T + 17_000)); // fifteen that nobody records
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
    watermark(T + 2_100); // the charges are noted, to be checked behind the next watermark
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

  @Test
  void counterThatWentBack_isDebitedTheLostCharges() {
    take(T, charge(EPOCH, 0, 10, 10, T + 10_000));
    take(T + 100, charge(EPOCH, 0, 1, 4, T + 4_000));

    assertEquals(Cause.OVERLAP, only().cause());
    assertEquals(4, only().chargedTokens());
    assertEquals((T + 11_000) * 1_000, only().fullAtEpochMicros());
    assertEquals(7, only().driftTokens());
  }

  @Test
  void unstampedCall_isDebited() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000));
    take(T + 100, new Charge(BUCKET, 5, LIMIT, null));

    assertEquals(Cause.UNSTAMPED, only().cause());
    assertEquals((T + 6_000) * 1_000, only().fullAtEpochMicros());
    assertEquals(5, accuracy().outageTokens());
    assertEquals(5, accuracy().outageOpenTokens());
  }

  @Test
  void unstampedCallOfAnUnknownBucket_isDebitedFromFull() {
    take(T, new Charge(BUCKET, 5, LIMIT, null));

    assertEquals((T + 5_000) * 1_000, only().fullAtEpochMicros());
    assertEquals(0, only().chargedTokens());
  }

  @Test
  void freshEpoch_ofABucketNotFull_isDebited() {
    take(T, charge(EPOCH, 0, 30, 30, T + 30_000));
    take(T + 200, charge((T + 150) * 1_000, 0, 1, 1, T + 1_150));

    assertEquals(Cause.FRESH_EPOCH, only().cause());
    assertEquals((T + 150) * 1_000, only().epoch());
    assertEquals((T + 31_000) * 1_000, only().fullAtEpochMicros());
    assertEquals(1, only().chargedTokens());
  }

  @Test
  void freshEpoch_ofAFullBucket_publishesNothing() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000));
    take(T + 20_000, charge((T + 20_000) * 1_000, 0, 1, 1, T + 21_000));
    watermark(T + 60_000);

    assertEquals(List.of(), memory.corrections);
  }

  /** Found by {@code ./weir sim}, seed 301575. */
  @Test
  void epochBegunByACorrection_firstChargedWhenFullAgain_countsFromFull() {
    take(T, charge(EPOCH, 0, 10, 10, T + 10_000));
    take(T + 20_000, charge((T + 1_000) * 1_000, 0, 1, 1, T + 21_000));

    assertEquals(Cause.FRESH_EPOCH, only().cause());
    assertEquals((T + 21_000) * 1_000, only().fullAtEpochMicros());
  }

  /** Found by {@code ./weir sim}, seed 10425. */
  @Test
  void freshEpoch_beganWithLessThoughTheBucketWasFull_isCredited() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000));
    take(T + 20_000, charge((T + 19_000) * 1_000, 0, 1, 1, T + 60_000));

    assertEquals(Cause.FRESH_EPOCH, only().cause());
    assertEquals((T + 21_000) * 1_000, only().fullAtEpochMicros());
  }

  /** Found by {@code ./weir sim}, seed 21412: the limit was raised in the epoch. */
  @Test
  void freshEpoch_withLessAfterEarlierChargesOfIt_isBelieved() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000));
    take(T + 20_000, charge((T + 19_000) * 1_000, 0, 1, 3, T + 60_000));
    watermark(T + 20_500);

    assertEquals(List.of(), memory.corrections);
  }

  /** Found by {@code ./weir sim}, seed 97091. */
  @Test
  void epoch_laterChargeRecordedFirst_isFullNoEarlierThanTheCacheSays() {
    // five are missing until T + 5 s; of the epoch since T + 4 s the fifth token was charged at T +
    // 9 s
    take(T, charge(EPOCH, 0, 5, 5, T + 5_000));
    take(T + 9_500, charge((T + 4_000) * 1_000, 0, 1, 6, T + 14_000));

    assertEquals(Cause.FRESH_EPOCH, only().cause());
    assertEquals((T + 14_000) * 1_000, only().fullAtEpochMicros());
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

  /** The records know of 99 by a refusal alone when the cache begins an epoch that is full. */
  @Test
  void quota_refusalRecordedFirst_isCorrectedInTheNextEpoch() {
    BucketLimit quota = new QuotaLimit(100, (T + 86_400_000) * 1_000);
    String bucket = "w1:{4:acme}:3:day@1700000000";
    long ends = (T + 86_400_000) * 1_000;
    long epoch = (T + 900) * 1_000;
    take(T, new Charge(bucket, 0, quota, new Stamp(EPOCH, 0, 99, ends)));
    take(T + 1_000, new Charge(bucket, 3, quota, new Stamp(epoch, 0, 3, ends)));
    take(T - 500, new Charge(bucket, 99, quota, new Stamp(EPOCH, 0, 99, ends)));
    watermark(T + 5_000);
    watermark(T + 20_000);

    Correction last = memory.corrections.get(memory.corrections.size() - 1);
    assertEquals(102, last.totalTokens());
    assertEquals(epoch, last.epoch());
  }

  /** A policy is made deny for a while, or lowered: Redis keeps what the bucket lacks. */
  @Test
  void refusals_underATemporaryLimit_changeNothing() {
    BucketLimit slow = new TokenBucketLimit(100, 1, 10_000_000);
    for (BucketLimit meanwhile : List.of(TokenBucketLimit.DENY, new TokenBucketLimit(10, 1, 9))) {
      String bucket = "w1:{4:acme}:5:c" + meanwhile.capacityTokens();
      take(T, new Charge(bucket, 60, slow, new Stamp(EPOCH, 0, 60, (T + 600_000) * 1_000)));
      Stamp full = new Stamp(EPOCH, 0, 60, (T + 1_000) * 1_000);
      take(T + 1_000, new Charge(bucket, 0, meanwhile, full));
      watermark(T + 20_000);
      watermark(T + 40_000);
      take(T + 50_000, new Charge(bucket, 1, slow, new Stamp(EPOCH, 0, 61, (T + 610_000) * 1_000)));
      watermark(T + 60_000);
      watermark(T + 80_000);

      assertEquals(List.of(), memory.corrections);
    }
  }

  /**
   * Found by {@code ./weir sim}, seeds 34521 and 48071: a call without the cache is recorded first,
   * and its correction begins an epoch over what three charges, not recorded yet, have left.
   */
  @Test
  void firstRecordUnstamped_earlierChargesAreBelieved_andDebitedOnce() {
    take(T + 50, new Charge(BUCKET, 1, LIMIT, null));
    long epoch = (T + 100) * 1_000;
    take(T + 200, charge(epoch, 1, 1, 1, T + 4_000));
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000));
    take(T + 10, charge(EPOCH, 0, 2, 3, T + 3_000));
    take(T + 1_300, charge(epoch, 1, 1, 2, T + 5_000));

    for (Correction correction : memory.corrections) {
      if (correction.epoch() == epoch) {
        long charged = correction.chargedTokens() - 1;
        assertTrue(
            correction.fullAtEpochMicros() >= (T + 4_000 + charged * 1_000) * 1_000,
            () -> "gives away what was charged: " + correction);
      }
    }
    Correction last = memory.corrections.get(memory.corrections.size() - 1);
    assertEquals(epoch, last.epoch());
    assertEquals((T + 6_000) * 1_000, last.fullAtEpochMicros(), "all five");
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
   * Found by {@code ./weir sim}, seed 4027591: later charges, of which some are always in flight,
   * hid that the charges of the gap had been recorded.
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

  private static Charge quotaCharge(long version, long cost, long charged) {
    long end = T + 3_600_000;
    return new Charge(
        BUCKET,
        cost,
        new QuotaLimit(100, end * 1_000),
        new Stamp(EPOCH, version, charged, end * 1_000));
  }

  /** Once, the bucket was forgotten as full, and what it lacked was credited as a gap. */
  @Test
  void refusalUnderAnotherLimit_recordedBeforeTheCharge_changesNothing() {
    BucketLimit slow = new TokenBucketLimit(100, 1, 10_000_000);
    for (BucketLimit meanwhile : List.of(TokenBucketLimit.DENY, new TokenBucketLimit(10, 1, 9))) {
      String bucket = "w1:{4:acme}:5:c" + meanwhile.capacityTokens();
      Stamp full = new Stamp(EPOCH, 0, 60, (T + 50) * 1_000);
      take(T + 50, new Charge(bucket, 0, meanwhile, full));
      take(T, new Charge(bucket, 60, slow, new Stamp(EPOCH, 0, 60, (T + 600_000) * 1_000)));
      watermark(T + 20_000);
      watermark(T + 40_000);
      take(T + 50_000, new Charge(bucket, 1, slow, new Stamp(EPOCH, 0, 61, (T + 610_000) * 1_000)));
      watermark(T + 60_000);
      watermark(T + 80_000);

      assertEquals(List.of(), memory.corrections);
    }
  }

  /** The same with two charges, recorded in order, and a cache loss afterwards. */
  @Test
  void refusalUnderAnotherLimit_overtakesSeveralCharges_lastChargeIsRestored() {
    BucketLimit slow = new TokenBucketLimit(100, 1, 10_000_000);
    Stamp full = new Stamp(EPOCH, 0, 60, (T + 50) * 1_000);
    take(T + 50, new Charge(BUCKET, 0, TokenBucketLimit.DENY, full));
    take(T, new Charge(BUCKET, 40, slow, new Stamp(EPOCH, 0, 40, (T + 400_000) * 1_000)));
    take(T + 20, new Charge(BUCKET, 20, slow, new Stamp(EPOCH, 0, 60, (T + 600_000) * 1_000)));
    memory.takeCacheLoss("g1", T + 60);
    memory.tick();

    assertEquals(slow, only().limit());
    assertEquals((T + 600_000) * 1_000, only().fullAtEpochMicros());
  }

  /** A new limit is known only from a charge that a refusal under the old limit has overtaken. */
  @Test
  void refusalUnderTheOldLimit_overtakesAChargeUnderTheNew_chargeIsRestored() {
    BucketLimit slow = new TokenBucketLimit(100, 1, 10_000_000);
    take(T, charge(EPOCH, 0, 10, 10, T + 10_000));
    take(T + 200, charge(EPOCH, 0, 0, 30, T + 30_000));
    Stamp newest = new Stamp(EPOCH, 0, 30, (T + 300_000) * 1_000);
    take(T + 100, new Charge(BUCKET, 20, slow, newest));
    memory.takeCacheLoss("g1", T + 300);
    memory.tick();

    assertEquals(slow, only().limit());
    assertEquals((T + 300_000) * 1_000, only().fullAtEpochMicros());
  }

  /** Once, a correction under the deny limit debited what it should have credited. */
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

  @Test
  void refusalAboveCapacityOrUnderDeny_isJudgedRight_evenWhileACorrectionIsOpen() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000));
    take(T + 1_500, new Charge(BUCKET, 1, LIMIT, null));

    takeCalls(T + 9_000, call(T + 9_000, 105, charge(EPOCH, 0, 0, 1, T + 9_000)));
    Stamp under = new Stamp(EPOCH, 0, 1, (T + 10_000) * 1_000);
    Charge denied = new Charge(BUCKET, 0, TokenBucketLimit.DENY, under);
    takeCalls(T + 10_000, call(T + 10_000, 1, denied));

    assertEquals(0, accuracy().wronglyDenied());
  }

  /**
   * Found by {@code ./weir sim}, seeds 313243, 607824 and many more: such calls were debited in
   * full, whatever had been refilled since.
   */
  @Test
  void unstampedCall_recordedAfterNewerOnes_debitsOnlyWhatIsNotRefilledSince() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000));
    take(T + 9_000, charge(EPOCH, 0, 1, 2, T + 10_000));
    watermark(T + 1);

    take(T + 7_000, new Charge(BUCKET, 5, LIMIT, null));

    assertEquals((T + 13_000) * 1_000, only().fullAtEpochMicros(), "two of five are back");
    take(T + 2_000, new Charge(BUCKET, 4, LIMIT, null));
    assertEquals((T + 13_000) * 1_000, last().fullAtEpochMicros(), "all four were before 7,000");
    take(T + 2_000, new Charge(BUCKET, 4, LIMIT, null));
    watermark(T + 9_500);
    assertEquals((T + 16_000) * 1_000, last().fullAtEpochMicros(), "one more is, and nothing else");
  }

  /**
   * Found by {@code ./weir sim}, seed 103: charges whose records were in flight, or lost with a
   * disk, had been refilled for long, and were owed in full at the next charge that was recorded.
   */
  @Test
  void chargesInFlight_whileACorrectionIsDue_countAsTheCacheShowsThem() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000));
    take(T + 500, new Charge(BUCKET, 1, LIMIT, null));
    take(T + 600, new Charge(BUCKET, 1, LIMIT, null));

    take(T + 60_000, charge(EPOCH, 1, 1, 51, T + 62_000));
    watermark(T + 1_000);

    assertEquals(51, last().chargedTokens());
    assertEquals(
        (T + 63_000) * 1_000, last().fullAtEpochMicros(), "the cache's, and one call more");
  }

  /** The same for a record of an epoch that has ended. */
  @Test
  void callOfAnEndedEpoch_recordedLate_debitsOnlyWhatIsNotRefilledSince() {
    take(T + 20_000, charge((T + 20_000) * 1_000, 0, 1, 1, T + 21_000));
    watermark(T + 1);

    take(T + 17_000, charge(EPOCH, 0, 5, 5, T + 22_000));

    assertEquals((T + 23_000) * 1_000, only().fullAtEpochMicros(), "three of five are back");
  }

  /**
   * Once, what a clock that was ahead had shown as a time at which the bucket was full forgave
   * every call that was let through after it had been set.
   */
  @Test
  void cacheClockAheadThenSetBack_laterUnstampedCallsAreDebitedInFull() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000));
    take(T + 3_700_000, charge(EPOCH, 0, 1, 2, T + 3_701_000));
    take(T + 111_000, charge(EPOCH, 0, 1, 3, T + 112_000));

    for (int i = 0; i < 5; i++) {
      take(T + 120_000, new Charge(BUCKET, 10, LIMIT, null));
    }
    watermark(T + 121_500);

    assertEquals((T + 170_000) * 1_000, last().fullAtEpochMicros(), "all fifty are missing");
  }

  /** The same for a node's clock; its call was clamped at the debt cap before the next stamp. */
  @Test
  void nodeClockAhead_laterUnstampedCallIsDebitedInFull_onceAStampIsBelieved() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000));
    take(T + 200_000, new Charge(BUCKET, 1, LIMIT, null));
    watermark(T + 100);
    long version = last().version();
    take(T + 10_000, charge(EPOCH, version, 1, 2, T + 14_000));

    take(T + 9_000, new Charge(BUCKET, 7, LIMIT, null));
    watermark(T + 9_500);

    assertEquals((T + 21_000) * 1_000, last().fullAtEpochMicros(), "all seven are missing");
  }

  /** Found by {@code ./weir sim}, seeds 7063 and 10425. */
  @Test
  void limitChange_whileTheCacheIsAway_isFollowed() {
    BucketLimit faster = new TokenBucketLimit(100, 2, 1_000_000);
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000));
    take(T + 2_000, new Charge(BUCKET, 6, faster, null));
    assertEquals(faster, only().limit());
    assertEquals((T + 5_000) * 1_000, only().fullAtEpochMicros());

    take(T + 1_900, new Charge(BUCKET, 2, LIMIT, null));
    watermark(T + 4_000);

    Correction last = memory.corrections.get(memory.corrections.size() - 1);
    assertEquals(faster, last.limit());
    assertEquals((T + 6_000) * 1_000, last.fullAtEpochMicros());
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

  @Test
  void lateRecord_bucketLostTwiceSince_isDebitedOnce() {
    take(T, charge(EPOCH, 0, 1, 8, T + 8_000));
    take(T + 100, charge((T + 100) * 1_000, 0, 1, 1, T + 1_100));
    take(T + 200, charge((T + 200) * 1_000, 0, 1, 1, T + 1_200));
    take(T, charge(EPOCH, 0, 7, 7, T + 7_000));
    watermark(T + 10_000);
    watermark(T + 20_000);

    Correction last = memory.corrections.get(memory.corrections.size() - 1);
    assertEquals((T + 10_000) * 1_000, last.fullAtEpochMicros());
  }

  @Test
  void correctionThatAStampShows_isConfirmed_andStampsAreTrustedAgain() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000));
    take(T + 100, new Charge(BUCKET, 5, LIMIT, null));
    take(T + 300, charge(EPOCH, 1, 1, 2, T + 7_000));

    assertEquals(1, memory.corrections.size());
    assertEquals(0, accuracy().outageOpenTokens());
    assertEquals(0, accuracy().driftNowTokens());
    assertEquals(1, published().delays().stream().mapToLong(count -> count).sum());
  }

  @Test
  void decisionsWhileTheCacheIsWrong_areCountedAsWrong() {
    take(T, charge(EPOCH, 0, 100, 100, T + 100_000));
    long fresh = (T + 100) * 1_000;
    take(T + 200, charge(fresh, 0, 1, 1, T + 1_100), charge(fresh, 0, 1, 2, T + 2_100));

    assertEquals(2, accuracy().wronglyAdmitted());
    assertEquals(3, accuracy().decided());
  }

  @Test
  void refusals_trueBucketHeldOneOfThem_countAsOneWrongRefusal() {
    take(T, charge(EPOCH, 0, 1, 1, T + 50_000), charge(EPOCH, 0, 1, 60, T + 100_000));
    watermark(T + 10_000);
    watermark(T + 10_100); // 58 tokens were never recorded, 49 of which can be given back
    Charge refusal = charge(EPOCH, 0, 0, 60, T + 100_000);
    takeCalls(T + 1, call(T + 1, 40, refusal), call(T + 1, 40, refusal), call(T + 1, 40, refusal));

    assertEquals(1, accuracy().wronglyDenied());
  }

  @Test
  void quotaThatWasLost_isRebuiltFromTheTotal() {
    BucketLimit quota = new QuotaLimit(50, (T + 3_600_000) * 1_000);
    long end = T + 3_600_000;
    take(T, new Charge(BUCKET, 30, quota, new Stamp(EPOCH, 0, 30, end * 1_000)));
    take(T + 9, new Charge(BUCKET, 2, quota, new Stamp((T + 5) * 1_000, 0, 2, end * 1_000)));

    assertEquals(Cause.FRESH_EPOCH, only().cause());
    assertEquals(32, only().totalTokens());
    assertEquals(2, only().chargedTokens());
  }

  @Test
  void cacheLoss_publishesLiveBuckets_thenRestoredOnceTheWatermarkPasses() {
    take(T, charge(EPOCH, 0, 30, 30, T + 30_000));
    memory.takeCacheLoss("g1", T + 50);
    memory.tick();

    assertEquals(Cause.RESTORE, only().cause());
    assertEquals(30, only().chargedTokens());
    assertEquals(List.of(), memory.restored);

    watermark(T + 51);
    memory.tick();

    assertEquals("g1", memory.restored.get(0).generation());
    assertEquals(1, memory.restored.get(0).buckets());
  }

  /** Found by {@code ./weir sim}, seeds 23620 and 64661. */
  @Test
  void cacheLoss_datedAheadOfTheBrokersClock_waitsForCallsUntilItsTime() {
    take(T, charge(EPOCH, 0, 30, 30, T + 30_000));
    memory.takeCacheLoss("g1", T + 1_800, T + 50);
    watermark(T + 1_800);
    memory.tick();
    assertEquals(List.of(), memory.restored);

    watermark(T + 1_801);
    memory.tick();
    assertEquals("g1", memory.restored.get(0).generation());
  }

  @Test
  void cacheLoss_datedFarAheadByANodesClock_isNotWaitedForThatLong() {
    take(T, charge(EPOCH, 0, 30, 30, T + 30_000));
    memory.takeCacheLoss("g1", T + 3_600_000, T + 50);
    watermark(T + 20_000);
    memory.tick();

    assertEquals("g1", memory.restored.get(0).generation());
  }

  @Test
  void callBeforeACacheLoss_recordedLate_isCorrectedBeforeRestoredIsPublished() {
    take(T, charge(EPOCH, 0, 30, 30, T + 30_000));
    memory.takeCacheLoss("g1", T + 50);
    memory.tick();
    take(T + 40, charge(EPOCH, 0, 5, 35, T + 35_000));
    assertEquals(List.of(), memory.restored);

    watermark(T + 51);

    assertEquals(2, memory.corrections.size());
    assertEquals(35, memory.corrections.get(1).chargedTokens());
    assertEquals((T + 35_000) * 1_000, memory.corrections.get(1).fullAtEpochMicros());
    assertEquals(1, memory.restored.size());
  }

  @Test
  void bucketThatIsFullForLong_isForgotten() {
    take(T, charge(EPOCH, 0, 30, 30, T + 30_000));
    watermark(T + 40_000);
    assertEquals(2, memory.buckets.size(), "the bucket and its timer");

    watermark(
        T
            + 30_000
            + BucketReconciler.KEPT_AFTER_FULL_MILLIS
            + BucketReconciler.GAP_GRACE_MILLIS
            + 1);

    assertEquals(0, memory.buckets.size());
  }

  @Test
  void restart_goesOnWhereItWas() {
    take(T, charge(EPOCH, 0, 10, 10, T + 10_000));
    memory.restart();
    take(T + 100, charge(EPOCH, 0, 1, 4, T + 4_000));
    memory.restart();
    take(T + 200, charge(EPOCH, 1, 1, 5, T + 12_000));

    assertEquals(Cause.OVERLAP, only().cause());
    assertEquals(3, accuracy().decided());
  }

  /** Found by {@code ./weir sim}, seed 315353: the charge looked like a counter that went back. */
  @Test
  void refusal_recordedBeforeTheChargeOfTheSameMillisecond_publishesNothing() {
    take(T, charge(EPOCH, 0, 0, 3, T + 3_000));
    take(T, charge(EPOCH, 0, 3, 3, T + 3_000));
    watermark(T + 10_000);
    watermark(T + 20_000);

    assertEquals(List.of(), memory.corrections);
  }

  @Test
  void refusal_byAnEndedEpoch_triggersAnotherCorrection() {
    take(T, charge(EPOCH, 0, 90, 90, T + 90_000));
    take(T + 1_000, charge(EPOCH + 900_000, 0, 50, 50, T + 51_000)); // back as full, and is not
    long version = only().version();
    take(T + 2_000, charge(EPOCH + 900_000, version, 1, 51, T + 142_000));
    memory.corrections.clear();

    // an older replica took over, unseen: it refuses, by the previous epoch
    take(T + 3_000, charge(EPOCH, 0, 0, 90, T + 93_000));

    assertEquals(Cause.OVERLAP, only().cause());
    assertEquals(EPOCH + 900_000, only().epoch());
  }

  @Test
  void forgottenBuckets_leaveNothingToScan() {
    for (int client = 0; client < 5_000; client++) {
      String bucket = "w1:{1:" + client + "}:5:burst";
      Stamp stamp = new Stamp(EPOCH, 0, 1, (T + 1_000) * 1_000);
      takeCalls(T, call(T, 1, new Charge(bucket, 1, LIMIT, stamp)));
    }
    watermark(T + 60_000);
    for (int i = 0; i < 40; i++) {
      memory.tick();
    }
    assertEquals(0, memory.buckets.size());
    long scannedBefore = memory.buckets.scanned();

    for (int i = 0; i < 1_000; i++) {
      watermark(T + 60_001 + i);
      memory.tick();
    }

    assertEquals(scannedBefore, memory.buckets.scanned(), "entries, those deleted included");
  }

  @Test
  void movedTimer_leavesNoCopy_andNoTimerOutlivesItsBucket() {
    for (int client = 0; client < 100; client++) {
      String bucket = "w1:{1:" + client + "}:5:burst";
      Stamp late = new Stamp(EPOCH, 0, 90, (T + 90_000) * 1_000);
      takeCalls(T, call(T, 90, new Charge(bucket, 90, LIMIT, late)));
      // a gap is looked at as soon as the watermark has passed it: long before the bucket is full
      Stamp gap = new Stamp(EPOCH, 0, 97, (T + 97_000) * 1_000);
      takeCalls(T + 100, call(T + 100, 1, new Charge(bucket, 1, LIMIT, gap)));
    }
    assertEquals(200, memory.buckets.size(), "each bucket, and one timer of it");

    watermark(T + 60_000);
    assertEquals(200, memory.buckets.size(), "looked at, and to be looked at again");
    watermark(T + 200_000);
    watermark(T + 300_000);

    assertEquals(0, memory.buckets.size());
  }

  @Test
  void waitingCorrection_isPublishedBeforeRestored_alsoAfterARestart() {
    take(T, charge(EPOCH, 0, 30, 30, T + 30_000));
    memory.takeCacheLoss("g1", T + 50);
    memory.tick();
    take(T + 40, charge(EPOCH, 0, 5, 35, T + 35_000));
    assertEquals(1, memory.corrections.size(), "the second waits for the first");

    memory.restart();
    memory.take(header(0, T + 51), new byte[0], T + 52);
    memory.counter.restore(() -> false);
    assertEquals(List.of(), memory.restored, "which corrections wait is not known again");
    memory.tick();
    memory.tick();

    assertEquals(35, memory.corrections.get(1).chargedTokens());
    assertEquals(1, memory.restored.size());
  }

  @Test
  void tenThousandWaitingBuckets_areNotReadForARecordOfAnother() {
    for (int client = 0; client < 10_000; client++) {
      String bucket = "w1:{1:" + client + "}:5:burst";
      for (int i = 0; i < 2; i++) { // the first is published, the second waits
        takeCalls(T, call(T, 1, new Charge(bucket, 1, LIMIT, null)));
      }
    }
    assertEquals(10_000, memory.corrections.size());
    long readBefore = memory.buckets.reads();

    for (int i = 0; i < 100; i++) {
      take(T + i, charge(EPOCH, 0, 1, i + 1, T + 1_000L * (i + 1)));
    }

    assertTrue(memory.buckets.reads() - readBefore < 300, "looked at buckets that wait");
    take(T + 1_000, charge(EPOCH, 0, 1, 101, T + 101_000));
    assertEquals(20_000, memory.corrections.size(), "then each is published");
  }

  @Test
  void outage_publishesABucketOnceASecond() {
    take(T, charge(EPOCH, 0, 1, 1, T + 1_000));
    for (int i = 1; i <= 50; i++) {
      take(T + i * 40L, new Charge(BUCKET, 1, LIMIT, null));
    }

    assertTrue(memory.corrections.size() <= 3, memory.corrections.size() + " corrections");
  }

  private static Charge charge(long epoch, long version, long cost, long charged, long fullAt) {
    return new Charge(BUCKET, cost, LIMIT, new Stamp(epoch, version, charged, fullAt * 1_000));
  }

  private void take(long at, Charge... charges) {
    takeCalls(
        at,
        Stream.of(charges)
            .map(charge -> call(at, Math.max(1, charge.cost()), charge))
            .toArray(CallEvent[]::new));
  }

  private void takeCalls(long at, CallEvent... calls) {
    sequence++;
    memory.take(header(calls.length, T - 900), BatchLines.encode(List.of(calls)), at + 20);
    lines += calls.length;
  }

  private BatchHeader header(int count, long lowWatermark) {
    return new BatchHeader("n", T - 1_000, sequence, count, lowWatermark, lines, false);
  }

  private void watermark(long at) {
    memory.take(header(0, at), new byte[0], at + 1);
    memory.tick();
  }

  private static CallEvent call(long at, long cost, Charge charge) {
    return new CallEvent(
        "id",
        false,
        "acme",
        "-",
        "calls",
        cost,
        charge.cost() > 0,
        DecidedBy.CACHE,
        null,
        1,
        at,
        null,
        List.of(charge));
  }

  private Correction last() {
    return memory.corrections.get(memory.corrections.size() - 1);
  }

  private Correction only() {
    assertEquals(1, memory.corrections.size(), () -> memory.corrections.toString());
    return memory.corrections.get(0);
  }

  private PartitionAccuracy published() {
    memory.counter.publishAccuracy();
    PartitionAccuracy newest = memory.accuracy;
    if (newest == null) {
      throw new AssertionError("no accuracy was published");
    }
    return newest;
  }

  private PartitionAccuracy.Figures accuracy() {
    return published().policies().getOrDefault("burst", PartitionAccuracy.Figures.NONE);
  }
}
