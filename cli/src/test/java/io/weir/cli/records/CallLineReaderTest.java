// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.records;

import static io.weir.cli.records.RandomBatches.bytes;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.BilledIn;
import io.weir.limits.BucketLimit;
import io.weir.limits.LimitAlgorithm;
import io.weir.topics.calls.CallBatchReader;
import io.weir.topics.calls.CallBatchWriter;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CallSettlement;
import io.weir.topics.model.Charge;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.Stamp;
import io.weir.topics.wire.MalformedRecordException;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The reader has rules of its own. It accepts and refuses the same values and lines as the reader
 * of the aggregator, and reads the same members and digests.
 */
final class CallLineReaderTest {
  private static final int BATCHES = 5_000;

  private final Rates rates = new Rates();
  private final CallLineReader reader = new CallLineReader(new Hash(7), rates);
  private final CallBatchReader aggregators = new CallBatchReader();
  private int goodLines;
  private int refusedLines;

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4})
  void read_randomBatch_agreesWithTheAggregator(long seed) {
    RandomBatches batches = new RandomBatches(seed);
    int refusedValues = 0;
    for (int i = 0; i < BATCHES; i++) {
      refusedValues += assertAgrees(batches.next()) ? 0 : 1;
      refusedValues += assertAgrees(batches.nextDamaged()) ? 0 : 1;
    }
    assertTrue(refusedValues > BATCHES / 10, () -> "too few values are refused");
    assertTrue(goodLines > BATCHES, () -> "too few lines are good: " + goodLines);
    assertTrue(refusedLines > BATCHES / 2, () -> "too few lines are refused: " + refusedLines);
  }

  /** Regression: the verifier accepted lines that the aggregator refused. */
  @ParameterizedTest(name = "[{index}] {0}")
  @CsvSource({
    "1 10 1 1000000, true",
    "1 0 1 1000000, true",
    "2 10 0 0 1700000000, true",
    "3 10 0 0 1700000000 60000000, true",
    "4 10 0 0 1700000000 60000000 4, true",
    "4 10 0 0 1700000000 60000000 61, false",
    "4 10 0 0 1700000000 60000000, false",
    "4 9007199254740991 0 0 1700000000 60000000 4, false",
    "0 10 1 1000000, false",
    "5 10 0 0 1700000000, false",
    "3 10 0 0 1700000000, false",
    "1 10 0 0 1700000000, false",
    "2 0 0 0 1700000000, false",
    "2 10, false",
    "1 10 0 1000000, false",
    "1 10 1 0, false",
  })
  void line_limitOfACharge_agreesWithTheAggregator(String members, boolean isGood) {
    String[] numbers = members.split(" ", -1);
    byte[] limit =
        bytes(
            out -> {
              for (int i = 0; i < numbers.length; i++) {
                out.writeUInt64(i + 1, Long.parseLong(numbers[i]));
              }
            });
    byte[] block =
        bytes(
            out -> {
              out.writeString(1, "acme");
              out.writeByteArray(2, limit);
              for (int field : new int[] {4, 5, 6, 10, 11, 12, 18, 19, 20, 21}) {
                out.writeUInt64(field, 1);
              }
              out.writeString(15, "a");
              out.writeSInt64(23, 1);
              out.writeSInt64(24, 1);
            });

    assertOneLine(isGood, block);
  }

  /** The call was decided at 2023-11-14T22:13:20Z. */
  @ParameterizedTest(name = "[{index}] {0}")
  @CsvSource(
      delimiter = '|',
      value = {
        "2023-11-10 | 1699554600000 | 1702146600000 | '' | 0 | true",
        "2023-11-14 | 1699986600000 | 1702578600000 | '' | 0 | false",
        "2023-11-14 | 1699986600000 | 1702578600000 | 2023-10-14 | 1697308200000 | true",
        "2023-11-14 | 1699986600000 | 1702578600000 | 2023-10-14 | 1699986600000 | false",
        "2023-11-14 | 1699986600000 | 1702578600000 | 2023-10-32 | 1697308200000 | false",
        "2023-11-15 | 1700000000001 | 1702578600000 | 2023-10-15 | 1697308200000 | false",
        "2023-10-14 | 1697308200000 | 1700000000000 | '' | 0 | false",
        "2023-10-14 | 1697308200000 | 1700000000001 | '' | 0 | true",
        "2023-11    | 1699554600000 | 1702146600000 | '' | 0 | false",
        "2023-11-31 | 1699554600000 | 1702146600000 | '' | 0 | false",
        "''         | 1699554600000 | 1702146600000 | '' | 0 | false",
        "2023-11-10 | 1699554600000 | 9007199254740992 | '' | 0 | false",
        "2023-11-10 | -9007199254740992 | 1702146600000 | '' | 0 | false",
        "2023-11-10 | -9007199254740991 | 1702146600000 | '' | 0 | true",
        "2023-11-10 | 0 | 0 | '' | 0 | false",
      })
  void line_billingPeriod_agreesWithTheAggregator(
      String name, long start, long end, String before, long beforeStart, boolean isGood) {
    byte[] periods =
        bytes(
            out -> {
              out.writeString(1, name);
              out.writeSInt64(2, start);
              out.writeSInt64(3, end);
              out.writeString(4, "Asia/Kolkata");
              out.writeString(5, before);
              out.writeSInt64(6, beforeStart);
            });
    byte[] block =
        bytes(
            out -> {
              out.writeString(1, "acme");
              out.writeByteArray(3, periods);
              for (int field : new int[] {4, 5, 6, 9, 10, 11, 12}) {
                out.writeUInt64(field, 1);
              }
              out.writeSInt64(14, 1_700_000_000_000L);
              out.writeString(15, "a");
            });

    assertOneLine(isGood, block);
  }

  private void assertOneLine(boolean isGood, byte[] block) {
    assertTrue(assertAgrees(bytes(out -> out.writeByteArray(1, block))));
    assertEquals(isGood ? 1 : 0, goodLines);
    assertEquals(1, reader.count());
  }

  @Test
  void read_moreLinesThanABatchHas_isRefused() {
    CallEvent call =
        new CallEvent(
            "a", false, "acme", "-", "calls", 1, true, DecidedBy.NONE, null, 1, 5, null, List.of());

    assertTrue(
        assertAgrees(CallBatchWriter.encode(Collections.nCopies(BatchHeader.MAX_COUNT, call))));
    assertFalse(
        assertAgrees(CallBatchWriter.encode(Collections.nCopies(BatchHeader.MAX_COUNT + 1, call))));
    assertEquals(0, reader.count());
  }

  @Test
  void read_emptyValue_hasNoLine() {
    assertTrue(assertAgrees(new byte[0]));
    assertEquals(0, reader.count());
  }

  /** Asserts that both readers agree. Returns whether the value is readable. */
  private boolean assertAgrees(byte[] value) {
    String refusal = refusal(value);
    int count = -1;
    try {
      count = reader.read(value);
    } catch (UnreadableException refused) {
      assertNotNull(refusal, () -> "only the reader refuses the value: " + refused.getMessage());
      assertEquals(0, reader.count());
      return false;
    }
    assertEquals(null, refusal, "only the aggregator refuses the value");
    assertEquals(aggregators.count(), count);
    for (int line = 1; line <= count; line++) {
      assertEquals(aggregators.digest(line), reader.digest(line), "digest");
      assertLineAgrees(line);
    }
    return true;
  }

  private @Nullable String refusal(byte[] value) {
    try {
      aggregators.read(value);
      return null;
    } catch (MalformedRecordException refused) {
      return refused.getMessage();
    }
  }

  private void assertLineAgrees(int number) {
    CallEvent call = null;
    String refusal = "";
    try {
      call = aggregators.call(number);
    } catch (MalformedRecordException refused) {
      refusal = String.valueOf(refused.getMessage());
    }
    CallLine line;
    try {
      line = reader.line(number);
    } catch (UnreadableException refused) {
      refusedLines++;
      assertEquals(null, call, () -> "only the reader refuses the line: " + refused.getMessage());
      return;
    }
    assertNotNull(call, "only the aggregator refuses the line: " + refusal);
    goodLines++;
    assertEqualCall(call, line);
  }

  private void assertEqualCall(CallEvent call, CallLine line) {
    assertEquals(call.id(), line.id.toString());
    assertEquals(call.client(), line.client.toString());
    assertEquals(new Hash(7).of(call.client()), line.client.hash());
    assertEquals(call.endpoint(), line.endpoint.toString());
    assertEquals(call.meter(), line.meter.toString());
    assertEquals(Objects.requireNonNullElse(call.policy(), ""), line.policy.toString());
    assertEquals(call.idFromCaller(), line.isIdFromCaller);
    assertEquals(call.cost(), line.cost);
    assertEquals(call.allowed(), line.allowed);
    assertEquals(call.decidedBy().wireName(), line.decidedBy.shown());
    assertEquals(call.policiesVersion(), line.policiesVersion);
    assertEquals(call.decidedAtEpochMillis(), line.decidedAtEpochMillis);
    assertEquals(call.ipPrefix() != null, line.hasAddress);
    assertEquals(call.quantity(), line.units());
    CallSettlement settlement = call.settlement();
    assertEquals(settlement != null, line.isSettlement());
    assertEquals(settlement == null ? null : settlement.call(), line.settledCall);
    BilledIn billing = call.billing();
    assertEquals(
        billing == null ? "" : Billed.text(billing.period()),
        line.billingPeriodOfWindow(line.decidedAtEpochMillis));
    if (billing != null && billing.before() != null) {
      assertEquals(
          Billed.text(billing.before()),
          line.billingPeriodOfWindow(billing.period().startEpochMillis() - 1));
    }
    assertEquals(call.charges().size(), line.charges());
    for (int i = 0; i < line.charges(); i++) {
      assertEqualCharge(call.charges().get(i), line.charge(i));
    }
  }

  private void assertEqualCharge(Charge charge, CallLine.BucketCharge read) {
    assertEquals(charge.bucket(), read.key.toString());
    assertEquals(new Hash(7).of(charge.bucket()), read.key.hash());
    assertEquals(charge.cost(), read.cost);
    Stamp stamp = charge.stamp();
    assertEquals(stamp != null, read.isStamped);
    if (stamp != null) {
      assertEquals(
          stamp, new Stamp(read.epoch, read.version, read.charged, read.fullAtMicros), "stamp");
    }
    BucketLimit limit = charge.limit();
    assertEquals(limit != null, read.hasLimit);
    if (limit != null) {
      Rate rate = rates.of(read.limit);
      assertEquals(limit.algorithm().wireName(), rate.algorithm());
      assertEquals(limit.capacityTokens(), rate.capacityTokens());
      assertEquals(limit.algorithm() == LimitAlgorithm.TOKEN_BUCKET, read.isTokenBucket);
      limit.writeTo(
          (name, number) -> {
            switch (name) {
              case "refill_tokens", "sub_windows" -> assertEquals(number, rate.refillTokens());
              case "refill_period_us", "window_us" ->
                  assertEquals(number, rate.refillPeriodMicros());
              case "ends_at_us" -> assertEquals(number, read.endsAtMicros);
              default -> assertEquals("capacity", name);
            }
          });
    }
  }
}
