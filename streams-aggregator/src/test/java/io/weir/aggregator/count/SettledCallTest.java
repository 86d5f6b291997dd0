// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.aggregator.Calls;
import io.weir.aggregator.RawCall;
import io.weir.aggregator.watermark.NodeWatermarks;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CallSettlement;
import io.weir.topics.model.PartitionProgress.Counters;
import io.weir.topics.model.SettlementVerdict;
import io.weir.topics.model.SettlementVerdict.Outcome;
import io.weir.topics.model.SettlementVerdict.Standing;
import io.weir.topics.model.UsagePosition;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** A settlement counts only if the line of its call was counted. */
final class SettledCallTest {
  /** Windows of 10 s, 2 s of grace, 60 s of hold, an hour of lateness. */
  private static final CountSettings SETTINGS = new CountSettings(10_000, 2_000, 60_000, 3_600_000);

  private static final long T = 1_000_000_000_000L; // a window boundary

  private final Memory memory = new Memory(SETTINGS);
  private long sequence;
  private long lines;

  @Test
  void callOfTheFuture_isNotCredited_whenItsTimeHasCome() {
    CallEvent future = Calls.allowed("a", "acme", 8, T + 400_000);
    take(T + 100, future);
    take(T + 400_100, settled(future, 0, 1));

    assertEquals(new Counters(2, 0, 0, 0, 2), counters());
    assertEquals(List.of(), billed());
  }

  @Test
  void callOfARefusedBatch_isNotCredited() {
    CallEvent call = Calls.allowed("a", "acme", 8, T + 1);
    BatchHeader wrong = Calls.batch("n", ++sequence, 2, T, 0);
    memory.take(wrong, Calls.value(List.of(call)), T + 100);
    lines = 2;
    take(T + 200, settled(call, 0, 1));

    assertEquals(new Counters(2, 0, 0, 0, 2), counters());
    assertEquals(List.of(), billed());
  }

  @Test
  void malformedLine_isNotCredited_butItsNeighbourIs() {
    CallEvent bad = Calls.allowed("bad", "acme", 8, T + 1);
    CallEvent good = Calls.allowed("good", "acme", 5, T + 2);
    byte[] value =
        RawCall.concat(
            new RawCall("bad", "acme", "GET /items", T + 1).with("cost", 0).toBytes(),
            Calls.value(List.of(good)));
    memory.take(Calls.batch("n", ++sequence, 2, T, 0), value, T + 100);
    lines = 2;
    take(T + 200, settled(bad, 0, 1), settled(good, 3, 2));

    assertEquals(new Counters(4, 2, 0, 0, 2), counters());
    assertEquals(List.of(3L), billed());
  }

  @Test
  void callNeverReceivedOrOfAnUnknownJournal_isNotCredited() {
    CallEvent call = Calls.allowed("a", "acme", 8, T + 1);
    take(T + 100, settled(call, 0, 9));
    take(
        T + 200,
        call.settledAt(new CallSettlement(0, T + 1_000, new UsagePosition(0, "other", 1, 1))));

    assertEquals(new Counters(2, 0, 0, 0, 2), counters());
    assertEquals(List.of(), billed());
  }

  @Test
  void verdict_ofALaterSettlement_namesTheOneThatStands() {
    CallEvent call = Calls.allowed("a", "acme", 8, T + 1);
    take(T + 100, call);
    take(T + 200, settled(call, 12, 1));
    take(T + 300, settled(call, 3, 1), settled(call, 12, 1));

    Standing first = new Standing(12, place(2));
    assertEquals(
        List.of(
            verdict(2, Outcome.STANDS, first, null),
            verdict(3, Outcome.SETTLED_BEFORE, first, null),
            verdict(4, Outcome.SETTLED_BEFORE, first, null)),
        memory.verdicts);
    assertEquals(List.of(12L), billed());
  }

  /** A node that knows the line of a call settles it before the batch of the call is sent. */
  @Test
  void settlementInTheBatchOfItsCall_counts_afterTheCall() {
    CallEvent call = Calls.allowed("a", "acme", 8, T + 1);
    CallEvent next = Calls.allowed("b", "acme", 5, T + 2);
    take(T + 100, call, settled(call, 3, 1), settled(next, 0, 4), next);

    assertEquals(
        List.of(
            verdict(2, Outcome.STANDS, new Standing(3, place(2)), null),
            verdict("b", 3, Outcome.REFUSED, null, "the settled call was not counted")),
        memory.verdicts);
    assertEquals(List.of(8L), billed());
    assertEquals(new Counters(4, 3, 0, 0, 1), counters());
  }

  @Test
  void settlementInTheBatchOfARefusedCall_isNotCredited() {
    CallEvent future = Calls.allowed("a", "acme", 8, T + 400_000);
    take(T + 100, future, settled(future, 0, 1));

    assertEquals(new Counters(2, 0, 0, 0, 2), counters());
    assertEquals(List.of(), billed());
  }

