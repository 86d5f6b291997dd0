// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.aggregator.Calls;
import io.weir.limits.BilledIn;
import io.weir.limits.BillingPeriod;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.LedgerRow;
import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsageRow;
import io.weir.topics.model.UsageState;
import io.weir.topics.wire.LedgerRowCodec;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Endpoints without their own rows are counted in one row, exactly. */
final class OtherRowsTest {
  /** Windows of 10 s, 2 s of grace, 60 s of hold, an hour of lateness; two endpoints. */
  private static final CountSettings SETTINGS =
      new CountSettings(10_000, 2_000, 60_000, 3_600_000, 2);

  private static final long T = 1_000_000_000_000L; // a window boundary
  private static final long MONTH = 30L * 86_400_000;

  private Memory memory = new Memory(SETTINGS);
  private long sequence;
  private long lines;
  private long ids;

  @Test
  void asManyEndpointsAsMayBe_haveRowsOfTheirOwn() {
    take(T + 100, call("a", 1), call("b", 2), call("a", 4));
    closeWindow();

    assertEquals(List.of("a=5", "b=2"), rows());
    assertEquals(0, memory.publish().inOtherRows());
    assertEquals(0, memory.publish().maxEndpoints());
  }

  @Test
  void oneMore_isCountedInTheRowOfTheOthers_andSoIsEachFurtherOne() {
    take(T + 100, call("a", 1), call("b", 2), call("c", 4));
    take(T + 200, call("d", 8), call("a", 16), call("c", 32));
    closeWindow();

    assertEquals(List.of("others=44", "a=17", "b=2"), rows());
    assertEquals(3, memory.rows().get(0).count().callsAllowed());
    PartitionProgress progress = memory.publish();
    assertEquals(3, progress.inOtherRows());
    assertEquals(2, progress.maxEndpoints());
    assertEquals(6, progress.counters().counted());
  }

  @Test
  void nextWindow_hasOwnRowsAgain() {
    take(T + 100, call("a", 1), call("b", 2), call("c", 4));
    take(T + 10_100, at(call("c", 8), T + 10_001));
    memory.take(Calls.heartbeat("n", lines, T + 22_000), new byte[0], T + 22_001);

    assertEquals(List.of("others=4", "a=1", "b=2", "c=8"), rows());
  }

  @Test
  void callersEndpointOfThatName_hasARowOfItsOwn_orIsOneOfTheOthers() {
    take(T + 100, call("other", 1), call("b", 2), call("c", 4), call("other", 8));
    take(T + 200, of(call("a", 1), "bytes"), of(call("b", 2), "bytes"));
    take(T + 300, of(call("other", 16), "bytes"));
    memory.publish();
    closeWindow();

    assertEquals(
        List.of("others=16", "a=1", "b=2", "others=4", "b=2", "other=9"),
        rows(),
        "the meter bytes, and the meter calls");
    UsageRow others = memory.rows().get(3);
    UsageRow own = memory.rows().get(5);
    assertEquals(UsageKey.others("acme", "calls"), others.key());
    assertEquals(new UsageKey("acme", "calls", "other"), own.key());
    assertNotEquals(others.recordId(), own.recordId());
    assertEquals(
        Set.of(
            "acme/calls/@others/001000000000000",
            "acme/calls/other/001000000000000",
            "acme/calls/b/001000000000000"),
        keys("acme/calls/"));
  }

  @Test
  void clientsAndMeters_areEachCountedByThemselves() {
    take(T + 100, call("a", 1), call("b", 2), of(call("c", 4), "bytes"), by(call("c", 8), "beta"));
    take(T + 200, of(call("d", 16), "bytes"), by(call("d", 32), "beta"), call("c", 64));
    closeWindow();

    assertEquals(
        List.of(
            "acme bytes c=4",
            "acme bytes d=16",
            "acme calls others=64",
            "acme calls a=1",
            "acme calls b=2",
            "beta calls c=8",
            "beta calls d=32"),
        memory.rows().stream()
            .map(row -> row.key().client() + " " + row.key().meter() + " " + describe(row))
            .toList());
  }

