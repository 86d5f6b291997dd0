// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.calls;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.BilledIn;
import io.weir.limits.BillingPeriod;
import io.weir.limits.ConcurrencyLimit;
import io.weir.limits.QuotaLimit;
import io.weir.limits.TokenBucketLimit;
import io.weir.testing.SuiteForm;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CallSettlement;
import io.weir.topics.model.Charge;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.Stamp;
import io.weir.topics.model.UsagePosition;
import io.weir.topics.wire.MalformedRecordException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** Tests that a reader returns exactly the written calls, and refuses malformed batches. */
final class CallBatchTest {
  private static final CallEvent CALL =
      new CallEvent(
          "0193f0a4-7c1e-7a52-b1c3-8d5e6f708192",
          false,
          "acme",
          "-",
          "calls",
          1,
          true,
          DecidedBy.CACHE,
          null,
          0,
          5,
          null,
          List.of());

  private static final String LONG = "x".repeat(257);

  private final CallBatchReader reader = new CallBatchReader();
  private final CallBatchReader alone = new CallBatchReader();

  @Test
  void randomCalls_areRead_asTheyWereWritten() throws Exception {
    Random random = new Random(20_261_128);
    for (int round = 0; round < 500; round++) {
      List<CallEvent> calls = new RandomCalls(random).calls(random.nextInt(30));
      ByteArrayOutputStream value = new ByteArrayOutputStream();
      List<Long> digests = new ArrayList<>();
      for (int from = 0; from < calls.size(); ) {
        int to = Math.min(calls.size(), from + 1 + random.nextInt(10));
        value.writeBytes(CallBatchWriter.encode(calls.subList(from, to)));
        from = to;
      }
      for (CallEvent call : calls) {
        digests.add(digestOf(call));
      }

      assertEquals(calls.size(), reader.read(value.toByteArray()));

      for (int line = 1; line <= calls.size(); line++) {
        CallEvent call = calls.get(line - 1);
        assertEquals(call, reader.call(line), "round " + round);
        assertEquals(call.client(), reader.client(line));
        assertEquals(call.id(), reader.id(line));
        assertEquals(
            digests.get(line - 1), reader.digest(line), "a digest depends only on its line");
        assertEquals(List.of(call), CallBatchReader.decode(reader.only(line)));
      }
    }
  }

  private long digestOf(CallEvent call) throws MalformedRecordException {
    alone.read(CallBatchWriter.encode(List.of(call)));
    return alone.digest(1);
  }

  /** Journals and topics contain these bytes. If they change, deployed systems need a migration. */
  @Test
  void storedBatch_isRead_andIsWrittenAgain() throws Exception {
    CallEvent charged =
        new CallEvent(
            "7f1c",
            true,
            "acme/ü",
            "GET /v1/items",
            "calls",
            2,
            true,
            DecidedBy.CACHE,
            "burst",
            7,
            1_763_690_401_234L,
            "203.0.113.0/24",
            List.of(
                new Charge(
                    "w1:{4:acme}:5:burst",
                    2,
                    new TokenBucketLimit(100, 100, 60_000_000),
                    new Stamp(1_763_690_000_000_000L, 3, 9, 1_763_690_406_600_000L)),
                new Charge(
                    "w1:{4:acme}:5:month@1764547200",
                    2,
                    new QuotaLimit(1_000, 1_764_547_200_000_000L),
                    null)));
    BilledIn billing =
        new BilledIn(
            BillingPeriod.own(
                "2025-11-21", "Asia/Kathmandu", 1_763_662_500_000L, 1_766_254_500_000L),
            BillingPeriod.own(
                "2025-10-21", "Asia/Kathmandu", 1_760_984_100_000L, 1_763_662_500_000L));
    List<CallEvent> calls =
        List.of(
            charged,
            CALL,
            charged
                .billedIn(billing)
                .settledAt(
                    new CallSettlement(
                        12, 1_763_690_404_000L, new UsagePosition(3, "node-a", 1, 57))));
    byte[] stored = stored();

    assertEquals(calls, CallBatchReader.decode(stored));
    assertArrayEquals(stored, CallBatchWriter.encode(calls));
  }

