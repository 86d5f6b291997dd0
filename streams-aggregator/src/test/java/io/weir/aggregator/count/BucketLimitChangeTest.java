// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.BucketLimit;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.Correction;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.LimitChange;
import io.weir.topics.model.QuotaLimit;
import io.weir.topics.model.Stamp;
import io.weir.topics.model.TokenBucketLimit;
import io.weir.topics.wire.CallLineCodec;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What the records make of a bucket whose limit has changed. */
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
    LimitChange lowered = new LimitChange(LARGE, SMALL, T_MICROS);

    assertEquals(T_MICROS, lowered.fullAtMicros(T_MICROS + 900 * HOUR_MICROS));
    assertEquals(T_MICROS + 6 * HOUR_MICROS, lowered.fullAtMicros(T_MICROS + 996 * HOUR_MICROS));
    // a debt stays: 5 tokens are owed
    assertEquals(T_MICROS + 15 * HOUR_MICROS, lowered.fullAtMicros(T_MICROS + 1_005 * HOUR_MICROS));
  }

  @Test
  void fullAt_capacityRaised_grantsNothing() {
    LimitChange raised = new LimitChange(SMALL, LARGE, T_MICROS);

    assertEquals(T_MICROS + 1_000 * HOUR_MICROS, raised.fullAtMicros(T_MICROS + 10 * HOUR_MICROS));
    assertEquals(T_MICROS + 990 * HOUR_MICROS, raised.fullAtMicros(T_MICROS));
  }

  @Test
  void fullAt_rateChanged_keepsWholeTokens() {
    TokenBucketLimit fast = new TokenBucketLimit(10, 1, 1_000_000);
    LimitChange faster = new LimitChange(SMALL, fast, T_MICROS);

    // 5.5 of 10 are left, and half a token is dropped
    assertEquals(
        T_MICROS + 5_000_000, faster.fullAtMicros(T_MICROS + 4 * HOUR_MICROS + HOUR_MICROS / 2));
  }

  /** Capacity 1,000 at one an hour, 900 used; lowered to 10. */
  @Test
  void capacityLowered_callWithoutTheCache_leavesNoDebtOfHundredsOfHours() {
    take(T, stamped(LARGE, 0, 900, 900, T_MICROS + 900 * HOUR_MICROS));
    take(T + 1_000, stamped(SMALL, 0, 1, 901, T_MICROS + HOUR_MICROS));
    take(T + 2_000, new Charge(BUCKET, 1, SMALL, null));

    assertEquals(T_MICROS + 2 * HOUR_MICROS, last().fullAtEpochMicros());
    assertEquals(SMALL, last().limit());
  }

  /** The same while a correction of the old limit is on its way, when no stamp can be trusted. */
  @Test
  void capacityLowered_whileACorrectionIsUnconfirmed_leavesNoDebtOfHundredsOfHours() {
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
    promise(T + 20_000);

    // nothing was left but what a second refills; 1,000 less that were missing, and then two more
    assertEquals(T_MICROS + 1_002 * HOUR_MICROS, last().fullAtEpochMicros());
  }

  @Test
  void recordOfTheOldLimit_thatComesLate_changesNothingBack() {
    take(T, stamped(LARGE, 0, 900, 900, T_MICROS + 900 * HOUR_MICROS));
    take(T + 2_000, stamped(SMALL, 0, 1, 902, T_MICROS + HOUR_MICROS));
    take(T + 1_000, stamped(LARGE, 0, 1, 901, T_MICROS + 901 * HOUR_MICROS));
    take(T + 3_000, new Charge(BUCKET, 1, SMALL, null));

    assertEquals(SMALL, last().limit());
    assertEquals(T_MICROS + 2 * HOUR_MICROS, last().fullAtEpochMicros());
  }

  /** Redis is away, and the nodes have two versions of the policies: Redis has cut nothing. */
  @Test
  void callsWithoutTheCache_underTwoLimits_costWhatTheyCost() {
    take(T, stamped(LARGE, 0, 50, 50, T_MICROS + 50 * HOUR_MICROS));
    take(T + 61_000, new Charge(BUCKET, 1, LARGE, null));
    take(T + 1_000, new Charge(BUCKET, 1, SMALL, null));
    take(T + 62_000, new Charge(BUCKET, 1, LARGE, null));
    promise(T + 90_000);

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

  /** Of 100 tokens 150 were used, 50 of them without the cache, whose debt cap has cut them off. */
  @Test
  void quotaRaised_tellsTheCacheWhatWasUsed() {
    long ends = T_MICROS + 24 * HOUR_MICROS;
    take(T, stamped(new QuotaLimit(100, ends), 0, 100, 100, ends));
    take(T + 1_000, new Charge(BUCKET, 50, new QuotaLimit(100, ends), null));
    take(T + 2_000, stamped(new QuotaLimit(100, ends), 1, 0, 100, ends));
    int before = memory.corrections.size();

    take(T + 3_000, stamped(new QuotaLimit(200, ends), 1, 1, 101, ends));

    assertEquals(before + 1, memory.corrections.size());
    assertEquals(151, last().totalTokens());
    assertEquals(200, last().limit().capacityTokens());
  }

  private Correction last() {
    return memory.corrections.get(memory.corrections.size() - 1);
  }

  private static Charge stamped(
      BucketLimit limit, long version, long cost, long charged, long fullAtMicros) {
    return new Charge(BUCKET, cost, limit, new Stamp(EPOCH, version, charged, fullAtMicros));
  }

  private void take(long at, Charge charge) {
    CallEvent call =
        new CallEvent(
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
    byte[] line = CallLineCodec.encode(call);
    byte[] value = Arrays.copyOf(line, line.length + 1);
    value[line.length] = '\n';
    BatchHeader header = new BatchHeader("n", T - 1_000, sequence + 1, 1, T - 900, sequence, false);
    memory.take(header, value, at + 20);
    sequence++;
    memory.tick();
  }

  private void promise(long at) {
    memory.take(
        new BatchHeader("n", T - 1_000, sequence, 0, at, sequence, false), new byte[0], at + 1);
    memory.tick();
  }
}
