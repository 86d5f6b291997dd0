// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.aggregator.count.CountSettings;
import io.weir.aggregator.count.Memory;
import io.weir.limits.BucketLimit;
import io.weir.limits.LimitChange;
import io.weir.limits.QuotaLimit;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.correction.Correction;
import io.weir.topics.calls.CallBatchWriter;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CallSettlement;
import io.weir.topics.model.Charge;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.Stamp;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** The audit of a bucket whose limit changes. */
final class BucketLimitChangeTest {
  private static final long HOUR_MICROS = 3_600_000_000L;
  private static final long T = 1_700_000_000_000L;
  private static final long EPOCH = (T - 1_000) * 1_000;
  private static final long T_MICROS = T * 1_000;
  private static final String BUCKET = "w1:{4:acme}:5:burst";
  private static final TokenBucketLimit LARGE = new TokenBucketLimit(1_000, 1, HOUR_MICROS);
  private static final TokenBucketLimit SMALL = new TokenBucketLimit(10, 1, HOUR_MICROS);

  private final Memory memory = new Memory(new CountSettings(10_000, 2_000, 600_000, 36_000_000));
  private long sequence;

  @Test
  void fullAt_capacityLowered_keepsWhatIsLeftUpToTheNewCapacity() {
    LimitChange lowered = Objects.requireNonNull(LimitChange.of(LARGE, SMALL, T_MICROS));

    assertEquals(T_MICROS, lowered.fullAtMicros(T_MICROS + 900 * HOUR_MICROS));
    assertEquals(T_MICROS + 6 * HOUR_MICROS, lowered.fullAtMicros(T_MICROS + 996 * HOUR_MICROS));
    // a debt stays: 5 tokens are owed
    assertEquals(T_MICROS + 15 * HOUR_MICROS, lowered.fullAtMicros(T_MICROS + 1_005 * HOUR_MICROS));
  }

  @Test
  void fullAt_capacityRaised_grantsNothing() {
    LimitChange raised = Objects.requireNonNull(LimitChange.of(SMALL, LARGE, T_MICROS));

    assertEquals(T_MICROS + 1_000 * HOUR_MICROS, raised.fullAtMicros(T_MICROS + 10 * HOUR_MICROS));
    assertEquals(T_MICROS + 990 * HOUR_MICROS, raised.fullAtMicros(T_MICROS));
  }

  @Test
  void fullAt_rateChanged_keepsWholeTokens() {
    TokenBucketLimit fast = new TokenBucketLimit(10, 1, 1_000_000);
    LimitChange faster = Objects.requireNonNull(LimitChange.of(SMALL, fast, T_MICROS));

    // 5.5 of 10 are left, and half a token is dropped
    assertEquals(
        T_MICROS + 5_000_000, faster.fullAtMicros(T_MICROS + 4 * HOUR_MICROS + HOUR_MICROS / 2));
  }

  /** Capacity 1,000 at one an hour, 900 used; lowered to 10. */
  @Test
  void capacityLowered_thenAnUnstampedCall_leavesNoHugeDebt() {
    take(T, stamped(LARGE, 0, 900, 900, T_MICROS + 900 * HOUR_MICROS));
    take(T + 1_000, stamped(SMALL, 0, 1, 901, T_MICROS + HOUR_MICROS));
    take(T + 2_000, new Charge(BUCKET, 1, SMALL, null));

    assertEquals(T_MICROS + 2 * HOUR_MICROS, last().fullAtEpochMicros());
    assertEquals(SMALL, last().limit());
  }

  /** The same while a correction of the old limit is in flight, when no stamp can be trusted. */
  @Test
  void capacityLowered_whileACorrectionIsUnconfirmed_leavesNoHugeDebt() {
    take(T, stamped(LARGE, 0, 900, 900, T_MICROS + 900 * HOUR_MICROS));
    take(T + 1_000, new Charge(BUCKET, 1, LARGE, null));
    assertEquals(T_MICROS + 901 * HOUR_MICROS, last().fullAtEpochMicros());

    take(T + 2_000, stamped(SMALL, 0, 1, 901, T_MICROS + HOUR_MICROS));
    take(T + 3_000, new Charge(BUCKET, 1, SMALL, null));

    // 99 were left, which fill the bucket; then two were taken
    assertEquals((T + 2_000) * 1_000 + 2 * HOUR_MICROS, last().fullAtEpochMicros());
  }

  @Test
  void capacityRaised_whileACorrectionIsUnconfirmed_grantsNoCapacity() {
    take(T, stamped(SMALL, 0, 9, 9, T_MICROS + 9 * HOUR_MICROS));
    take(T + 1_000, new Charge(BUCKET, 1, SMALL, null));
    take(T + 2_000, stamped(LARGE, 0, 1, 10, T_MICROS + 1_000 * HOUR_MICROS));
    take(T + 3_000, new Charge(BUCKET, 1, LARGE, null));
    watermark(T + 20_000);

    // nothing was left but what a second refills; 1,000 less that were missing, and then two more
    assertEquals(T_MICROS + 1_002 * HOUR_MICROS, last().fullAtEpochMicros());
  }