  /** The line before is known from an earlier batch, and the one behind it is new. */
  @Test
  void settlementInAPartlyKnownBatch_counts() {
    CallEvent first = Calls.allowed("a", "acme", 8, T + 1);
    CallEvent second = Calls.allowed("b", "acme", 5, T + 2);
    take(T + 100, first);
    lines = 0;
    take(T + 200, first, second, settled(first, 7, 1), settled(second, 1, 2));

    assertEquals(
        List.of(Outcome.STANDS, Outcome.STANDS),
        memory.verdicts.stream().map(SettlementVerdict::outcome).toList());
    assertEquals(List.of(8L), billed());
  }

  @Test
  void unchangedCost_settlesTheCall() {
    CallEvent call = Calls.allowed("a", "acme", 8, T + 1);
    take(T + 100, call);
    take(T + 200, settled(call, 8, 1), settled(call, 3, 1));

    assertEquals(Outcome.STANDS, memory.verdicts.get(0).outcome());
    assertEquals(new Standing(8, place(2)), memory.verdicts.get(1).standing());
    assertEquals(List.of(8L), billed());
  }

  @Test
  void callsUnderOneId_areSettledEach() {
    CallEvent quote = Calls.allowed("x", "acme", 8, T + 1);
    CallEvent render = Calls.allowed("x", "acme", 5, T + 2); // of another cost: another call
    take(T + 100, quote, render);
    take(T + 200, settled(quote, 0, 1), settled(render, 0, 2));
    take(T + 300, settled(render, 3, 2));

    assertEquals(
        List.of(
            verdict("x", 3, Outcome.STANDS, new Standing(0, place(3)), null),
            verdict("x", 4, Outcome.STANDS, new Standing(0, place(4)), null),
            verdict("x", 5, Outcome.SETTLED_BEFORE, new Standing(0, place(4)), null)),
        memory.verdicts);
    assertEquals(List.of(0L), billed());
  }

  @Test
  void refusedSettlement_isPublishedWithItsReason_andALaterOneCounts() {
    CallEvent call = Calls.allowed("a", "acme", 8, T + 1);
    CallEvent other = Calls.allowed("b", "acme", 1, T + 2);
    take(T + 100, call, other);
    take(T + 200, settled(call, CallEvent.MAX_QUANTITY, 1), settled(call, 9, 9));
    take(T + 300, settled(call, 9, 1));

    assertEquals(Outcome.REFUSED, memory.verdicts.get(0).outcome());
    assertEquals(
        verdict(4, Outcome.REFUSED, null, "the settled call was not counted"),
        memory.verdicts.get(1));
    assertEquals(Outcome.STANDS, memory.verdicts.get(2).outcome());
    assertEquals(List.of(10L), billed());
  }

  @Test
  void batchSentAgain_publishesOneVerdict() {
    CallEvent call = Calls.allowed("a", "acme", 8, T + 1);
    take(T + 100, call);
    take(T + 200, settled(call, 12, 1));
    sequence--;
    lines--;
    take(T + 300, settled(call, 12, 1));

    assertEquals(1, memory.verdicts.size());
  }

  @Test
  void callOfAForgottenJournal_isSettled_andTheJournalStaysForgotten() {
    CallEvent call = Calls.allowed("a", "acme", 8, T + 1);
    take(T + 100, call);
    memory.take(new BatchHeader("n", 1, 1, 0, T + 200, 1, true), new byte[0], T + 200);
    long later = T + NodeWatermarks.PUBLISHED_AFTER_DEPARTURE_MILLIS - 100_000;
    memory.take(Calls.heartbeat("m", 0, later), new byte[0], later);
    later = T + 2 * NodeWatermarks.PUBLISHED_AFTER_DEPARTURE_MILLIS;
    memory.take(Calls.heartbeat("m", 0, later), new byte[0], later);
    assertEquals(1, memory.publish().nodes().size());
    CallEvent recent = Calls.allowed("a", "acme", 8, later - 1);
    CallEvent settlement = settled(recent, 3, 1);
    memory.take(Calls.batch("m", 1, 1, later, 0), Calls.value(List.of(settlement)), later + 1);

    assertEquals(Outcome.STANDS, memory.verdicts.get(0).outcome());
    assertEquals(1, memory.publish().nodes().size());
  }

  private static SettlementVerdict verdict(
      long line, Outcome outcome, @Nullable Standing standing, @Nullable String reason) {
    return verdict("a", line, outcome, standing, reason);
  }

  private static SettlementVerdict verdict(
      String id, long line, Outcome outcome, @Nullable Standing standing, @Nullable String reason) {
    return new SettlementVerdict(place(line), "acme", id, outcome, standing, reason);
  }

  private static UsagePosition place(long line) {
    return new UsagePosition(0, "n", 1, line);
  }

  private CallEvent settled(CallEvent call, long actualCost, long line) {
    return call.settledAt(new CallSettlement(actualCost, T + 1_000, place(line)));
  }

  private void take(long at, CallEvent... calls) {
    List<CallEvent> all = List.of(calls);
    memory.take(Calls.batch("n", ++sequence, all.size(), at - 50, lines), Calls.value(all), at);
    lines += all.size();
  }

  private List<Long> billed() {
    memory.publish();
    return memory.states.values().stream().map(state -> state.count().quantity()).toList();
  }

  private Counters counters() {
    return memory.publish().counters();
  }
}
