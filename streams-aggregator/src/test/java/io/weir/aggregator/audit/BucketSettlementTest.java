// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.aggregator.count.CountSettings;
import io.weir.aggregator.count.Memory;
import io.weir.limits.BucketLimit;
import io.weir.limits.QuotaLimit;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.correction.Correction;
import io.weir.limits.correction.Correction.Cause;
import io.weir.topics.calls.CallBatchWriter;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CallSettlement;
import io.weir.topics.model.Charge;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.PartitionAccuracy;
import io.weir.topics.model.Stamp;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The effect of a settlement on the buckets of its call. A token refills in a second. */
final class BucketSettlementTest {
  private static final CountSettings SETTINGS =
      new CountSettings(10_000, 2_000, 600_000, 3_600_000);

  private static final long T = 1_700_000_000_000L;
  private static final long EPOCH = (T - 1_000) * 1_000;
  private static final String BUCKET = "w1:{4:acme}:5:burst";
  private static final String QUOTA_BUCKET = "w1:{4:acme}:5:month@1700000100";
  private static final BucketLimit LIMIT = new TokenBucketLimit(100, 1, 1_000_000);
  private static final BucketLimit QUOTA = new QuotaLimit(100, (T + 100_000) * 1_000);

  private final Memory memory = new Memory(SETTINGS);
  private long sequence;
  private long lines;

  @Test
  void trueUp_isDebited_andTheQuotaToo() {
    CallEvent call = call("a", T, 8, stamped(8, 8, T + 8_000), quota(8, 8));
    take(T, call);
    take(T + 100, settled(call, 12));

    Correction burst = of(BUCKET);
    assertEquals(Cause.SETTLE, burst.cause());
    assertEquals((T + 12_000) * 1_000, burst.fullAtEpochMicros());
    assertEquals(8, burst.chargedTokens());
    assertEquals(12, of(QUOTA_BUCKET).totalTokens());
    assertEquals(Cause.SETTLE, of(QUOTA_BUCKET).cause());
  }

  @Test
  void refund_isCredited_andTheQuotaToo() {
    CallEvent call = call("a", T, 8, stamped(8, 8, T + 8_000), quota(8, 8));
    take(T, call);
    take(T + 100, settled(call, 3));

    assertEquals((T + 3_000) * 1_000, of(BUCKET).fullAtEpochMicros());
    assertEquals(3, of(QUOTA_BUCKET).totalTokens());
  }

  @Test
  void settlement_isNeitherADecisionNorAnOutage() {
    CallEvent call = call("a", T, 8, stamped(8, 8, T + 8_000));
    take(T, call);
    take(T + 100, settled(call, 12));

    PartitionAccuracy.Figures figures = accuracy();
    assertEquals(1, figures.decided());
    assertEquals(0, figures.outageTokens());
    assertEquals(4, figures.driftNowTokens());
    assertEquals(Map.of(Cause.SETTLE, 1L), corrections());
  }

  @Test
  void settledTwice_movesTheBucketOnce() {
    CallEvent call = call("a", T, 8, stamped(8, 8, T + 8_000));
    take(T, call);
    take(T + 100, settled(call, 12));
    take(T + 5_000, settled(call, 12), settled(call, 3));

    assertEquals((T + 12_000) * 1_000, of(BUCKET).fullAtEpochMicros());
  }

  @Test
  void refundOfABucketThatIsFullAgain_leavesItFull() {
    CallEvent call = call("a", T, 8, stamped(8, 8, T + 8_000));
    take(T, call);
    take(T + 12_000, settled(call, 0));
    take(T + 14_000, call("b", T + 13_900, 1, stamped(1, 9, T + 14_900)));
    take(T + 20_000, call("c", T + 19_900, 1, new Charge(BUCKET, 1, LIMIT, null)));

    List<Correction> all = memory.corrections;
    assertEquals(
        (T + 20_900) * 1_000,
        all.get(all.size() - 1).fullAtEpochMicros(),
        "a charge of a full bucket begins at its own time");
  }

