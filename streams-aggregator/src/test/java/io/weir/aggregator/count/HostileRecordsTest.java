// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.aggregator.Calls;
import io.weir.aggregator.RawCall;
import io.weir.limits.BilledIn;
import io.weir.limits.BillingPeriod;
import io.weir.limits.BucketLimit;
import io.weir.limits.FixedWindowLimit;
import io.weir.limits.QuotaLimit;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.correction.Correction;
import io.weir.topics.calls.CallBatchReader;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CallSettlement;
import io.weir.topics.model.Charge;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.PartitionProgress.Counters;
import io.weir.topics.model.Stamp;
import io.weir.topics.model.UsagePosition;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.CorrectionCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
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
    takeLines(canonicalLine(member, Long.MAX_VALUE), canonicalLine());

    assertEquals(new Counters(2, 1, 0, 0, 1), counters());
    assertTrue(
        memory.refusals.get(0).contains(member), () -> member + ": " + memory.refusals.get(0));
    assertAlive();
  }

  @ParameterizedTest
  @ValueSource(strings = {"epoch", "charged", "version", "full_at_us"})
  void largestAcceptedNumbers_areCounted(String member) throws Exception {
    byte[] extreme = canonicalLine(member, MOST);

    takeLines(extreme, canonicalLine(), extreme, canonicalLine());

    assertEquals(0, counters().quarantined());
    assertAlive();
    assertCorrectionsCanBeRead();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "client | 0 | client is missing",
        "cost | 0 | cost must be between 1 and 9007199254740991, but is 0",
        "decided_by | 0 | unknown decided_by: 0",
        "decided_by | 99 | unknown decided_by: 99",
        "decided_at_ms | 9000000000000 | decided_at_ms is in the future",
        "decided_at_ms | 0 | decided_at_ms is too old",
        "algorithm | 9 | unknown algorithm: 9",
      })
  void hostileLine_isQuarantinedAlone(String member, long number, String reason) {
    takeLines(canonicalLine(), canonicalLine(member, number), canonicalLine());

    assertEquals(new Counters(3, 2, 0, 0, 1), counters());
    assertEquals(List.of("2: " + reason), memory.refusals);
    assertAlive();
  }

  @Test
  void settlementOfADeniedCall_isQuarantined() {
    RawCall settled = new RawCall("x", "acme", "GET /x", T + 1).with("settled_at_ms", T + 2);

    takeLines(settled.with("allowed", 0).toBytes(), canonicalLine());

    assertEquals(new Counters(2, 1, 0, 0, 1), counters());
    assertEquals(List.of("1: a denied call cannot be settled"), memory.refusals);
    assertAlive();
  }

  @Test
  void valueThatIsNotABatch_isQuarantinedAsOneLine() {
    byte[] valid = canonicalLine();
    Random random = new Random(1);
    byte[] noise = new byte[1_000];
    random.nextBytes(noise);
    List<byte[]> values =
        List.of(
            noise,
            Arrays.copyOf(valid, valid.length / 2),
            RawCall.concat(valid, new byte[] {0x0a, 0}), // a block without calls
            canonicalLine("client", 5), // the dictionary has four texts
            canonicalLine("client", -1),
            new RawCall("x", "acme", "GET /x", T).with("charges", 1).toBytes(),
            new RawCall("x", "acme", "GET /x", T).extraEntry(10, 3).toBytes());

    for (byte[] value : values) {
      takeValue(3, value);
    }

    assertEquals(new Counters(values.size(), 0, 0, 0, values.size()), counters());
    for (int i = 0; i < values.size(); i++) {
      assertTrue(memory.refusals.get(i).startsWith("0: "), memory.refusals.get(i));
      assertArrayEquals(values.get(i), memory.refused.get(i));
    }
    assertAlive();
  }

  @Test
  void everyTruncationOfABatch_isQuarantined() {
    byte[] valid = Calls.value(validCalls());
    for (int length = 0; length < valid.length; length++) {
      takeValue(validCalls().size(), Arrays.copyOf(valid, length));
    }

    assertEquals(new Counters(valid.length, 0, 0, 0, valid.length), counters());
    assertAlive();
  }

  @Test
  void mutatedBatches_areCountedOrQuarantined_andNeverStopTheCounter() throws Exception {
    for (int seed = 1; seed <= 40; seed++) {
      takeMutations(seed, 500);
    }
  }

  private static void takeMutations(long seed, int count) throws MalformedRecordException {
    Random random = new Random(seed);
    HostileRecordsTest partition = new HostileRecordsTest();
    byte[] valid = Calls.value(validCalls());
    CallBatchReader reader = new CallBatchReader();
    for (int i = 0; i < count; i++) {
      byte[] value = mutated(random, valid);
      int lines = linesOf(reader, value);
      int headerCount = random.nextInt(4) == 0 ? validCalls().size() : Math.max(1, lines);
      Counters before = partition.counters();
      int refusedBefore = partition.memory.refused.size();
      try {
        partition.takeValue(headerCount, value);
        if (i % 50 == 0) {
          partition.memory.tick();
        }
      } catch (RuntimeException stopped) {
        throw new AssertionError("seed " + seed + ", mutation " + i, stopped);
      }
      Counters after = partition.counters();
      String which = "seed " + seed + ", mutation " + i;
      assertEquals(before.received() + Math.max(1, lines), after.received(), which);
      if (lines != headerCount) {
        assertEquals(before.counted() + before.duplicate(), after.counted() + after.duplicate());
        assertArrayEquals(value, partition.memory.refused.get(refusedBefore), which);
      } else {
        partition.assertRefusedLinesAreKept(reader, refusedBefore, which);
      }
    }
    partition.assertAlive();
    partition.assertCorrectionsCanBeRead();
  }

  private static int linesOf(CallBatchReader reader, byte[] value) {
    try {
      return reader.read(value);
    } catch (MalformedRecordException notABatch) {
      return 0;
    }
  }

  /** Asserts that the quarantine has each refused line, as a batch that contains only this line. */
  private void assertRefusedLinesAreKept(CallBatchReader batch, int from, String which)
      throws MalformedRecordException {
    CallBatchReader only = new CallBatchReader();
    for (int i = from; i < memory.refused.size(); i++) {
      int line = Integer.parseInt(memory.refusals.get(i).split(":", 2)[0]);
      assertEquals(1, only.read(memory.refused.get(i)), which);
      assertEquals(batch.id(line), only.id(1), which);
      assertEquals(batch.digest(line), only.digest(1), which);
    }
  }

  private static byte[] mutated(Random random, byte[] valid) {
    byte[] value = valid.clone();
    for (int changes = random.nextInt(3); changes >= 0; changes--) {
      int at = random.nextInt(value.length);
      int to = Math.min(value.length, at + 1 + random.nextInt(8));
      byte[] start = Arrays.copyOf(value, at);
      byte[] middle = Arrays.copyOfRange(value, at, to);
      byte[] end = Arrays.copyOfRange(value, to, value.length);
      switch (random.nextInt(6)) {
        case 0 -> value[at] ^= (byte) (1 << random.nextInt(8));
        case 1 -> value[at] = (byte) random.nextInt(256);
        case 2 -> value = RawCall.concat(start, middle, middle, end);
        case 3 -> value = RawCall.concat(start, end, canonicalLine());
        case 4 -> value = RawCall.concat(value, valid);
        default -> {
          random.nextBytes(middle);
          value = RawCall.concat(start, middle, end);
        }
      }
    }
    return value;
  }

  /** Returns calls with every kind of charge, a settlement and a billing period. */
  private static List<CallEvent> validCalls() {
    Stamp stamp = new Stamp(T * 1_000, 1, 5, (T + 5_000) * 1_000);
    Stamp next = new Stamp(T * 1_000, 2, 9, (T + 9_000) * 1_000);
    BucketLimit window = new FixedWindowLimit(100, (T + 60_000) * 1_000, 60_000_000);
    CallEvent one = call("x", 3, new Charge(BUCKET, 3, HOUR, stamp));
    CallEvent two =
        call(
            "0190b2f4-7c1e-7000-8000-000000000001",
            4,
            new Charge(BUCKET, 4, HOUR, next),
            new Charge(BUCKET + "2", 4, QUOTA, null),
            new Charge(BUCKET + "3", 4, window, stamp));
    CallSettlement settlement = new CallSettlement(5, T + 2, new UsagePosition(0, "n", 1, 1));
    BillingPeriod period =
        BillingPeriod.own("2023-11-10", "Europe/Berlin", T - 300_000_000, T + 300_000_000);
    return List.of(
        one, two, one.settledAt(settlement), two.billedIn(new BilledIn(period, null)), one);
  }

  private static byte[] canonicalLine() {
    return canonicalLine("cost", 3);
  }

  /** Returns a batch of one call with one charge. The given member has the given number. */
  private static byte[] canonicalLine(String member, long number) {
    Map<String, Long> charge = new HashMap<>();
    charge.put("charge_cost", 3L);
    charge.put("epoch", T * 1_000);
    charge.put("charged", 5L);
    charge.put("version", 1L);
    charge.put("full_at_us", (T + 5_000) * 1_000);
    charge.put("algorithm", 1L);
    charge.put("capacity", 100L);
    charge.put("refill_tokens", 1L);
    charge.put("refill_period_us", 3_600_000_000L);
    RawCall call = new RawCall("x", "acme", "GET /x", T + 1);
    if (charge.containsKey(member)) {
      charge.put(member, number);
    } else {
      call.with(member, number);
    }
    return call.charge(BUCKET, charge).toBytes();
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

  private Counters counters() {
    return memory.counter.progress().counters();
  }

  private void take(CallEvent call) {
    memory.take(nextHeader(1), Calls.value(List.of(call)), T + 500 * sequence);
  }

  private void takeLines(byte[]... singles) {
    takeValue(singles.length, RawCall.concat(singles));
  }

  private void takeValue(int count, byte[] value) {
    memory.takeRaw(BatchHeaderCodec.encode(nextHeader(count)), value, T + 500 * sequence);
  }

  private BatchHeader nextHeader(int count) {
    sequence++;
    BatchHeader header = new BatchHeader("n", 1, sequence, count, T, lines, false);
    lines += count;
    return header;
  }
}