  @Test
  void duplicates_areDroppedInTheRowOfTheirCall_andTakeNoRow() {
    CallEvent first = mine("1", "a");
    CallEvent beyond = mine("3", "c");
    take(T + 100, first, at(first, T + 11_000), mine("2", "b"), beyond, beyond, first);
    take(T + 200, at(call("x", 1), T + 11_000), at(call("y", 2), T + 11_000));
    memory.take(Calls.heartbeat("n", lines, T + 22_000), new byte[0], T + 22_001);

    assertEquals(List.of("others=8", "a=8", "b=8", "x=1", "y=2"), rows());
    assertEquals(
        List.of(1L, 1L, 0L, 0L, 0L),
        memory.rows().stream().map(row -> row.count().duplicatesDropped()).toList());
  }

  @Test
  void settlement_changesTheRowInWhichItsCallIsCounted_beforeAndAfterTheClose() {
    CallEvent own = call("a", 1);
    CallEvent beyond = call("c", 4);
    CallEvent later = call("d", 8);
    take(T + 100, own, call("b", 2), beyond, later, Calls.settled(beyond, 5));
    closeWindow();
    assertEquals(List.of("others=13", "a=1", "b=2"), rows());

    take(T + 13_000, Calls.settled(later, 3), Calls.settled(own, 0));

    assertEquals(List.of("others=-5", "a=-1"), rows().subList(3, 5));
    assertEquals(UsageRow.Reason.SETTLE, memory.rows().get(3).reason());
    assertEquals(2, memory.rows().get(3).revision());
    assertEquals(8, memory.rows().get(3).quantityTotal());
    assertEquals(UsageRow.Reason.VOID, memory.rows().get(4).reason());
  }

  @Test
  void settlementBeforeItsCall_isRefused_andTakesNoRow() {
    CallEvent early = call("b", 8);
    take(T + 100, call("a", 1), Calls.settled(early, 3), call("c", 4), early);
    closeWindow();

    assertEquals(List.of("others=8", "a=1", "c=4"), rows());
  }

  @Test
  void lateCalls_followTheRowsOfTheirWindow_whichMayStillGetOne() {
    take(T + 100, call("a", 1));
    closeWindow();
    take(T + 13_000, call("c", 2), call("d", 4), call("a", 8), call("c", 16));
    take(T + 13_100, call("d", 32), call("e", 64));

    assertEquals(List.of("a=1", "c=18", "others=4", "a=8", "others=96"), rows());
    assertEquals(
        List.of(1L, 1L, 1L, 2L, 2L), memory.rows().stream().map(UsageRow::revision).toList());
    assertEquals(100, memory.rows().get(4).quantityTotal());
    assertEquals(4, memory.rows().stream().skip(1).filter(OtherRowsTest::isLate).count());
    assertEquals(3, memory.publish().inOtherRows());
  }

  /** The rows of a closed window are written in the background: the same before and after that. */
  @Test
  void lateCalls_whileRowsWaitToBeWritten_followThem() {
    take(T + 100, call("a", 1), call("b", 2), call("c", 4));
    memory.takeOnly(Calls.heartbeat("n", lines, T + 12_000), new byte[0], T + 12_001);
    memory.restart();
    batch(T + 13_000, call("b", 8), call("d", 16));
    memory.counter.close(() -> false);

    assertEquals(List.of("b=2", "b=8", "others=4", "others=16", "a=1"), rows());
  }

  @Test
  void restartsInTheMidstOfAWindow_changeNoByteOfTheLedger() {
    List<String> undisturbed = history(false);

    assertEquals(undisturbed, history(true));
    assertEquals(12, undisturbed.size());
  }

  private List<String> history(boolean restarts) {
    memory = new Memory(SETTINGS);
    sequence = 0;
    lines = 0;
    ids = 0;
    for (String endpoint : List.of("b", "a", "d", "c", "a", "d")) {
      restart(restarts);
      take(T + 100 + lines, call(endpoint, 1 + lines), by(call("only", 1), "beta"));
    }
    closeWindow();
    for (String endpoint : List.of("e", "a", "d")) {
      restart(restarts);
      take(T + 13_000 + lines, call(endpoint, 1 + lines), by(call(endpoint, 1), "gamma"));
    }
    return memory.ledger.stream().map(OtherRowsTest::text).toList();
  }

  private void restart(boolean restarts) {
    if (restarts) {
      memory.restart();
    }
  }