  /**
   * Once, the refund was given twice: it made a time at which the bucket had not been full look
   * like one, and what was recorded late of it was forgiven.
   */
  @Test
  void refundOfRefilledTokens_laterUnstampedCallIsDebitedInFull() {
    CallEvent call = call("a", T, 10, stamped(10, 10, T + 10_000));
    take(T, call);
    for (int second = 10; second <= 50; second++) {
      long at = T + second * 1_000L;
      take(at, call("s" + second, at, 1, stamped(1, second + 1, at + 1_000)));
    }
    take(T + 50_200, settled(call, 1));
    Stamp stamp = new Stamp(EPOCH, of(BUCKET).version(), 52, (T + 52_000) * 1_000);
    Charge shown = new Charge(BUCKET, 1, LIMIT, stamp);
    take(T + 51_100, call("s51", T + 51_000, 1, shown));

    take(T + 52_500, call("late", T + 43_000, 8, new Charge(BUCKET, 8, LIMIT, null)));

    Correction last = memory.corrections.get(memory.corrections.size() - 1);
    assertEquals((T + 60_000) * 1_000, last.fullAtEpochMicros(), "all eight are missing");
  }

  @Test
  void refundOfAnUntrackedBucket_publishesNothing() {
    take(T, call("a", T, 8));
    take(T + 100, settled(call("a", T, 8, stamped(8, 8, T + 8_000), quota(8, 8)), 3));

    assertEquals(List.of(), memory.corrections);
  }

  @Test
  void trueUpOfAnUntrackedBucket_isDebitedFromFull_butNotAQuota() {
    take(T, call("a", T, 8));
    take(T + 100, settled(call("a", T, 8, stamped(8, 8, T + 8_000), quota(8, 8)), 12));

    assertEquals(1, memory.corrections.size());
    assertEquals((T + 4_000) * 1_000, of(BUCKET).fullAtEpochMicros());
    assertEquals(Cause.SETTLE, of(BUCKET).cause());
  }

  @Test
  void quotaWhosePeriodIsOver_isLeftAlone() {
    CallEvent call = call("a", T, 8, quota(8, 8));
    take(T, call);
    take(T + 100_001, settled(call, 12));

    assertEquals(List.of(), memory.corrections);
  }

  @Test
  void bucketThatWasNotCharged_isLeftAlone() {
    CallEvent call = call("a", T, 8, stamped(0, 8, T + 8_000));
    take(T, call);
    take(T + 100, settled(call, 12));

    assertEquals(List.of(), memory.corrections);
  }

  @Test
  void stampsThatShowTheCorrection_areTrustedAgain() {
    CallEvent call = call("a", T, 8, stamped(8, 8, T + 8_000));
    take(T, call);
    take(T + 100, settled(call, 12));
    Stamp corrected = new Stamp(EPOCH, 1, 9, (T + 13_000) * 1_000);
    take(T + 200, call("b", T + 150, 1, new Charge(BUCKET, 1, LIMIT, corrected)));
    take(T + 20_000);

    assertEquals(1, memory.corrections.size());
    assertEquals(0, accuracy().driftNowTokens());
  }

  private static CallEvent call(String id, long at, long cost, Charge... charges) {
    return new CallEvent(
        id,
        false,
        "acme",
        "-",
        "calls",
        cost,
        true,
        DecidedBy.CACHE,
        null,
        1,
        at,
        null,
        List.of(charges));
  }

  private static CallEvent settled(CallEvent call, long actualCost) {
    return call.settledAt(new CallSettlement(actualCost, call.decidedAtEpochMillis() + 50));
  }

  private static Charge stamped(long cost, long charged, long fullAtMillis) {
    return new Charge(BUCKET, cost, LIMIT, new Stamp(EPOCH, 0, charged, fullAtMillis * 1_000));
  }

  private static Charge quota(long cost, long charged) {
    return new Charge(
        QUOTA_BUCKET, cost, QUOTA, new Stamp(EPOCH, 0, charged, (T + 100_000) * 1_000));
  }

  private void take(long at, CallEvent... calls) {
    if (calls.length > 0) {
      sequence++;
    }
    memory.take(
        new BatchHeader("n", T - 1_000, sequence, calls.length, at - 10, lines, false),
        CallBatchWriter.encode(List.of(calls)),
        at);
    lines += calls.length;
    memory.tick();
  }

  private Correction of(String bucket) {
    List<Correction> found =
        memory.corrections.stream().filter(one -> one.bucket().equals(bucket)).toList();
    assertEquals(1, found.size(), () -> memory.corrections.toString());
    return found.get(0);
  }

  private Map<Cause, Long> corrections() {
    return published().corrections();
  }

  private PartitionAccuracy.Figures accuracy() {
    return published().policies().getOrDefault("burst", PartitionAccuracy.Figures.NONE);
  }

  private PartitionAccuracy published() {
    memory.counter.publishAccuracy();
    @Nullable PartitionAccuracy newest = memory.accuracy;
    if (newest == null) {
      throw new AssertionError("no accuracy was published");
    }
    return newest;
  }
}