  private static byte[] stored() throws IOException {
    try (InputStream in = CallBatchTest.class.getResourceAsStream("v1/batch.base64")) {
      assertNotNull(in);
      String text = new String(in.readAllBytes(), StandardCharsets.US_ASCII);
      return Base64.getMimeDecoder().decode(text);
    }
  }

  @Test
  void writer_isEmptyAfterItsBatchWasTaken() throws Exception {
    CallBatchWriter writer = new CallBatchWriter();
    writer.add(CALL);
    byte[] first = writer.take();

    assertEquals(0, writer.count());
    assertEquals(0, writer.take().length);
    writer.add(CALL);
    assertArrayEquals(first, writer.take());
    assertEquals(0, reader.read(new byte[0]));
  }

  @Test
  void bytesAtMost_isNeverExceeded() {
    Random random = new Random(7);
    for (int round = 0; round < 500; round++) {
      List<CallEvent> calls = new RandomCalls(random).calls(1 + random.nextInt(5));

      int bytes = CallBatchWriter.encode(calls).length;

      int bound = calls.stream().mapToInt(CallBatchWriter::bytesAtMost).sum();
      assertTrue(bytes <= bound, bytes + " bytes, but at most " + bound);
    }
  }

  @Test
  void digest_differsWithEveryMember() throws Exception {
    List<CallEvent> calls =
        List.of(
            CALL,
            with("1193f0a4-7c1e-7a52-b1c3-8d5e6f708192", false, "acme", "-", 1, true, 0, 5),
            with(CALL.id(), true, "acme", "-", 1, true, 0, 5),
            with(CALL.id(), false, "acm", "-", 1, true, 0, 5),
            with(CALL.id(), false, "acme", "+", 1, true, 0, 5),
            with(CALL.id(), false, "acme", "-", 2, true, 0, 5),
            with(CALL.id(), false, "acme", "-", 1, false, 0, 5),
            with(CALL.id(), false, "acme", "-", 1, true, 1, 5),
            with(CALL.id(), false, "acme", "-", 1, true, 0, 6),
            CALL.settledAt(new CallSettlement(0, 0)),
            CALL.settledAt(new CallSettlement(1, 0)),
            CALL.settledAt(new CallSettlement(1, 1)));
    Set<Long> digests = new HashSet<>();

    for (CallEvent call : calls) {
      digests.add(digestOf(call));
    }

    assertEquals(calls.size(), digests.size());
  }

  private static CallEvent with(
      String id,
      boolean fromCaller,
      String client,
      String endpoint,
      long cost,
      boolean allowed,
      long version,
      long decidedAt) {
    return new CallEvent(
        id,
        fromCaller,
        client,
        endpoint,
        "calls",
        cost,
        allowed,
        DecidedBy.CACHE,
        null,
        version,
        decidedAt,
        null,
        List.of());
  }

  /** Computes a digest by the rules in docs/topics/calls.md. */
  @Test
  void digest_ofAKnownCall_isTheDocumentedNumber() throws Exception {
    long digest = 0xcbf29ce484222325L;
    for (long member :
        new long[] {
          0x0193f0a47c1e7a52L,
          0xb1c38d5e6f708192L,
          fnv("acme"),
          fnv("-"),
          fnv("calls"),
          0,
          0,
          0,
          1,
          1,
          1,
          0,
          5,
          0,
          0,
          0
        }) {
      digest = (Long.rotateLeft(digest, 23) ^ member) * 0x100000001b3L;
    }
    digest = (digest ^ (digest >>> 30)) * 0xbf58476d1ce4e5b9L;
    digest = (digest ^ (digest >>> 27)) * 0x94d049bb133111ebL;

    assertEquals(digest ^ (digest >>> 31), digestOf(CALL));
  }

