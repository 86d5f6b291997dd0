// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.CodedOutputStream;
import io.weir.ingest.settle.CallFinder.CallQuery;
import io.weir.ingest.settle.CallFinder.Found;
import io.weir.topics.calls.CallBatchWriter;
import io.weir.topics.log.CallsRecord;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CallSettlement;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.UsagePosition;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** Which lines are taken for the call that is searched for. */
final class CallLineSelectionTest {
  private static final int PARTITION = 3;

  private final CallLineSelection lines = lines("wanted");

  @Test
  void call_isFoundByClientAndId_withItsPosition() {
    lines.take(
        batch(10, call("a", true, 1), other(call("wanted", true, 2)), call("wanted", true, 8)));

    assertEquals(8, found().call().cost());
    assertEquals(new UsagePosition(PARTITION, "n", 1, 13), found().position());
    assertTrue(lines.hasAllowed());
  }

  @Test
  void allowedCall_isPreferredToADeniedOne_andTheFirstOfEachCounts() {
    lines.take(batch(0, call("wanted", false, 1)));
    assertFalse(lines.hasAllowed());
    assertEquals(1, found().call().cost());

    lines.take(batch(1, call("wanted", true, 2), call("wanted", true, 3)));
    assertEquals(2, found().call().cost());
  }

  @Test
  void settlementLine_isNotTakenForItsCall() {
    lines.take(batch(0, call("wanted", true, 8).settledAt(new CallSettlement(12, 9))));

    assertNull(lines.found());
  }

  @Test
  void lineNumberGiven_onlyThatLineIsExamined() {
    byte[] value = value(call("wanted", true, 1), call("x", true, 2), call("wanted", true, 3));
    lines.take(header(4, 3), value, 2);
    assertNull(lines.found());
    lines.take(header(4, 3), value, 9);
    assertNull(lines.found());
    lines.take(header(4, 3), value, 3);

    assertEquals(new UsagePosition(PARTITION, "n", 1, 7), found().position());
  }

  @Test
  void otherIdOrNoBatch_nothingIsFound() {
    lines.take(batch(0, 1, "not a batch".getBytes(StandardCharsets.UTF_8)));
    lines.take(batch(2, call("b", true, 1)));

    assertNull(lines.found());
  }

  /** The aggregator refuses the record, and gives the settlement this reason. */
  @Test
  void callInABatchWithAnotherNumberOfLines_isFound() {
    lines.take(batch(0, 2, value(call("wanted", true, 1))));

    assertEquals(1, found().call().cost());
  }

  @Test
  void malformedLine_isIgnored_andTheNextLineIsFound() throws Exception {
    ByteArrayOutputStream block = new ByteArrayOutputStream();
    CodedOutputStream out = CodedOutputStream.newInstance(block);
    out.writeString(1, "acme"); // a text
    out.writeByteArray(4, new byte[] {1}); // client
    out.writeString(15, "wanted"); // id
    out.flush();
    ByteArrayOutputStream value = new ByteArrayOutputStream();
    out = CodedOutputStream.newInstance(value);
    out.writeByteArray(1, block.toByteArray());
    out.flush();
    value.writeBytes(value(call("wanted", true, 5)));

    lines.take(batch(0, 2, value.toByteArray()));

    assertEquals(new UsagePosition(PARTITION, "n", 1, 2), found().position());
  }

  private Found found() {
    return Objects.requireNonNull(lines.found());
  }

  private static CallLineSelection lines(String id) {
    return new CallLineSelection(new CallQuery("acme", id, null), PARTITION);
  }

  private static CallsRecord batch(long linesBefore, CallEvent... calls) {
    return batch(linesBefore, calls.length, value(calls));
  }

  private static CallsRecord batch(long linesBefore, int count, byte[] value) {
    return new CallsRecord(9, 0, header(linesBefore, count), value);
  }

  private static BatchHeader header(long linesBefore, int count) {
    return new BatchHeader("n", 1, 5, count, 0, linesBefore, false);
  }

  private static byte[] value(CallEvent... calls) {
    return CallBatchWriter.encode(List.of(calls));
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
