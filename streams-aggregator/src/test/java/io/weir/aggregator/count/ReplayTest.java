// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.aggregator.Calls;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CallSettlement;
import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.PartitionProgress.Counters;
import io.weir.topics.model.PartitionProgress.State;
import io.weir.topics.model.Replay;
import io.weir.topics.model.UsagePosition;
import io.weir.topics.model.UsageRow;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.ReplayCodec;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** A refused line is counted once, even if it is replayed several times. */
final class ReplayTest {
  /** Windows of 10 s, 2 s of grace, 60 s of hold, an hour of lateness. */
  private static final CountSettings SETTINGS = new CountSettings(10_000, 2_000, 60_000, 3_600_000);

  private static final long T = 1_000_000_000_000L; // a window boundary
  private static final long AHEAD = T + 400_000;

  private final Memory memory = new Memory(SETTINGS);

  @Test
  void lineOfTheFuture_replayedWhenItsTimeHasCome_isCountedOnce() {
    refuseAheadAt(2);

    replayLine("n", 2, ahead(), AHEAD);
    replayLine("n", 2, ahead(), AHEAD + 1);

    assertEquals(new Counters(4, 2, 1, 0, 1), counters());
    assertEquals(List.of("0@0 [2]", "0@0 [2]"), memory.replays);
    assertEquals(8 + 1, billed());
  }

  @Test
  void lineOfTheFuture_replayedTooEarly_isRefusedAgain_andThenCounted() {
    refuseAheadAt(2);

    replayLine("n", 2, ahead(), T + 200);
    assertEquals(List.of(), memory.replays);
    assertEquals(2, memory.refusals.size());

    replayLine("n", 2, ahead(), AHEAD);
    assertEquals(new Counters(4, 2, 0, 0, 2), counters());
  }

  @Test
  void lineAlreadyCounted_replayed_isADuplicate() {
    refuseAheadAt(2);

    replayLine("n", 1, Calls.allowed("good", "acme", 1, T + 1), T + 300);

    assertEquals(new Counters(3, 1, 1, 0, 1), counters());
  }

  @Test
  void batchRepeatingARefusedLine_notAReplay_isADuplicate() {
    refuseAheadAt(2);

    memory.take(
        Calls.batch("n", 1, 2, T, 0),
        Calls.value(List.of(Calls.allowed("good", "acme", 1, T + 1), ahead())),
        AHEAD);

    assertEquals(new Counters(4, 1, 2, 0, 1), counters());
  }

  @Test
  void linesOfADamagedBatch_replayed_areCountedOnce_andAddNoJournal() {
    CallEvent call = Calls.allowed("damaged", "acme", 8, T + 1);
    memory.take(Calls.batch("n", 1, 2, T, 0), Calls.value(List.of(call)), T + 100);
    BatchHeader header = new BatchHeader("quarantine-0", 0, 1, 1, 0, 0, true);

    replay(header, new Replay(0, 0, 1), call, T + 200);
    replay(header, new Replay(0, 0, 1), call, T + 300);

    assertEquals(new Counters(3, 1, 1, 0, 1), counters());
    assertEquals(List.of(), memory.counter.progress().nodes());
    assertEquals(8, billed());
  }

  @Test
  void replayedLine_holdsNoWindowOpen_andMovesNoLowWatermark() {
    refuseAheadAt(2);
    BatchHeader header = new BatchHeader("quarantine-1", 7, 1, 1, 0, 0, true);
    replay(header, new Replay(1, 7, 1), Calls.allowed("moved", "acme", 4, T + 5), T + 300);

    memory.take(heartbeat(T + 12_000, 2, false), new byte[0], T + 12_001);

    UsageRow row = memory.rows().get(0);
    assertEquals(UsageRow.Type.FINAL, row.type());
    assertEquals(5, row.count().quantity());
    assertTrue(row.complete());
  }

  @Test
  void replayedCall_canBeSettledByItsOldAndItsNewPosition() {
    refuseAheadAt(2);
    CallEvent damaged = Calls.allowed("damaged", "acme", 5, T + 1);
    BatchHeader own = new BatchHeader("quarantine-0", 9, 1, 1, 0, 0, true);
    replayLine("n", 2, ahead(), AHEAD);
    replay(own, new Replay(0, 9, 1), damaged, AHEAD);

    settle(3, ahead(), new UsagePosition(0, "n", 1, 2));
    settle(4, damaged, new UsagePosition(0, "quarantine-0", 9, 1));

    assertEquals(1, memory.refusals.size(), memory.refusals.toString());
    assertEquals(1, billed(), "both are settled at 0");
  }

  @Test
  void replayOfAGivenUpRecord_fillsItsHole_andItsNodeStaysDeparted() {
    List<CallEvent> calls = List.of(Calls.allowed("given up", "acme", 8, T + 1));
    memory.take(
        Calls.batch("n", 2, 1, T, 1),
        Calls.value(List.of(Calls.allowed("next", "acme", 1, T + 2))),
        T + 100);
    memory.take(heartbeat(T + 200, 2, true), new byte[0], T + 201);
    assertEquals(1, node().missingLines());

    for (int i = 0; i < 2; i++) {
      take(Calls.batch("n", 1, 1, T, 0), new Replay(0, 0, 0), Calls.value(calls), T + 300 + i);
    }

    assertEquals(new Counters(3, 2, 1, 0, 0), counters());
    assertEquals(List.of("0@0 []", "0@0 []"), memory.replays);
    assertEquals(0, node().missingLines());
    assertEquals(State.DEPARTED, node().state());
  }

  /** A batch of two lines; the second has a time after the broker's clock. */
  private void refuseAheadAt(int line) {
    assertEquals(2, line);
    memory.take(
        Calls.batch("n", 1, 2, T, 0),
        Calls.value(List.of(Calls.allowed("good", "acme", 1, T + 1), ahead())),
        T + 100);
    assertEquals(new Counters(2, 1, 0, 0, 1), counters());
  }

  private static CallEvent ahead() {
    return Calls.allowed("ahead", "acme", 8, AHEAD);
  }

  private void settle(long line, CallEvent call, UsagePosition position) {
    CallEvent settlement = call.settledAt(new CallSettlement(0, AHEAD + 1, position));
    memory.take(
        Calls.batch("n", line, 1, T, line - 1), Calls.value(List.of(settlement)), AHEAD + 100);
  }

  private void replayLine(String node, int line, CallEvent call, long at) {
    replay(Calls.batch(node, 1, 1, T, line - 1L), new Replay(0, 0, line), call, at);
  }

  private void replay(BatchHeader header, Replay replay, CallEvent call, long at) {
    take(header, replay, Calls.value(List.of(call)), at);
  }

  private void take(BatchHeader header, Replay replay, byte[] value, long at) {
    Map<String, byte[]> headers = new HashMap<>(BatchHeaderCodec.encode(header));
    headers.putAll(ReplayCodec.encode(replay));
    memory.takeRaw(headers, value, at);
  }

  private static BatchHeader heartbeat(long lowWatermark, long lines, boolean departing) {
    return new BatchHeader("n", 1, 2, 0, lowWatermark, lines, departing);
  }

  private PartitionProgress.Node node() {
    return memory.counter.progress().nodes().get(0);
  }

  private long billed() {
    memory.publish();
    return memory.states.values().stream().mapToLong(state -> state.count().quantity()).sum();
  }

  private Counters counters() {
    return memory.counter.progress().counters();
  }
}