  /** The work per call must not grow with the number of a client's endpoints. */
  @Test
  void callBeyond_readsAsMuch_howeverManyEndpointsThereAre() {
    memory = new Memory(new CountSettings(10_000, 2_000, 60_000, 3_600_000, 500));
    for (int i = 0; i < 600; i++) {
      take(T + 100 + i, call("e" + i, 1));
    }
    memory.restart();
    take(T + 2_000, call("x0", 1));
    long scanned = memory.open.scanned() + memory.closed.scanned();
    long reads = memory.open.reads();
    for (int i = 1; i <= 100; i++) {
      take(T + 3_000 + i, call("x" + i, 1));
    }

    assertEquals(scanned, memory.open.scanned() + memory.closed.scanned());
    assertEquals(100, memory.open.reads() - reads, "whether it has a row of its own");
  }

  @Test
  void restart_inAWindowOfVeryManyEndpoints_readsEachRowOnce_andDividesOn() {
    memory = new Memory(new CountSettings(10_000, 2_000, 60_000, 3_600_000, 10_000));
    takeEach(9_999, "e");
    memory.restart();
    takeEach(3, "x");
    assertTrue(memory.open.scanned() <= 10_001, "rows read: " + memory.open.scanned());
    memory.restart();
    takeEach(3, "x");
    closeWindow();

    assertEquals(10_001, memory.rows().size());
    assertEquals("others=4", rows().get(0));
    assertTrue(rows().contains("x0=2"));
    assertEquals(10_005, memory.rows().stream().mapToLong(row -> row.count().quantity()).sum());
  }

  private void takeEach(int endpoints, String name) {
    CallEvent[] calls = new CallEvent[endpoints];
    for (int i = 0; i < endpoints; i++) {
      calls[i] = call(name + i, 1);
    }
    take(T + 100, calls);
  }

  /** In RocksDB what was deleted is passed by a scan, until it is compacted. */
  @Test
  void lateCall_ofAWindowWithManyRows_passesNoneOfThoseThatWereClosed() {
    CallEvent[] calls = new CallEvent[1_000];
    for (int i = 0; i < calls.length; i++) {
      calls[i] = by(call("a", 1), "c" + i);
    }
    take(T + 100, calls);
    closeWindow();
    memory.restart();
    long scanned = memory.open.scanned() + memory.closed.scanned();

    take(T + 13_000, by(call("late", 1), "c500"));

    assertEquals("late=1", rows().get(1_000));
    long passed = memory.open.scanned() + memory.closed.scanned() - scanned;
    assertTrue(passed <= 5, "rows passed: " + passed);
  }

  @Test
  void lateCallsOfOneRow_readTheStoresAsOftenAsOne() {
    take(T + 100, call("a", 1), call("b", 1), call("c", 1));
    closeWindow();
    CallEvent[] own = new CallEvent[100];
    CallEvent[] beyond = new CallEvent[100];
    Arrays.setAll(own, i -> call("a", 1));
    Arrays.setAll(beyond, i -> call("c", 1));

    assertEquals(readsOf(call("a", 1)), readsOf(own));
    assertEquals(
        readsOf(call("c", 1)) + 99 * 2, readsOf(beyond), "whether it has a row of its own");
    assertEquals(
        List.of("others=1", "a=1", "b=1", "a=1", "a=100", "others=1", "others=100"), rows());
  }

  private long readsOf(CallEvent... late) {
    long before = memory.open.reads() + memory.closed.reads();
    batch(T + 13_000, late);
    return memory.open.reads() + memory.closed.reads() - before;
  }

  /** Of a row of others, too, the first line says the period, and each later row has it. */
  @Test
  void othersOfAClientWithACalendar_areOfThePeriodOfTheirFirstLine_openAndClosed() {
    BilledIn nepal =
        new BilledIn(
            BillingPeriod.own("2001-09-09", "Asia/Kathmandu", T - MONTH / 2, T + MONTH / 2), null);
    BilledIn paris =
        new BilledIn(
            BillingPeriod.own("2001-09-09", "Europe/Paris", T - MONTH / 2, T + MONTH / 2), null);
    take(T + 100, call("a", 1), call("b", 2).billedIn(paris), call("c", 4).billedIn(nepal));
    take(T + 200, call("d", 8).billedIn(nepal), call("e", 16), call("c", 32).billedIn(paris));
    memory.restart();
    closeWindow();
    take(T + 13_000, call("f", 64).billedIn(nepal), call("d", 128), call("b", 256).billedIn(paris));

    assertEquals(List.of("others=60", "a=1", "b=2", "others=192", "b=256"), rows());
    assertEquals(
        Arrays.asList(nepal.period(), null, paris.period(), nepal.period(), paris.period()),
        memory.rows().stream().map(UsageRow::ownPeriod).toList());
    PartitionProgress progress = memory.publish();
    assertEquals(3, progress.periodConflicts());
    assertEquals(6, progress.inOtherRows());
    for (UsageRow row : memory.rows()) {
      boolean isOfVersion2 = text(row).startsWith("{\"schema_version\":2,");
      assertEquals(row.ownPeriod() != null, isOfVersion2, text(row));
    }
  }

