// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.ingest.settle.CallFinder.Found;
import io.weir.ingest.settle.CallFinder.Placed;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.Settlement;
import io.weir.topics.model.UsagePosition;
import io.weir.topics.wire.CallLineCodec;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What counts as the call that is looked for. */
final class CallTraceTest {
  private static final int PARTITION = 3;
  private static final UsagePosition POSITION = new UsagePosition(PARTITION, "n", 1, 12);

  private final CallTrace trace = trace("a\"b", null);

  @Test
  void call_isFoundByClientAndId_withItsPlace() {
    trace.take(
        1,
        header(10, 3),
        value(call("a", true, 1), other(call("a\"b", true, 2)), call("a\"b", true, 8)));

    Found found = found(trace);
    assertEquals(8, found.call().line().cost());
    assertEquals(new UsagePosition(PARTITION, "n", 1, 13), found.call().position());
    assertNull(found.settlement());
    assertTrue(trace.hasCall());
  }

  @Test
  void allowedCall_isPreferredToADeniedOne_andTheFirstOfEachCounts() {
    trace.take(2, header(0, 1), value(call("a\"b", false, 1)));
    assertFalse(trace.hasCall());
    assertEquals(1, found(trace).call().line().cost());

    trace.take(3, header(1, 2), value(call("a\"b", true, 2), call("a\"b", true, 3)));
    assertEquals(2, found(trace).call().line().cost());
  }

  @Test
  void settlement_isToldBesideTheCall_theFirstOneCounts() {
    CallEvent call = call("a\"b", true, 8);
    trace.take(
        4,
        header(0, 3),
        value(call, call.settledAt(new Settlement(12, 9)), call.settledAt(new Settlement(3, 10))));

    Found found = found(trace);
    assertNull(found.call().line().settlement());
    assertEquals(new Settlement(12, 9), settlement(found));
  }

  @Test
  void settlementWithoutItsCall_tellsOfIt() {
    trace.take(5, header(0, 1), value(call("a\"b", true, 8).settledAt(new Settlement(12, 9))));

    assertFalse(trace.hasCall(), "the call itself may stand before");
    assertEquals(8, found(trace).call().line().cost());
    assertEquals(new Settlement(12, 9), settlement(found(trace)));
  }

  @Test
  void olderPart_readLater_hasTheFirstSettlement_andTheFirstTry() {
    CallEvent call = call("a\"b", true, 8);
    trace.take(50, header(7, 1), value(call.settledAt(new Settlement(3, 10))));
    assertTrue(trace.isBefore(), "the call need not be waited for");
    trace.take(
        20, header(3, 2), value(call("a\"b", true, 9), call.settledAt(new Settlement(12, 9))));
    trace.take(21, header(5, 1), value(call));

    assertEquals(new Settlement(12, 9), settlement(found(trace)));
    assertEquals(9, found(trace).call().line().cost());
  }

  @Test
  void nothing_isFound_amongOtherAndBrokenLines() {
    trace.take(
        6, header(0, 2), "{\"id\":\"a\\\"b\"}\nnot json a\"b\n".getBytes(StandardCharsets.UTF_8));
    trace.take(7, header(2, 1), value(call("b", true, 1)));

    assertNull(trace.finding());
  }

  @Test
  void escapedId_isFound() {
    CallTrace plain = trace("ab", null);
    String line = new String(value(call("ab", true, 5)), StandardCharsets.UTF_8);
    plain.take(
        8, header(0, 1), line.replace("\"ab\"", "\"\\u0061b\"").getBytes(StandardCharsets.UTF_8));

    assertEquals(5, found(plain).call().line().cost());
  }

  @Test
  void position_tellsWhetherTheCallIsToCome_orStandsBefore() {
    CallTrace toCome = trace("a", POSITION);
    assertFalse(toCome.isToCome(), "nothing is known of the node");
    toCome.take(9, header(10, 1), value(call("b", true, 1)));
    assertTrue(toCome.isToCome());
    assertFalse(toCome.isBefore());
    toCome.take(10, header(11, 1), value(call("a", true, 1)));
    assertFalse(toCome.isToCome());

    CallTrace before = trace("a", POSITION);
    before.take(11, header(12, 0), new byte[0]);
    assertTrue(before.isBefore());
    assertFalse(before.isToCome());
  }

  @Test
  void position_ofAnotherJournalOrPartition_tellsNothing() {
    CallTrace elsewhere = trace("a", new UsagePosition(0, "n", 1, 12));
    elsewhere.take(12, header(0, 1), value(call("b", true, 1)));
    assertFalse(elsewhere.isToCome());

    CallTrace otherEpoch = trace("a", new UsagePosition(PARTITION, "n", 2, 12));
    otherEpoch.take(13, header(0, 1), value(call("b", true, 1)));
    assertFalse(otherEpoch.isToCome());
  }

  private static CallTrace trace(String id, @Nullable UsagePosition position) {
    return new CallTrace(new CallQuery("acme", id, position), PARTITION);
  }

  private static Found found(CallTrace trace) {
    return assertInstanceOf(Found.class, trace.finding());
  }

  private static @Nullable Settlement settlement(Found found) {
    Placed placed = found.settlement();
    return placed == null ? null : placed.line().settlement();
  }

  private static BatchHeader header(long linesBefore, int count) {
    return new BatchHeader("n", 1, 5, count, 0, linesBefore, false);
  }

  private static byte[] value(CallEvent... calls) {
    ByteArrayOutputStream value = new ByteArrayOutputStream();
    for (CallEvent call : calls) {
      value.writeBytes(CallLineCodec.encode(call));
      value.write('\n');
    }
    return value.toByteArray();
  }

  private static CallEvent call(String id, boolean allowed, long cost) {
    return call("acme", id, allowed, cost);
  }

  private static CallEvent other(CallEvent call) {
    return call("globex", call.id(), call.allowed(), call.cost());
  }

  private static CallEvent call(String client, String id, boolean allowed, long cost) {
    return new CallEvent(
        id,
        false,
        client,
        "-",
        "calls",
        cost,
        allowed,
        DecidedBy.CACHE,
        null,
        1,
        5,
        null,
        List.of());
  }
}