  @Test
  void lateRecordUnderTheOldLimit_doesNotRestoreThatLimit() {
    take(T, stamped(LARGE, 0, 900, 900, T_MICROS + 900 * HOUR_MICROS));
    take(T + 2_000, stamped(SMALL, 0, 1, 902, T_MICROS + HOUR_MICROS));
    take(T + 1_000, stamped(LARGE, 0, 1, 901, T_MICROS + 901 * HOUR_MICROS));
    take(T + 3_000, new Charge(BUCKET, 1, SMALL, null));

    assertEquals(SMALL, last().limit());
    assertEquals(T_MICROS + 2 * HOUR_MICROS, last().fullAtEpochMicros());
  }

  /**
   * Redis is unavailable, and the nodes have two versions of the policies: Redis has cut nothing.
   */
  @Test
  void unstampedCalls_underTwoLimits_areDebitedTheirCost() {
    take(T, stamped(LARGE, 0, 50, 50, T_MICROS + 50 * HOUR_MICROS));
    take(T + 61_000, new Charge(BUCKET, 1, LARGE, null));
    take(T + 1_000, new Charge(BUCKET, 1, SMALL, null));
    take(T + 62_000, new Charge(BUCKET, 1, LARGE, null));
    watermark(T + 90_000);

    assertEquals(T_MICROS + 53 * HOUR_MICROS, last().fullAtEpochMicros());
    assertEquals(LARGE, last().limit());
  }

  /** A rollout: both versions decide, a call each. */
  @Test
  void quotaUnderTwoLimits_publishesNothing() {
    long ends = T_MICROS + 24 * HOUR_MICROS;
    for (int call = 1; call <= 100; call++) {
      long capacity = call % 2 == 0 ? 1_000 : 2_000;
      take(T + call * 100L, stamped(new QuotaLimit(capacity, ends), 0, 1, call, ends));
    }

    assertEquals(List.of(), memory.corrections);
  }

  /** Of 100 tokens 150 were used, 50 of them without the cache, which knows of them since. */
  @Test
  void quotaRaised_usageAlreadyKnown_publishesNothing() {
    long ends = T_MICROS + 24 * HOUR_MICROS;
    take(T, stamped(new QuotaLimit(100, ends), 0, 100, 100, ends));
    take(T + 1_000, new Charge(BUCKET, 50, new QuotaLimit(100, ends), null));
    take(T + 2_000, stamped(new QuotaLimit(100, ends), 1, 0, 100, ends));
    assertEquals(150, last().totalTokens());
    int before = memory.corrections.size();

    take(T + 3_000, stamped(new QuotaLimit(200, ends), 1, 1, 101, ends));

    assertEquals(before, memory.corrections.size());
  }

  /**
   * Found by {@code ./weir sim}, seed 58182: a debt was refunded after the limit had been changed.
   * The node of the new limit gives nothing by a correction of the old one, and refuses every call.
   */
  @Test
  void refundUnderTheOldLimit_refusalShowsItMissing_isCorrectedUnderTheNewLimit() {
    TokenBucketLimit old = new TokenBucketLimit(10, 1, HOUR_MICROS);
    TokenBucketLimit inForce = new TokenBucketLimit(20, 1, HOUR_MICROS);
    take(T, stamped(old, 0, 1, 1, T_MICROS + HOUR_MICROS));
    CallEvent open = call(T + 1_000, new Charge(BUCKET, 200, old, null));
    takeLine(T + 1_000, open);
    long owed = T_MICROS + 201 * HOUR_MICROS;
    take(T + 2_000, stamped(old, 1, 0, 1, owed));
    takeLine(T + 2_500, open.settledAt(new CallSettlement(1, T + 2_500)));
    take(T + 3_000, stamped(inForce, 1, 0, 1, owed + 10 * HOUR_MICROS));
    assertEquals(old, last().limit(), "the correction that refunds");
    long refund = last().version();

    take(T + 5_000, stamped(inForce, refund, 0, 1, owed + 10 * HOUR_MICROS));

    assertEquals(inForce, last().limit());
    assertEquals(refund + 1, last().version());
    assertFullInHours(12);
  }

  /**
   * A charge and its whole refund are no charge, too, but the cache does not know of the refund.
   */
  @Test
  void fullRefund_thenChargeUnderAnotherLimit_keepsTheRefund() {
    for (int left : new int[] {0, 1}) {
      String bucket = BUCKET + left;
      TokenBucketLimit before = new TokenBucketLimit(100, 1, HOUR_MICROS);
      TokenBucketLimit after = new TokenBucketLimit(200, 1, HOUR_MICROS);
      Stamp first = new Stamp(EPOCH, 0, 50, T_MICROS + 50 * HOUR_MICROS);
      CallEvent refunded = call(T, new Charge(bucket, 50, before, first));
      takeLine(T, refunded);
      takeLine(T + 50, refunded.settledAt(new CallSettlement(left, T + 50)));
      Stamp second = new Stamp(EPOCH, 0, 100, T_MICROS + 200 * HOUR_MICROS);
      take(T + 100, new Charge(bucket, 50, after, second));
      take(T + 2_000, new Charge(bucket, 1, after, null));
      watermark(T + 20_000);

      assertFullInHours(left + 151);
    }
  }