  @Test
  void moreCountsThanAreKept_areReadAgain() {
    int clients = EndpointRows.MAX_COUNTS_IN_MEMORY / 100;
    for (int turn = 0; turn < 101; turn++) {
      List<CallEvent> calls = new ArrayList<>();
      for (int i = 0; i < clients; i++) {
        calls.add(by(call("a", 1), "c" + (turn * clients + i)));
      }
      take(T + 100 + turn, calls.toArray(CallEvent[]::new));
    }
    take(T + 300, by(call("b", 1), "c0"), by(call("c", 2), "c0"), by(call("d", 4), "c0"));
    closeWindow();

    assertEquals(
        List.of("others=6", "a=1", "b=1"),
        memory.rows().stream()
            .filter(row -> row.key().client().equals("c0"))
            .map(OtherRowsTest::describe)
            .toList());
  }

  @Test
  void sumOfTheOthers_hasTheBoundOfEveryRow() {
    take(T + 100, call("a", 1), call("b", 1), call("c", CallEvent.MAX_QUANTITY), call("d", 1));

    assertEquals(1, memory.publish().counters().quarantined());
  }

  @Test
  void restart_withAnotherNumber_isRefused_sinceItBelongsToTheData() {
    take(T + 100, call("a", 1));
    CountSettings other = new CountSettings(10_000, 2_000, 60_000, 3_600_000, 3);

    OtherEndpointsException refused =
        assertThrows(
            OtherEndpointsException.class, () -> PartitionState.load(memory.progress, other));

    assertEquals(2, refused.stored());
    assertEquals(3, refused.set());
  }

  private CallEvent call(String endpoint, long cost) {
    return Calls.call("s" + ids++, false, "acme", endpoint, cost, true, T + 1);
  }

  private static CallEvent mine(String id, String endpoint) {
    return Calls.call(id, true, "acme", endpoint, 8, true, T + 1);
  }

  private static CallEvent of(CallEvent call, String meter) {
    return copy(call, call.client(), meter, call.decidedAtEpochMillis());
  }

  private static CallEvent by(CallEvent call, String client) {
    return copy(call, client, call.meter(), call.decidedAtEpochMillis());
  }

  private static CallEvent at(CallEvent call, long decidedAtEpochMillis) {
    return copy(call, call.client(), call.meter(), decidedAtEpochMillis);
  }

  private static CallEvent copy(CallEvent call, String client, String meter, long decidedAt) {
    return new CallEvent(
        call.id(),
        call.idFromCaller(),
        client,
        call.endpoint(),
        meter,
        call.cost(),
        call.allowed(),
        DecidedBy.CACHE,
        null,
        1,
        decidedAt,
        null,
        List.of());
  }

  private void take(long at, CallEvent... calls) {
    batch(at, calls);
    memory.counter.close(() -> false);
  }

  private void batch(long at, CallEvent... calls) {
    List<CallEvent> all = Stream.of(calls).toList();
    memory.takeOnly(Calls.batch("n", ++sequence, all.size(), T + 50, lines), Calls.value(all), at);
    lines += all.size();
  }

  private void closeWindow() {
    memory.take(Calls.heartbeat("n", lines, T + 12_000), new byte[0], T + 12_001);
  }

  private List<String> rows() {
    return memory.rows().stream().map(OtherRowsTest::describe).toList();
  }

  private static String describe(UsageRow row) {
    UsageKey key = row.key();
    return (key.others() ? "others" : key.endpoint()) + "=" + row.count().quantity();
  }

  private static boolean isLate(UsageRow row) {
    return row.reason() == UsageRow.Reason.LATE;
  }

  private Set<String> keys(String prefix) {
    Set<String> keys = new HashSet<>();
    for (var state : memory.states.entrySet()) {
      assertEquals(UsageState.Status.FINAL, state.getValue().status());
      if (state.getKey().startsWith(prefix)) {
        keys.add(state.getKey());
      }
    }
    return keys;
  }

  private static String text(LedgerRow row) {
    return new String(LedgerRowCodec.encode(row), StandardCharsets.UTF_8);
  }
}