  private static long fnv(String ascii) {
    long hash = 0xcbf29ce484222325L;
    for (int i = 0; i < ascii.length(); i++) {
      hash = (hash ^ ascii.charAt(i)) * 0x100000001b3L;
    }
    return hash;
  }

  @Test
  void blockOfOtherWriters_isRead() throws Exception {
    byte[] value =
        TestBlock.ofTwoCalls()
            .unpacked(TestBlock.COST, 1, 2)
            .numbers(99, 7)
            .raw(101, new byte[] {1, 2})
            .value();

    List<CallEvent> calls = CallBatchReader.decode(value);

    assertEquals(List.of("a", "b"), calls.stream().map(CallEvent::id).toList());
    assertEquals(List.of(1L, 2L), calls.stream().map(CallEvent::cost).toList());
    assertEquals(List.of(5L, 4L), calls.stream().map(CallEvent::decidedAtEpochMillis).toList());
  }

  /** Regression: the writer omitted the UUIDs if all were nil, so the batch was not readable. */
  @Test
  void nilUuid_isAnId() throws Exception {
    byte[] value =
        TestBlock.ofTwoCalls().texts(TestBlock.ID, "", "b").fixed(TestBlock.UUID, 0, 0).value();

    reader.read(value);

    assertEquals(new UUID(0, 0).toString(), reader.id(1));
    assertEquals(List.of(reader.call(1)), CallBatchReader.decode(reader.only(1)));
  }

  @Test
  void uuidWrittenAsText_isTheSameCall() throws Exception {
    byte[] asText =
        TestBlock.ofTwoCalls()
            .texts(TestBlock.ID, CALL.id(), CALL.id().toUpperCase(Locale.ROOT))
            .value();
    byte[] asNumber =
        TestBlock.ofTwoCalls()
            .texts(TestBlock.ID, "", CALL.id().toUpperCase(Locale.ROOT))
            .fixed(TestBlock.UUID, 0x0193f0a47c1e7a52L, 0xb1c38d5e6f708192L)
            .value();

    reader.read(asText);
    long digest = reader.digest(1);
    assertNotEquals(digest, reader.digest(2), "an id in upper case is another id");
    reader.read(asNumber);

    assertEquals(digest, reader.digest(1));
    assertEquals(CALL.id(), reader.id(1));
    assertEquals(CALL.id().toUpperCase(Locale.ROOT), reader.id(2));
  }

  @Test
  void valueThatIsNoBatch_isRefusedAsAWhole() {
    refuses("CallBatch", new byte[] {1});
    refuses("CallBatch", TestBlock.utf8("{\"id\":\"1\"}\n"));
    refuses("must have a call", TestBlock.ofTwoCalls().without(TestBlock.CLIENT).value());
    refuses("same length", TestBlock.ofTwoCalls().numbers(TestBlock.COST, 1).value());
    refuses("same length", TestBlock.ofTwoCalls().numbers(TestBlock.COST, 1, 2, 3).value());
    refuses("dictionary", TestBlock.ofTwoCalls().numbers(TestBlock.CLIENT, 1, 4).value());
    refuses("dictionary", TestBlock.ofTwoCalls().numbers(TestBlock.METER, 1, -1).value());
    refuses("an id for each", TestBlock.ofTwoCalls().texts(TestBlock.ID, "a").value());
    refuses("fewer UUIDs", TestBlock.ofTwoCalls().texts(TestBlock.ID, "a", "").value());
    refuses("fewer UUIDs", TestBlock.ofTwoCalls().without(TestBlock.ID).value());
    refuses("more UUIDs", TestBlock.ofTwoCalls().fixed(TestBlock.UUID, 1, 2).value());
    refuses("fewer charges", TestBlock.ofTwoCalls().numbers(TestBlock.CHARGES, 1, 0).value());
    refuses("too many charges", TestBlock.ofTwoCalls().numbers(TestBlock.CHARGES, 0, -1).value());
    refuses("too many charges", TestBlock.ofTwoCalls().numbers(TestBlock.CHARGES, 0, 65).value());
    refuses(
        "same length",
        TestBlock.ofTwoCalls()
            .numbers(TestBlock.CHARGES, 1, 0)
            .numbers(TestBlock.BUCKET, 1, 1)
            .value());
    refuses("ascending order", TestBlock.ofTwoCalls().settlement(2, 0, 0, "").value());
    refuses(
        "ascending order",
        TestBlock.ofTwoCalls().settlement(1, 0, 0, "").settlement(1, 0, 0, "").value());
    refuses("CallBatch", TestBlock.ofTwoCalls().raw(TestBlock.TEXTS, new byte[] {-1}).value());
    String tooLong = "x".repeat(4097);
    refuses("at most 4096 bytes", TestBlock.ofTwoCalls().texts(TestBlock.TEXTS, tooLong).value());
    refuses(
        "at most 10000 calls",
        CallBatchWriter.encode(Collections.nCopies(BatchHeader.MAX_COUNT + 1, CALL)));
  }

