// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.aggregator.Calls;
import io.weir.aggregator.RawCall;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.PartitionProgress.Counters;
import io.weir.topics.model.UsageRow;
import io.weir.topics.model.UsageState;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.CacheLossCodec;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class PartitionCounterTest {
  /** Windows of 10 s, 2 s of grace, 60 s of hold, an hour of lateness. */
  private static final CountSettings SETTINGS = new CountSettings(10_000, 2_000, 60_000, 3_600_000);

  private static final long T = 1_000_000_000_000L; // a window boundary

  private final Memory memory = new Memory(SETTINGS);
  private final Map<String, Map<Long, Integer>> lines = new HashMap<>();

  @Test
  void take_batchThenLowWatermarkBehindWindowAndGrace_writesFinalThenClose() {
    take("n", 1, T + 100, T + 50, Calls.allowed("a", "acme", 3, T + 1), denied("b", T + 2));

    memory.take(Calls.heartbeat("n", 1, T + 12_000), new byte[0], T + 12_001);

    UsageRow row = memory.rows().get(0);
    assertEquals(UsageRow.Type.FINAL, row.type());
    assertEquals(3, row.count().quantity());
    assertEquals(1, row.count().callsAllowed());
    assertEquals(1, row.count().callsDenied());
    assertEquals(T + 10_000, row.closedThroughEpochMillis());
    assertTrue(row.complete());
    assertEquals(1, memory.closes().get(memory.closes().size() - 1).rows());
    assertEquals(3, memory.closes().get(memory.closes().size() - 1).quantityTotal());
  }

  @Test
  void take_lowWatermarkInsideGrace_leavesWindowOpen() {
    take("n", 1, T + 100, T + 50, Calls.allowed("a", "acme", 3, T + 1));

    memory.take(Calls.heartbeat("n", 1, T + 11_999), new byte[0], T + 12_001);

    assertEquals(List.of(), memory.rows());
  }

  @Test
  void take_lowWatermarkBeyondBrokersClock_isReducedToIt() {
    take("n", 1, T + 100, T + 50, Calls.allowed("a", "acme", 3, T + 1));

    memory.take(Calls.heartbeat("n", 1, T + 86_400_000), new byte[0], T + 5_000);

    assertEquals(List.of(), memory.rows());
    assertEquals(T + 5_000, memory.publish().watermarkEpochMillis());
  }

  @Test
  void take_costsWhoseSumExceedsTheMaximum_areQuarantined_andOthersCounted() {
    long most = CallEvent.MAX_QUANTITY;

    take(
        "n",
        1,
        T + 100,
        T + 50,
        Calls.allowed("a", "acme", most, T + 1),
        Calls.allowed("b", "acme", 1, T + 1),
        Calls.allowed("c", "globex", most, T + 1),
        Calls.allowed("d", "initech", 5, T + 1));
    memory.take(Calls.heartbeat("n", 1, T + 12_000), new byte[0], T + 12_001);

    assertEquals(new Counters(4, 3, 0, 0, 1), counters());
    assertEquals(
        2 * most + 5, memory.rows().stream().mapToLong(row -> row.count().quantity()).sum());
  }

  @Test
  void take_sameBatchAgain_isDuplicateAndCountsNothing() {
    take("n", 1, T + 100, T + 50, Calls.allowed("a", "acme", 3, T + 1));

    take("n", 1, T + 100, T + 50, Calls.allowed("a", "acme", 3, T + 1));

    assertEquals(new Counters(2, 1, 1, 0, 0), counters());
  }

  @Test
  void take_lineOfClosedWindow_isAdjustmentBehindFinal() {
    take("n", 1, T + 100, T + 50, Calls.allowed("a", "acme", 3, T + 1));
    memory.take(Calls.heartbeat("n", 1, T + 12_000), new byte[0], T + 12_001);

    take(
        "n",
        2,
        T + 13_000,
        T + 12_500,
        Calls.allowed("c", "acme", 4, T + 3),
        Calls.allowed("d", "acme", 1, T + 4));

    UsageRow adjustment = memory.rows().get(1);
    assertEquals(UsageRow.Type.ADJUSTMENT, adjustment.type());
    assertEquals(2, adjustment.revision());
    assertEquals(memory.rows().get(0).recordId(), adjustment.previousRecordId());
    assertEquals(5, adjustment.count().quantity());
    assertEquals(2, adjustment.count().lateCount());
    assertEquals(8, adjustment.quantityTotal());
    assertEquals(new Counters(3, 1, 0, 2, 0), counters());
    UsageState state = memory.states.values().iterator().next();
    assertEquals(UsageState.Status.ADJUSTED, state.status());
    assertEquals(8, state.count().quantity());
  }

  @Test
  void take_firstLineOfAClosedEmptyWindow_isRevisionOne() {
    memory.take(Calls.heartbeat("n", 0, T + 12_000), new byte[0], T + 12_001);

    take("n", 1, T + 13_000, T + 12_500, Calls.allowed("c", "acme", 4, T + 3));

    UsageRow adjustment = memory.rows().get(0);
    assertEquals(UsageRow.Type.ADJUSTMENT, adjustment.type());
    assertEquals(1, adjustment.revision());
    assertEquals(4, adjustment.quantityTotal());
  }

  @Test
  void take_lateLineBeforeFinalIsWritten_writesFinalFirst() {
    take("n", 1, T + 100, T + 50, Calls.allowed("a", "acme", 3, T + 1));
    memory.takeOnly(Calls.heartbeat("n", 1, T + 12_000), new byte[0], T + 12_001);
    assertEquals(List.of(), memory.rows());

    List<CallEvent> late = List.of(Calls.allowed("c", "acme", 4, T + 3));
    memory.takeOnly(Calls.batch("n", 2, 1, T + 12_500, 1), Calls.value(late), T + 13_000);

    assertEquals(
        List.of(UsageRow.Type.FINAL, UsageRow.Type.ADJUSTMENT),
        memory.rows().stream().map(UsageRow::type).toList());
    assertEquals(3, memory.rows().get(0).count().quantity());
  }

  @Test
  void take_missingBatch_holdsTheWindowOpenUntilItArrives() {
    take("n", 1, T + 100, T + 50, Calls.allowed("a", "acme", 3, T + 1));
    take("n", 3, T + 12_500, T + 12_000, Calls.allowed("c", "acme", 5, T + 9));
    assertEquals(List.of(), memory.rows());
    assertEquals(1, memory.publish().nodes().get(0).missingLines());

    take("n", 2, T + 12_600, T + 200, Calls.allowed("b", "acme", 4, T + 8));

    assertEquals(12, memory.rows().get(0).count().quantity());
    assertTrue(memory.rows().get(0).complete());
    assertEquals(0, memory.publish().nodes().get(0).missingLines());
  }

  @Test
  void take_missingBatchBeyondTheHold_closesTheWindowIncomplete() {
    take("n", 1, T + 100, T + 50, Calls.allowed("a", "acme", 3, T + 1));
    take("n", 3, T + 12_500, T + 12_000, Calls.allowed("c", "acme", 5, T + 9));

    memory.take(Calls.heartbeat("n", 3, T + 61_000), new byte[0], T + 61_000);

    assertEquals(8, memory.rows().get(0).count().quantity());
    assertFalse(memory.rows().get(0).complete());
    assertEquals(1, memory.publish().nodes().get(0).missingLines());
    take("n", 4, T + 100_000, T + 99_000, Calls.allowed("d", "acme", 1, T + 50_000));
    memory.take(Calls.heartbeat("n", 4, T + 130_000), new byte[0], T + 130_000);
    assertTrue(memory.rows().get(1).complete(), "a window the hole cannot reach");
  }

  @Test
  void take_heartbeatAheadOfBatches_revealsTheHole() {
    memory.take(new BatchHeader("n", T, 2, 0, T + 12_000, 2, false), new byte[0], T + 12_001);

    assertEquals(2, memory.publish().nodes().get(0).missingLines());
    assertTrue(memory.closes().stream().allMatch(row -> row.closedThroughEpochMillis() <= T));
  }

  @Test
  void take_nodeThatLags_holdsTheWindowOpen() {
    take("slow", 1, T + 100, T + 50, Calls.allowed("a", "acme", 3, T + 1));
    memory.take(Calls.heartbeat("fast", 0, T + 50_000), new byte[0], T + 50_000);

    assertEquals(List.of(), memory.rows());
  }

  @Test
  void take_nodeSilentBeyondTheHold_isNotWaitedForAndRowIsIncomplete() {
    take("slow", 1, T + 100, T + 50, Calls.allowed("a", "acme", 3, T + 1));
    memory.take(Calls.heartbeat("fast", 0, T + 60_051), new byte[0], T + 60_051);

    assertFalse(memory.rows().get(0).complete());
    assertEquals(
        List.of("fast=LIVE", "slow=SILENT"),
        memory.publish().nodes().stream()
            .map(node -> node.node() + "=" + node.state())
            .sorted()
            .toList());
  }

  @Test
  void take_departedNode_isNotWaitedForAndRowIsComplete() {
    take("old", 1, T + 100, T + 50, Calls.allowed("a", "acme", 3, T + 1));
    memory.take(new BatchHeader("old", 1, 1, 0, T + 60, 1, true), new byte[0], T + 101);

    memory.take(Calls.heartbeat("new", 0, T + 12_000), new byte[0], T + 12_000);

    assertTrue(memory.rows().get(0).complete());
  }

  @Test
  void take_newerJournalOfTheNode_replacesTheOldOneWhoseCallsStillCount() {
    take("n", 1, T + 100, T + 50, Calls.allowed("a", "acme", 3, T + 1));
    memory.take(new BatchHeader("n", 2, 0, 0, T + 12_000, 0, false), new byte[0], T + 12_000);
    assertFalse(memory.rows().get(0).complete(), "the old journal may have held more");

    take("n", 2, T + 12_100, T + 60, Calls.allowed("b", "acme", 4, T + 2));

    assertEquals(4, memory.rows().get(1).count().quantity());
  }

  private boolean isComplete(long from, long until) {
    return memory.publish().isComplete(from, until);
  }

  /** Regression: a window without a row of the client was reported as complete. */
  @Test
  void publish_journalIsLost_closedWindowsStayIncompleteForGood() {
    take("n", 1, T + 100, T + 50, Calls.allowed("a", "acme", 3, T + 1));
    memory.take(new BatchHeader("n", 2, 0, 0, T + 22_000, 0, false), new byte[0], T + 22_000);
    memory.take(new BatchHeader("n", 2, 0, 0, T + 42_000, 0, false), new byte[0], T + 42_000);

    assertFalse(isComplete(T, T + 10_000), "it has a row");
    assertFalse(isComplete(T + 10_000, T + 20_000), "it has no row");
    long days = T + 3_600_000 + 3 * 86_400_000L; // the lost journal is forgotten
    for (long at = days; at <= days + 7_200_000; at += 1_800_000) {
      memory.take(new BatchHeader("n", 2, 0, 0, at, 0, false), new byte[0], at);
      memory.restart();
    }

    assertFalse(isComplete(T + 10_000, T + 20_000));
    assertTrue(isComplete(T + 40_000, T + 50_000));
  }

  @Test
  void publish_silentNodeReturns_itsWindowsAreCompleteAgain() {
    take("slow", 1, T + 100, T + 50, Calls.allowed("a", "acme", 3, T + 1));
    memory.take(Calls.heartbeat("fast", 0, T + 60_051), new byte[0], T + 60_051);
    assertFalse(isComplete(T, T + 10_000));
    assertTrue(isComplete(T - 10_000, T), "the silent node has promised these");

    take("slow", 2, T + 61_000, T + 60_900, Calls.allowed("b", "acme", 1, T + 2));

    assertTrue(isComplete(T, T + 10_000));
  }

  @Test
  void publish_moreHolesThanAreKept_noneOfThemIsForgotten() {
    int holes = 400;
    for (int i = 0; i <= holes; i++) {
      long at = T + i * 20_000L;
      memory.take(
          new BatchHeader("n", 1, i + 1, 1, at, 2L * i, false),
          Calls.value(List.of(Calls.allowed("a" + i, "acme", 1, at - 1))),
          at + 1);
    }
    long end = T + holes * 20_000L;
    memory.take(Calls.heartbeat("other", 0, end + 90_000), new byte[0], end + 90_000);

    List<PartitionProgress.Gap> gaps = memory.publish().possibleGaps();
    assertTrue(gaps.size() <= PartitionProgress.MAX_GAPS, gaps::toString);
    for (int i = 0; i < holes; i++) {
      long window = T + i * 20_000L;
      assertFalse(isComplete(window, window + 10_000), "window " + i);
    }
  }

  @Test
  void take_callersIdOnOtherCalls_isBilledEachTime_andCountedAsConflict() {
    CallEvent first = Calls.call("x", true, "acme", "GET /items", 2, true, T + 1);
    CallEvent dearer = Calls.call("x", true, "acme", "GET /items", 5, true, T + 2);
    CallEvent elsewhere = Calls.call("x", true, "acme", "POST /orders", 2, true, T + 3);
    take("n", 1, T + 100, T + 50, first, dearer, elsewhere, first, dearer, elsewhere);

    memory.take(Calls.heartbeat("n", 1, T + 12_000), new byte[0], T + 12_001);

    assertEquals(new Counters(6, 3, 3, 0, 0), counters());
    assertEquals(9, memory.rows().stream().mapToLong(row -> row.count().quantity()).sum());
    assertEquals(2, memory.publish().idConflicts());
    memory.restart();
    assertEquals(2, memory.publish().idConflicts());
  }

  @Test
  void take_idReusedForAnotherCall_isRememberedThoughTheFirstIsForgotten() {
    long between = T + 2_000_000;
    long later = T + 3_950_000; // the first is forgotten after 65 minutes
    CallEvent first = Calls.call("x", true, "acme", "GET /items", 2, true, T);
    take("n", 1, T + 100, T, first);
    take("n", 2, between, between, Calls.call("x", true, "acme", "GET /items", 5, true, between));

    take("n", 3, later, later, Calls.call("x", true, "acme", "GET /items", 5, true, later));
    assertEquals(1, counters().duplicate());

    take("n", 4, later, later, Calls.call("x", true, "acme", "GET /items", 2, true, later));
    assertEquals(1, counters().duplicate());
  }

  @Test
  void take_callersIdAgain_isRecordedAsDuplicateOnTheRow() {
    CallEvent first = Calls.call("x", true, "acme", "GET /items", 2, true, T + 1);
    CallEvent again = Calls.call("x", true, "acme", "GET /items", 2, true, T + 5);
    take("n", 1, T + 100, T + 50, first, again);
    take("n", 2, T + 200, T + 60, again);

    memory.take(Calls.heartbeat("n", 2, T + 12_000), new byte[0], T + 12_001);

    assertEquals(new Counters(3, 1, 2, 0, 0), counters());
    assertEquals(2, memory.rows().get(0).count().quantity());
    assertEquals(2, memory.rows().get(0).count().duplicatesDropped());
  }

  @Test
  void take_callersIdDeniedThenAllowed_areTwoFacts() {
    CallEvent denied = Calls.call("x", true, "acme", "GET /items", 2, false, T + 1);
    CallEvent allowed = Calls.call("x", true, "acme", "GET /items", 2, true, T + 5);

    take("n", 1, T + 100, T + 50, denied, allowed);

    assertEquals(new Counters(2, 2, 0, 0, 0), counters());
  }

  @Test
  void take_badLinesAmongGoodOnes_quarantinesOnlyThem() {
    byte[] good = Calls.value(List.of(Calls.allowed("a", "acme", 3, T + 1)));
    byte[] foreign = Calls.value(List.of(Calls.allowed("b", "foreign", 3, T + 1)));
    byte[] future = Calls.value(List.of(Calls.allowed("c", "acme", 3, T + 100 + 300_001)));
    byte[] old = Calls.value(List.of(Calls.allowed("d", "acme", 3, T + 99 - 3_600_000)));
    byte[] free = new RawCall("e", "acme", "GET /items", T + 1).with("cost", 0).toBytes();
    byte[] value = RawCall.concat(good, free, foreign, future, old);

    memory.take(Calls.batch("n", 1, 5, T + 50, 0), value, T + 100);

    assertEquals(new Counters(5, 1, 0, 0, 4), counters());
    assertEquals(
        List.of(
            "2: cost must be between 1 and 9007199254740991, but is 0",
            "3: client belongs to another partition",
            "4: decided_at_ms is in the future",
            "5: decided_at_ms is too old"),
        memory.refusals);
    assertArrayEquals(foreign, memory.refused.get(1));
  }

  @Test
  void take_headerCountDoesNotMatch_quarantinesTheRecord_andItsNumberMayComeAgain() {
    byte[] value = Calls.value(List.of(Calls.allowed("a", "acme", 3, T + 1)));

    memory.take(Calls.batch("n", 1, 2, T + 50, 0), value, T + 100);
    assertEquals(new Counters(1, 0, 0, 0, 1), counters());
    take("n", 1, T + 110, T + 50, Calls.allowed("a", "acme", 3, T + 1));

    assertEquals(new Counters(2, 1, 0, 0, 1), counters());
  }

  @Test
  void take_valueThatIsNotABatch_isQuarantinedAsOneLine_andItsPositionIsAcceptedLater() {
    byte[] value = {'{', '"', 'i', 'd', '"'};

    memory.take(Calls.batch("n", 1, 2, T + 50, 0), value, T + 100);
    assertEquals(new Counters(1, 0, 0, 0, 1), counters());
    assertEquals(List.of("0: the value must be a CallBatch of weir-calls.proto"), memory.refusals);
    assertArrayEquals(value, memory.refused.get(0));
    take("n", 1, T + 110, T + 50, Calls.allowed("a", "acme", 3, T + 1));

    assertEquals(new Counters(2, 1, 0, 0, 1), counters());
  }

  @Test
  void refusedRecord_countsItsLines_butACacheLossIsOneLine() {
    byte[] value =
        Calls.value(
            List.of(Calls.allowed("a", "acme", 3, T + 1), Calls.allowed("b", "acme", 3, T + 1)));
    memory.takeRaw(Map.of(), value, T);
    assertEquals(new Counters(2, 0, 0, 0, 2), counters());

    memory.counter.giveUp(new SourceRecord(1, T, value, name -> null), "an operator's request");
    assertEquals(new Counters(4, 0, 0, 0, 4), counters());

    byte[] cacheLoss = CacheLossCodec.TYPE.getBytes(StandardCharsets.US_ASCII);
    memory.takeRaw(Map.of(BatchHeaderCodec.TYPE_HEADER, cacheLoss), value, T);
    assertEquals(new Counters(5, 0, 0, 0, 5), counters());
  }

  @Test
  void take_recordWithoutHeaders_isQuarantinedAsOne() {
    memory.counter.take(new SourceRecord(0, T, null, name -> null));

    assertEquals(List.of("0: header weir-type is missing"), memory.refusals);
    assertEquals(new Counters(1, 0, 0, 0, 1), counters());
  }

  @Test
  void take_topicWhoseBeginningIsGone_startsAtTheFirstBatchSeen() {
    memory.skipOffsets(1_000);
    take("n", 500, T + 100, T + 50, Calls.allowed("a", "acme", 3, T + 1));

    assertEquals(0, memory.publish().nodes().get(0).missingLines());
    assertEquals(T + 50, memory.publish().watermarkEpochMillis());
  }

  @Test
  void restart_withAnotherWindow_isRefused() {
    take("n", 1, T + 100, T + 50, Calls.allowed("a", "acme", 3, T + 1));

    CountSettings other = new CountSettings(20_000, 2_000, 60_000, 3_600_000);

    assertThrows(IllegalStateException.class, () -> PartitionState.load(memory.progress, other));
  }

  @Test
  void forget_closedRowsBeyondLateness_areDropped() {
    take("n", 1, T + 100, T + 50, Calls.allowed("a", "acme", 3, T + 1));
    memory.take(Calls.heartbeat("n", 1, T + 12_000), new byte[0], T + 12_001);
    memory.counter.forget(10);
    assertEquals(1, memory.closed.size());

    memory.take(Calls.heartbeat("n", 1, T + 3_640_000), new byte[0], T + 3_640_000);
    memory.counter.forget(10);

    assertEquals(0, memory.closed.size());
  }

  @Test
  void publish_afterRestart_publishesEveryOpenRowOnce() {
    take("n", 1, T + 100, T + 50, Calls.allowed("a", "acme", 3, T + 1));
    memory.states.clear();

    memory.restart();
    PartitionProgress progress = memory.publish();

    assertEquals(1, memory.states.size());
    assertEquals(0, progress.offset());
    assertEquals(1, progress.nodes().get(0).lines());
  }

  @Test
  void take_lateCostsWhoseSumExceedsTheMaximum_areQuarantined_andOthersCounted() {
    long most = CallEvent.MAX_QUANTITY;
    take("n", 1, T + 100, T + 50, Calls.allowed("a", "acme", most - 2, T + 1));
    memory.take(Calls.heartbeat("n", 1, T + 12_000), new byte[0], T + 12_001);

    take(
        "n",
        2,
        T + 13_000,
        T + 12_500,
        Calls.allowed("b", "acme", 2, T + 1),
        Calls.allowed("c", "acme", 1, T + 1),
        Calls.allowed("d", "globex", most, T + 1),
        Calls.allowed("e", "globex", most, T + 1),
        Calls.allowed("f", "initech", 5, T + 1));
    take("n", 3, T + 13_500, T + 12_600, Calls.allowed("g", "globex", 1, T + 1));

    assertEquals(new Counters(7, 1, 0, 3, 3), counters());
    assertEquals(
        List.of(most - 2, most, most, 5L),
        memory.rows().stream().map(UsageRow::quantityTotal).toList());
  }

  @Test
  void publish_rowForgottenBetweenFirstRoundAndClose_isNotPublishedAsOpenAgain() {
    int rows = OpenRows.MAX_ROWS_IN_MEMORY + 1;
    for (int first = 0; first < rows; first += BatchHeader.MAX_COUNT) {
      CallEvent[] calls = new CallEvent[Math.min(BatchHeader.MAX_COUNT, rows - first)];
      for (int i = 0; i < calls.length; i++) {
        calls[i] = Calls.allowed("id", "c" + (first + i), 1, T + 1);
      }
      take("n", 1 + first / BatchHeader.MAX_COUNT, T + 100, T + 50, calls);
    }

    // the budget ends when all rows were published once, and the first round begins
    int chunks = (rows + 255) / 256;
    int[] looks = {0};
    memory.counter.publish(() -> looks[0]++ > chunks);
    memory.take(Calls.heartbeat("n", 6, T + 12_000), new byte[0], T + 12_001);
    memory.publish();

    assertEquals(rows, memory.states.size());
    assertEquals(
        0,
        memory.states.values().stream()
            .filter(state -> state.status() != UsageState.Status.FINAL)
            .count());
  }

  private Counters counters() {
    return memory.counter.progress().counters();
  }

  /** A batch after earlier ones; each earlier batch that was never counted has one line. */
  private void take(
      String node, long sequence, long appendEpochMillis, long lowWatermark, CallEvent... calls) {
    Map<Long, Integer> taken = lines.computeIfAbsent(node, first -> new HashMap<>());
    taken.put(sequence, calls.length);
    long linesBefore = 0;
    for (long before = 1; before < sequence; before++) {
      linesBefore += taken.getOrDefault(before, 1);
    }
    memory.take(
        Calls.batch(node, sequence, calls.length, lowWatermark, linesBefore),
        Calls.value(List.of(calls)),
        appendEpochMillis);
  }

  private static CallEvent denied(String id, long decidedAt) {
    return Calls.denied(id, "acme", 1, decidedAt);
  }
}
