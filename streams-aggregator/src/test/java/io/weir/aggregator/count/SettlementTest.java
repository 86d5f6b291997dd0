// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import io.weir.aggregator.Calls;
import io.weir.topics.calls.CallBatchReader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CallSettlement;
import io.weir.topics.model.PartitionProgress.Counters;
import io.weir.topics.model.UsagePosition;
import io.weir.topics.model.UsageRow;
import io.weir.topics.wire.MalformedRecordException;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The counting of settlements. */
final class SettlementTest {
  /** Windows of 10 s, 2 s of grace, 60 s of hold, an hour of lateness. */
  private static final CountSettings SETTINGS = new CountSettings(10_000, 2_000, 60_000, 3_600_000);

  private static final long T = 1_000_000_000_000L; // a window boundary
  private static final CallEvent CALL = Calls.allowed("a", "acme", 8, T + 1);

  private final Memory memory = new Memory(SETTINGS);
  private long sequence;
  private long lines;

  @Test
  void openWindow_settlement_addsTheDifferenceAndNoCall() throws Exception {
    take(T + 100, CALL, Calls.settled(CALL, 12));
    closeWindow();

    UsageRow only = only();
    assertEquals(UsageRow.Type.FINAL, only.type());
    assertEquals(12, only.count().quantity());
    assertEquals(1, only.count().callsAllowed());
    assertEquals(1, only.count().eventCount());
    UsagePosition line = new UsagePosition(0, "n", 1, 1);
    CallEvent settled = CALL.settledAt(new CallSettlement(12, T + 1_001, line));
    assertEquals(digest(CALL) + digest(settled), only.count().eventsDigest());
    assertEquals(new Counters(2, 2, 0, 0, 0), counters());
  }

  private static long digest(CallEvent event) throws MalformedRecordException {
    CallBatchReader reader = new CallBatchReader();
    reader.read(Calls.value(List.of(event)));
    return reader.digest(1);
  }

  /** Regression: a call line with another policy, charge or network had the same digest. */
  @Test
  void otherPolicyOfACall_givesAnotherDigest() throws Exception {
    CallEvent other =
        new CallEvent(
            CALL.id(),
            CALL.idFromCaller(),
            CALL.client(),
            CALL.endpoint(),
            CALL.meter(),
            CALL.cost(),
            CALL.allowed(),
            CALL.decidedBy(),
            "other",
            CALL.policiesVersion(),
            CALL.decidedAtEpochMillis(),
            null,
            CALL.charges());
    take(T + 100, other);
    closeWindow();

    assertEquals(digest(other), only().count().eventsDigest());
    assertNotEquals(digest(CALL), only().count().eventsDigest());
  }

  @Test
  void openWindow_refundAndVoid_areTakenOff() {
    CallEvent other = Calls.allowed("b", "acme", 5, T + 2);
    take(T + 100, CALL, other, Calls.settled(CALL, 3), Calls.settled(other, 0));
    closeWindow();

    assertEquals(3, only().count().quantity());
    assertEquals(2, only().count().callsAllowed());
  }

  @Test
  void settledTwice_firstOneCounts_whateverTheSecondSays() {
    take(T + 100, CALL, Calls.settled(CALL, 12));
    take(T + 200, Calls.settled(CALL, 12), Calls.settled(CALL, 3));
    closeWindow();

    assertEquals(12, only().count().quantity());
    assertEquals(2, only().count().duplicatesDropped());
    assertEquals(new Counters(4, 2, 2, 0, 0), counters());
  }

  @Test
  void callersOwnId_isSettledLikeAGeneratedOne() {
    CallEvent call = Calls.call("mine", true, "acme", "GET /items", 8, true, T + 1);
    take(T + 100, call, call, Calls.settled(call, 12), Calls.settled(call, 12));
    closeWindow();

    assertEquals(12, only().count().quantity());
    assertEquals(new Counters(4, 2, 2, 0, 0), counters());
  }

  @Test
  void closedWindow_isAdjustedWithTheReason_andTheCallIsNotLate() {
    take(T + 100, CALL);
    closeWindow();
    take(T + 13_000, Calls.settled(CALL, 12));

    UsageRow row = memory.rows().get(1);
    assertEquals(UsageRow.Reason.SETTLE, row.reason());
    assertEquals(2, row.revision());
    assertEquals(4, row.count().quantity());
    assertEquals(12, row.quantityTotal());
    assertEquals(0, row.count().eventCount());
    assertEquals(0, row.count().lateCount());
    assertEquals(new Counters(2, 1, 0, 1, 0), counters());
  }

  @Test
  void closedWindow_lateCallSettlementAndVoid_areThreeRows() {
    CallEvent other = Calls.allowed("b", "acme", 5, T + 2);
    CallEvent late = Calls.allowed("c", "acme", 2, T + 3);
    take(T + 100, CALL, other);
    closeWindow();
    take(T + 13_000, late, Calls.settled(CALL, 3), Calls.settled(other, 0));

    assertEquals(
        List.of(UsageRow.Reason.LATE, UsageRow.Reason.SETTLE, UsageRow.Reason.VOID),
        memory.rows().stream().skip(1).map(UsageRow::reason).toList());
    assertEquals(
        List.of(13L, 15L, 10L, 5L), memory.rows().stream().map(UsageRow::quantityTotal).toList());
  }

  /** Regression: it was counted as a credit, also when the call never came. */
  @Test
  void settlementThatNamesNoCall_isRefused() {
    take(T + 100, Calls.settled(CALL, 3));
    assertEquals(List.of("1: the settlement does not name the line of its call"), memory.refusals);
    take(T + 200, CALL);
    closeWindow();

    assertEquals(8, only().count().quantity());
    assertEquals(new Counters(2, 1, 0, 0, 1), counters());
  }

  @Test
  void differencesBeyondTheMaximum_areQuarantined() {
    CallEvent one = Calls.allowed("b", "acme", 1, T + 2);
    take(T + 100, CALL, one, Calls.settled(CALL, CallEvent.MAX_QUANTITY));
    closeWindow();

    assertEquals(9, only().count().quantity());
    assertEquals(new Counters(3, 2, 0, 0, 1), counters());

    take(T + 13_000, Calls.settled(CALL, CallEvent.MAX_QUANTITY), Calls.settled(CALL, 9));
    assertEquals(new Counters(5, 2, 0, 1, 2), counters(), "what was refused has settled nothing");
  }

  @Test
  void settlementOfACallThatIsTooOld_isQuarantined() {
    take(T + 100, CALL);
    take(T + 3_600_002, Calls.settled(CALL, 12));

    assertEquals(new Counters(2, 1, 0, 0, 1), counters());
  }

  private void take(long at, CallEvent... calls) {
    List<CallEvent> all = Stream.of(calls).toList();
    memory.take(Calls.batch("n", ++sequence, all.size(), at - 50, lines), Calls.value(all), at);
    lines += all.size();
  }

  private void closeWindow() {
    memory.take(Calls.heartbeat("n", sequence, T + 12_000), new byte[0], T + 12_001);
  }

  private UsageRow only() {
    assertEquals(1, memory.rows().size(), () -> memory.rows().toString());
    return memory.rows().get(0);
  }

  private Counters counters() {
    return memory.publish().counters();
  }
}
