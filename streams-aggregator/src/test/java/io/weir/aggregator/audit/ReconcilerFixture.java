// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.aggregator.count.CountSettings;
import io.weir.aggregator.count.Memory;
import io.weir.limits.BucketLimit;
import io.weir.limits.QuotaLimit;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.correction.Correction;
import io.weir.topics.calls.CallBatchWriter;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.PartitionAccuracy;
import io.weir.topics.model.Stamp;
import java.util.List;
import java.util.stream.Stream;

/**
 * A counter of one partition in memory, with methods for tests of {@link BucketReconciler}: calls
 * of one bucket, and low watermarks. A token refills in a second.
 */
abstract class ReconcilerFixture {
  static final long T = 1_700_000_000_000L;
  static final long EPOCH = (T - 1_000) * 1_000;
  static final String BUCKET = "w1:{4:acme}:5:burst";
  static final BucketLimit LIMIT = new TokenBucketLimit(100, 1, 1_000_000);

  private static final CountSettings SETTINGS =
      new CountSettings(10_000, 2_000, 600_000, 3_600_000);

  final Memory memory = new Memory(SETTINGS);
  private long sequence;
  private long lines;

  static Charge charge(long epoch, long version, long cost, long charged, long fullAt) {
    return new Charge(BUCKET, cost, LIMIT, new Stamp(epoch, version, charged, fullAt * 1_000));
  }

  void take(long at, Charge... charges) {
    takeCalls(
        at,
        Stream.of(charges)
            .map(charge -> call(at, Math.max(1, charge.cost()), charge))
            .toArray(CallEvent[]::new));
  }

  void takeCalls(long at, CallEvent... calls) {
    takeAppended(at + 20, calls);
  }

  /** Takes calls that the broker appends at a time, whatever the cache's clock says. */
  void takeAppended(long appendedAt, CallEvent... calls) {
    sequence++;
    memory.take(header(calls.length, T - 900), CallBatchWriter.encode(List.of(calls)), appendedAt);
    lines += calls.length;
  }

  BatchHeader header(int count, long lowWatermark) {
    return new BatchHeader("n", T - 1_000, sequence, count, lowWatermark, lines, false);
  }

  void watermark(long at) {
    memory.take(header(0, at), new byte[0], at + 1);
    memory.tick();
  }

  static CallEvent call(long at, long cost, Charge charge) {
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

  Correction last() {
    return memory.corrections.get(memory.corrections.size() - 1);
  }

  Correction only() {
    assertEquals(1, memory.corrections.size(), () -> memory.corrections.toString());
    return memory.corrections.get(0);
  }

  static Charge quotaCharge(long version, long cost, long charged) {
    long end = T + 3_600_000;
    return new Charge(
        BUCKET,
        cost,
        new QuotaLimit(1_000, end * 1_000),
        new Stamp(EPOCH, version, charged, end * 1_000));
  }

  PartitionAccuracy published() {
    memory.counter.publishAccuracy();
    PartitionAccuracy newest = memory.accuracy;
    if (newest == null) {
      throw new AssertionError("no accuracy was published");
    }
    return newest;
  }

  PartitionAccuracy.Figures accuracy() {
    return published().policies().getOrDefault("burst", PartitionAccuracy.Figures.NONE);
  }
}