  /**
   * Regression: a value of 4 MiB could name long texts so often that its refused lines needed
   * gigabytes in the quarantine.
   */
  @Test
  void linesThatShareLongTexts_areBounded() {
    long[] each = new long[BatchHeader.MAX_COUNT];
    Arrays.fill(each, 1);
    long[] charges = new long[each.length];
    Arrays.fill(charges, 10);
    long[] buckets = new long[10 * each.length];
    Arrays.fill(buckets, 1);

    refuses(
        "too many bytes",
        new TestBlock()
            .texts(TestBlock.TEXTS, "x".repeat(4_096))
            .numbers(TestBlock.CLIENT, each)
            .texts(TestBlock.ID, Collections.nCopies(each.length, "a").toArray(String[]::new))
            .numbers(TestBlock.CHARGES, charges)
            .numbers(TestBlock.BUCKET, buckets)
            .value());
  }

  /** Regression: such a call would have made the whole batch unreadable. */
  @Test
  void callThatNoBatchCanHold_isRefused_beforeItIsAdded() {
    Charge slot = new Charge("b", 1, new ConcurrencyLimit(1, 1_000_000), null);
    Charge longKey = new Charge("b".repeat(1_366), 1, null, null);
    Charge usual = new Charge("b", 1, null, null);

    for (List<Charge> charges :
        List.of(List.of(slot), List.of(longKey), Collections.nCopies(65, usual))) {
      CallEvent call =
          new CallEvent(
              "id",
              false,
              "acme",
              "-",
              "calls",
              1,
              true,
              DecidedBy.CACHE,
              null,
              0,
              5,
              null,
              charges);
      assertThrows(IllegalArgumentException.class, () -> CallBatchWriter.bytesAtMost(call));
    }
  }

  private void refuses(String rule, byte[] value) {
    String message =
        String.valueOf(
            assertThrows(MalformedRecordException.class, () -> reader.read(value), rule)
                .getMessage());
    assertTrue(message.contains(rule), message);
    assertEquals(0, reader.count(), rule);
  }

