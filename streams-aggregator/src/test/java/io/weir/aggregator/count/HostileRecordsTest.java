// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.BucketLimit;
import io.weir.limits.QuotaLimit;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.correction.Correction;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CallSettlement;
import io.weir.topics.model.Charge;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.PartitionProgress.Counters;
import io.weir.topics.model.Stamp;
import io.weir.topics.wire.CallLineCodec;
import io.weir.topics.wire.CorrectionCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A client, or a writer of the calls topic, must not be able to stop the aggregator. */
final class HostileRecordsTest {
  private static final CountSettings SETTINGS =
      new CountSettings(10_000, 2_000, 600_000, 3_600_000, 10_000);

  private static final long T = 1_700_000_000_000L;
  private static final long MOST = CallEvent.MAX_QUANTITY;
  private static final BucketLimit HOUR = new TokenBucketLimit(100, 1, 3_600_000_000L);
  private static final BucketLimit QUOTA = new QuotaLimit(100, (T + 100_000) * 1_000);
  private static final String BUCKET = "w1:{4:acme}:5:burst";

  private final Memory memory = new Memory(SETTINGS);
  private long sequence;
  private long lines;

  @Test
  void unboundedDebits_saturateTheBucket_andTheCountingGoesOn() throws Exception {
    for (int i = 0; i < 2_000; i++) {
      take(call("a" + i, MOST, new Charge(BUCKET, MOST, HOUR, null)));
    }

    assertSaturatedAndAlive();
  }

  @Test
  void unboundedDebitsOfAQuota_saturateIt_andTheCountingGoesOn() throws Exception {
    for (int i = 0; i < 2_000; i++) {
      take(call("a" + i, MOST, new Charge(BUCKET, MOST, QUOTA, null)));
    }

    assertSaturatedAndAlive();
    Correction newest = memory.corrections.get(memory.corrections.size() - 1);
    assertTrue(newest.totalTokens() >= MOST, "used up: " + newest.totalTokens());
  }

  @Test
  void unboundedSettlements_saturateTheBucket_andTheCountingGoesOn() throws Exception {
    for (int i = 1; i <= 2_000; i++) {
      Stamp stamp = new Stamp(T * 1_000, 0, i, (T + i) * 1_000);
      CallEvent call = call("a" + i, 1, new Charge(BUCKET, 1, HOUR, stamp));
      take(call);
      take(call.settledAt(new CallSettlement(MOST, T + 1)));
    }

    assertSaturatedAndAlive();
  }

  @ParameterizedTest
  @ValueSource(strings = {"epoch", "charged", "version", "full_at_us", "decided_at_ms", "cost"})
  void numberOutOfRange_isQuarantined_andItsMemberNamed(String member) {
    String line = canonicalLine();
    String hostile =
        line.replaceFirst("\"" + member + "\":\\d+", "\"" + member + "\":" + Long.MAX_VALUE);

    takeLines(hostile, canonicalLine());

    assertEquals(new Counters(2, 1, 0, 0, 1), memory.counter.progress().counters());
    assertTrue(
        memory.refusals.get(0).contains(member), () -> member + ": " + memory.refusals.get(0));
    assertAlive();
  }

  @ParameterizedTest
  @ValueSource(strings = {"epoch", "charged", "version", "full_at_us"})
  void largestAcceptedNumbers_areCounted(String member) throws Exception {
    String line = canonicalLine();
    String extreme = line.replaceFirst("\"" + member + "\":\\d+", "\"" + member + "\":" + MOST);

    takeLines(extreme, canonicalLine(), extreme, canonicalLine());

    assertEquals(0, memory.counter.progress().counters().quarantined());
    assertAlive();
    assertCorrectionsCanBeRead();
  }

  private static String canonicalLine() {
    Stamp stamp = new Stamp(T * 1_000, 1, 5, (T + 5_000) * 1_000);
    return new String(
        CallLineCodec.encode(call("x", 3, new Charge(BUCKET, 3, HOUR, stamp))),
        StandardCharsets.UTF_8);
  }

  private void assertSaturatedAndAlive() throws MalformedRecordException {
    assertAlive();
    assertCorrectionsCanBeRead();
    memory.restart();
    assertAlive();
  }

  private void assertCorrectionsCanBeRead() throws MalformedRecordException {
    for (Correction correction : memory.corrections) {
      assertEquals(correction, CorrectionCodec.decode(CorrectionCodec.encode(correction)));
    }
  }

  /** A call of another client is still counted, and its window closed. */
  private void assertAlive() {
    long before = memory.counter.progress().counters().counted();
    take(call("other" + sequence, 7));
    assertEquals(before + 1, memory.counter.progress().counters().counted());
    memory.tick();
  }

  private static CallEvent call(String id, long cost, Charge... charges) {
    return new CallEvent(
        id,
        false,
        "acme",
        "GET /" + id,
        CallEvent.DEFAULT_METER,
        cost,
        true,
        DecidedBy.CACHE,
        null,
        1,
        T + 1,
        null,
        List.of(charges));
  }

  private void take(CallEvent call) {
    takeLines(new String(CallLineCodec.encode(call), StandardCharsets.UTF_8));
  }

  private void takeLines(String... texts) {
    byte[] value = (String.join("\n", texts) + "\n").getBytes(StandardCharsets.UTF_8);
    sequence++;
    memory.take(
        new BatchHeader("n", 1, sequence, texts.length, T, lines, false),
        value,
        T + 500 * sequence);
    lines += texts.length;
  }
}