  @Test
  void chargeUnderAnotherLimit_afterARefusalWithAnOpenCorrection_isCountedOnce() {
    TokenBucketLimit before = new TokenBucketLimit(10, 1, HOUR_MICROS);
    TokenBucketLimit after = new TokenBucketLimit(200, 1, HOUR_MICROS);
    memory.takeCacheLoss("gen2", T - 10, T - 5);
    memory.tick();
    take(T, new Charge(BUCKET, 0, before, new Stamp(T_MICROS, 0, 0, T_MICROS)));
    Stamp first = new Stamp(T_MICROS, 0, 100, T_MICROS + 100 * HOUR_MICROS);
    take(T + 1, new Charge(BUCKET, 100, after, first));
    Stamp second = new Stamp(T_MICROS, 0, 101, T_MICROS + 101 * HOUR_MICROS);
    take(T + 1_500, new Charge(BUCKET, 1, after, second));
    watermark(T + 20_000);

    assertFullInHours(101);
  }

  /** Regression: what was lost in a flush was not debited if the policy denied for a while. */
  @Test
  void epochFirstSeenInARefusalUnderDeny_isDebitedWhatThePreviousLacked() {
    TokenBucketLimit limit = new TokenBucketLimit(100, 1, HOUR_MICROS);
    take(T, stamped(limit, 0, 100, 100, T_MICROS + 100 * HOUR_MICROS));
    long epoch = (T + 2_000) * 1_000;
    Stamp denied = new Stamp(epoch, 0, 1, (T + 3_000) * 1_000);
    take(T + 3_000, new Charge(BUCKET, 0, TokenBucketLimit.DENY, denied));
    take(T + 2_000, new Charge(BUCKET, 1, limit, new Stamp(epoch, 0, 1, epoch + HOUR_MICROS)));
    watermark(T + 40_000);

    assertFullInHours(101);
  }

  /** A credit under a fast limit is a very long time under a slow one. */
  @Test
  void gapCredit_underAMuchSlowerLimit_staysInRange() {
    long year = 366L * 86_400 * 1_000_000;
    TokenBucketLimit fast = new TokenBucketLimit(100_000_000_000L, 1_000_000_000L, 1_000_000);
    TokenBucketLimit slow = new TokenBucketLimit(10, 1, year);
    take(T, stamped(fast, 0, 1, 1, T_MICROS + 50_000_000));
    take(T + 10, stamped(fast, 0, 1, 40_000_000_001L, T_MICROS + 90_000_000));
    watermark(T + 4_000);
    watermark(T + 8_000);
    take(T + 8_100, stamped(slow, 1, 1, 40_000_000_002L, (T + 8_100) * 1_000 + year));
    take(T + 8_200, stamped(slow, 1, 1, 40_000_000_005L, (T + 8_200) * 1_000 + 5 * year));
    watermark(T + 12_000);
    watermark(T + 16_000);
    take(T + 5, stamped(fast, 0, 30_000_000_000L, 30_000_000_001L, T_MICROS + 80_000_000));
    watermark(T + 40_000);

    assertTrue(last().fullAtEpochMicros() >= 0, () -> last().toString());
    assertTrue(last().fullAtEpochMicros() <= Stamp.MAX_FULL_AT_MICROS, () -> last().toString());
  }

  private void assertFullInHours(long hours) {
    double inHours = (double) (last().fullAtEpochMicros() - T_MICROS) / HOUR_MICROS;
    assertEquals((double) hours, inHours, 0.01, () -> memory.corrections.toString());
  }

  private Correction last() {
    return memory.corrections.get(memory.corrections.size() - 1);
  }

  private static Charge stamped(
      BucketLimit limit, long version, long cost, long charged, long fullAtMicros) {
    return new Charge(BUCKET, cost, limit, new Stamp(EPOCH, version, charged, fullAtMicros));
  }

  private void take(long at, Charge charge) {
    takeLine(at, call(at, charge));
  }

  private CallEvent call(long at, Charge charge) {
    return new CallEvent(
        "id" + sequence,
        false,
        "acme",
        "-",
        "calls",
        Math.max(1, charge.cost()),
        charge.cost() > 0,
        charge.stamp() == null ? DecidedBy.FAIL_OPEN : DecidedBy.CACHE,
        null,
        1,
        at,
        null,
        List.of(charge));
  }

  private void takeLine(long at, CallEvent call) {
    BatchHeader header = new BatchHeader("n", T - 1_000, sequence + 1, 1, T - 900, sequence, false);
    memory.take(header, CallBatchWriter.encode(List.of(call)), at + 20);
    sequence++;
    memory.tick();
  }

  private void watermark(long at) {
    memory.take(
        new BatchHeader("n", T - 1_000, sequence, 0, at, sequence, false), new byte[0], at + 1);
    memory.tick();
  }
}