  @Test
  void malformedLine_isNamed_andTheOtherLineIsRead() throws Exception {
    refusesLine("client is missing", TestBlock.ofTwoCalls().numbers(TestBlock.CLIENT, 1, 0));
    refusesLine("endpoint is missing", TestBlock.ofTwoCalls().numbers(TestBlock.ENDPOINT, 2, 0));
    refusesLine("meter is missing", TestBlock.ofTwoCalls().numbers(TestBlock.METER, 3, 0));
    refusesLine("cost must be between", TestBlock.ofTwoCalls().numbers(TestBlock.COST, 1, 0));
    refusesLine("cost must be between", TestBlock.ofTwoCalls().numbers(TestBlock.COST, 1, -1));
    refusesLine("unknown decided_by", TestBlock.ofTwoCalls().numbers(TestBlock.DECIDED_BY, 1, 0));
    refusesLine("unknown decided_by", TestBlock.ofTwoCalls().numbers(TestBlock.DECIDED_BY, 1, 8));
    refusesLine("decided_at_ms", TestBlock.ofTwoCalls().signed(TestBlock.DECIDED_AT, 5, -6));
    refusesLine("id must have at most", TestBlock.ofTwoCalls().texts(TestBlock.ID, "a", LONG));
    refusesLine(
        "client must not contain control",
        TestBlock.ofTwoCalls()
            .texts(TestBlock.TEXTS, "acme", "-", "calls", "a\u0000b")
            .numbers(TestBlock.CLIENT, 1, 4));
    refusesLine(
        "charges.key is missing",
        TestBlock.ofTwoCalls()
            .numbers(TestBlock.CHARGES, 0, 1)
            .numbers(TestBlock.BUCKET, 0)
            .numbers(TestBlock.WITHOUT_STAMP, 1));
    refusesLine(
        "epoch must be between",
        TestBlock.ofTwoCalls().numbers(TestBlock.CHARGES, 0, 1).numbers(TestBlock.BUCKET, 1));
    refusesLine(
        "unknown algorithm",
        TestBlock.ofTwoCalls()
            .numbers(TestBlock.CHARGES, 0, 1)
            .numbers(TestBlock.BUCKET, 1)
            .raw(2, new byte[0])
            .numbers(TestBlock.LIMIT, 1)
            .numbers(TestBlock.WITHOUT_STAMP, 1));
    refusesLine(
        "cannot be settled",
        TestBlock.ofTwoCalls().numbers(TestBlock.ALLOWED, 1, 0).settlement(1, 0, 0, ""));
    refusesLine("actual_cost", TestBlock.ofTwoCalls().settlement(1, -1, 0, ""));
    refusesLine("settled_at_ms", TestBlock.ofTwoCalls().settlement(1, 0, -1, ""));
    refusesLine("call_position", TestBlock.ofTwoCalls().settlement(1, 0, 0, "nowhere"));
  }

  private void refusesLine(String rule, TestBlock block) throws MalformedRecordException {
    assertEquals(2, reader.read(block.value()));
    assertEquals("a", reader.call(1).id());
    String message =
        String.valueOf(
            assertThrows(MalformedRecordException.class, () -> reader.call(2), rule).getMessage());
    assertTrue(message.contains(rule), message);
    assertAlone(2, rule);
  }

  /** Asserts that a batch of only the refused line is refused again, and has the same digest. */
  private void assertAlone(int line, String rule) throws MalformedRecordException {
    assertEquals(1, alone.read(reader.only(line)), rule);
    assertEquals(reader.digest(line), alone.digest(1), rule);
    assertThrows(MalformedRecordException.class, () -> alone.call(1), rule);
  }

  @Test
  void changedBytes_areReadOrMalformed() throws Exception {
    Random random = new Random(39);
    byte[] good = CallBatchWriter.encode(new RandomCalls(random).calls(12));
    int read = 0;
    for (int round = 0; round < (SuiteForm.isFull() ? 1_000_000 : 5_000); round++) {
      byte[] value = good.clone();
      for (int flips = random.nextInt(3); flips >= 0; flips--) {
        value[random.nextInt(value.length)] = (byte) random.nextInt(256);
      }
      if (random.nextInt(8) == 0) {
        value = Arrays.copyOf(value, random.nextInt(value.length));
      }
      try {
        reader.read(value);
      } catch (MalformedRecordException malformed) {
        assertEquals(0, reader.count());
        continue;
      }
      for (int line = 1; line <= reader.count(); line++) {
        read += isValid(line) ? 1 : 0;
      }
    }
    assertTrue(read > 200, "only " + read + " lines were valid");
  }

  private boolean isValid(int line) throws MalformedRecordException {
    alone.read(reader.only(line));
    assertEquals(reader.digest(line), alone.digest(1));
    try {
      CallEvent call = reader.call(line);
      assertEquals(call, alone.call(1));
      return true;
    } catch (MalformedRecordException malformed) {
      return false;
    }
  }
}
