// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.BilledIn;
import io.weir.limits.BillingPeriod;
import io.weir.servers.testing.TestKafka;
import io.weir.testing.CoreSuite;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CallSettlement;
import io.weir.topics.model.CloseRow;
import io.weir.topics.model.UsageCount;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsageRow;
import io.weir.topics.model.UsageState;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/** Plants bugs in real topics. {@code weir verify} must report each bug. */
final class VerifyIT {
  private static final int PARTITIONS = 60;
  private static TestKafka kafka;
  private static int nextPartition;

  private final int partition = nextPartition++;
  private final WrittenTopics topics = new WrittenTopics(partition, PARTITIONS);
  private final Map<String, String> environment = new HashMap<>();
  private Instant from = Instant.ofEpochMilli(topics.start);
  private Instant to = Instant.ofEpochMilli(topics.window().endEpochMillis());
  private boolean isWritten;

  @BeforeAll
  static void create() throws Exception {
    kafka = TestKafka.borrow();
    WrittenTopics.create(kafka.bootstrapServers(), PARTITIONS);
  }

  @AfterAll
  static void giveBack() {
    kafka.close();
  }

  @Test
  @CoreSuite
  void goodTopics_areEqualAndProven() throws Exception {
    String said = assertExit(0);

    assertTrue(said.contains("recounted 3 calls (2 allowed, 1 denied) in 1 window;"), said);
    assertTrue(said.contains("quantity 7, over all meters"), said);
    assertTrue(said.contains("0 differences; the range is closed and complete"), said);
  }

  @Test
  void ledgerRowTwice_isFound_butNotAfterAReset() throws Exception {
    topics.ledger.addAll(List.copyOf(topics.ledger));

    assertDiffers("ledger P:2 is record", "again, which is at offset 0");
    assertExit(0, "--after-reset");
  }

  @Test
  void ledgerRowTwiceWithOtherContent_isFound_alsoAfterAReset() throws Exception {
    topics.ledger.add(topics.row(topics.first));

    assertDiffers("with different content");
    assertTrue(assertExit(1, "--after-reset").contains("with different content"));
  }

  /** An erasure never removes such a row, because a recount would create the row again. */
  @Test
  void rowErasedThoughItsCallsAreHeld_isFound() throws Exception {
    topics.tombstones.add(topics.states.get(0));

    assertDiffers("ledger says revision 1", "state topic says nothing");
  }

  /** The first line says a period, the other lines another or none. */
  @Test
  void billingPeriodOfTheFirstLine_isNoDifference() throws Exception {
    prepareBilled(topics.ownPeriod(), topics.ownPeriod());

    assertExit(0);
  }

  @Test
  void billingPeriodOfUtc_whereTheLinesSayAnother_isFound() throws Exception {
    prepareBilled(null, null);

    assertDiffers(
        "CLIENT calls -: recount says billing period " + topics.ownPeriod().name() + " (",
        ", Asia/Kathmandu); ledger says the month of UTC");
  }

  @Test
  void billingPeriodWithOtherBounds_isFound() throws Exception {
    BillingPeriod own = topics.ownPeriod();
    BillingPeriod longer =
        BillingPeriod.own(
            own.name(), own.timeZone(), own.startEpochMillis(), own.endEpochMillis() + 1);
    prepareBilled(longer, longer);

    assertDiffers(
        "recount says billing period " + topics.ownPeriod().name() + " (",
        "ledger says " + topics.ownPeriod().name() + " (");
  }

  @Test
  void billingPeriodInTheStateTopicAlone_isFound() throws Exception {
    prepareBilled(topics.ownPeriod(), null);

    assertDiffers("; state topic says the month of UTC");
  }

  @Test
  void billingMonthThatIsNotTheWindows_isFound() throws Exception {
    BillingPeriod month = BillingPeriod.utcMonth("2001-01");
    topics.ledger.set(0, WrittenTopics.inPeriod((UsageRow) topics.ledger.get(0), month));

    assertDiffers("recount says billing period the month of UTC; ledger says 2001-01");
  }

  @Test
  void adjustmentInAnotherBillingPeriodThanItsFinal_isFound() throws Exception {
    CallEvent late = topics.call("late", false, 9, true);
    topics.promise(topics.window().endEpochMillis() + 600_000);
    topics.batch(late);
    UsageCount count = topics.count(late);
    topics.ledger.add(WrittenTopics.inPeriod(topics.row(2, count, 16), topics.ownPeriod()));
    topics.states.set(
        0, topics.state(2, topics.first, topics.denied, topics.own, topics.settlement, late));
    topics.counters = new long[] {8, 5, 1, 2};

    assertDiffers(
        " has the billing period " + topics.ownPeriod().name() + " (",
        ", but the rows before it have the month of UTC");
  }

  /** A period that no calendar has is reported, even if the first line names it. */
  @Test
  void billingPeriodOfMoreThan32Days_namedForAnotherDay_isFound_alsoWhereTheLinesSayIt()
      throws Exception {
    BillingPeriod own = topics.ownPeriod();
    BillingPeriod wrong =
        BillingPeriod.own(
            "2001-01-15",
            own.timeZone(),
            own.startEpochMillis() - 40 * 86_400_000L,
            own.endEpochMillis());
    topics.clear();
    topics.batch(topics.first.billedIn(new BilledIn(wrong, null)));
    topics.ledger.add(WrittenTopics.inPeriod(topics.row(topics.first), wrong));
    topics.ledger.add(topics.close(1, topics.first.quantity()));
    topics.states.add(WrittenTopics.inPeriod(topics.state(1, topics.first), wrong));
    topics.counters = new long[] {1, 1, 0, 0};

    assertDiffers(
        "ledger P:0 has a billing period of more than 32 days: 2001-01-15 (",
        "ledger P:0 has a billing period that does not start with its first date");
  }

  private void prepareBilled(@Nullable BillingPeriod ofRow, @Nullable BillingPeriod ofState)
      throws Exception {
    BilledIn own = WrittenTopics.calendar().at(topics.first.decidedAtEpochMillis());
    BilledIn other =
        new BilledIn(
            BillingPeriod.own(
                "2026-10-01", "UTC", topics.start - 90_000_000, topics.start + 90_000_000),
            null);
    topics.clear();
    CallEvent[] counted = {topics.first.billedIn(own), topics.denied.billedIn(other), topics.own};
    topics.batch(counted[0], counted[1], topics.own, topics.own);
    topics.ledger.add(WrittenTopics.inPeriod(topics.row(counted), ofRow));
    topics.ledger.add(topics.close(1, 5));
    topics.states.add(WrittenTopics.inPeriod(topics.state(1, counted), ofState));
    topics.counters = new long[] {4, 3, 1, 0};
  }

  @Test
  void endpointsInTheOthersRow_areNoDifference() throws Exception {
    prepareOthers(List.of("other"), 24, List.of("y", "z"));

    String said = assertExit(0);

    assertTrue(said.contains("recounted 6 calls (5 allowed, 1 denied) in 3 windows;"), said);
  }

  @Test
  void othersWithAnotherSum_areFound() throws Exception {
    prepareOthers(List.of("other"), 23, List.of("y", "z"));

    assertDiffers("CLIENT calls (others): recount says quantity 24", "ledger says quantity 23");
  }

  @Test
  void endpointAmongOthers_thatShouldHaveARow_isFound() throws Exception {
    prepareOthers(List.of(), 28, List.of("other", "y", "z"));

    assertDiffers(
        "CLIENT calls (others): ledger has a row of others and 1 endpoints",
        "WEIR_MAX_ENDPOINTS is 2");
  }

  @Test
  void endpointWithARow_thatShouldBeAmongOthers_isFound() throws Exception {
    prepareOthers(List.of("z"), 12, List.of("other", "y"));

    assertDiffers("CLIENT calls z: has its own row, but was first counted after others had");
  }

  @Test
  void callOfAnEndpointWithARow_countedAmongOthers_isFound() throws Exception {
    CallEvent own = topics.call("own2", "other", 64);
    topics.batch(own);
    topics.counters = new long[] {8, 5, 1, 2};
    prepareOthers(List.of("other"), 24 + 64, List.of("y", "z"));

    assertDiffers(
        "CLIENT calls other: recount says quantity 68",
        "CLIENT calls (others): recount says quantity 24");
  }

  /**
   * Prepares calls of the endpoints other, y and z, of 4, 8 and 16 units, where two endpoints may
   * have rows of their own: one is that of the topics.
   *
   * @param own which of them have rows of their own
   * @param ofOthers quantity of the row of others
   * @param beyond which of them are counted in it
   */
  private void prepareOthers(List<String> own, long ofOthers, List<String> beyond)
      throws Exception {
    Map<String, CallEvent> calls = new LinkedHashMap<>();
    calls.put("other", topics.call("o", "other", 4));
    calls.put("y", topics.call("y", "y", 8));
    calls.put("z", topics.call("z", "z", 16));
    topics.batch(calls.values().toArray(CallEvent[]::new));
    long quantity = 7 + ofOthers;
    for (String endpoint : own) {
      UsageKey key = new UsageKey(topics.key.client(), "calls", endpoint);
      CallEvent call = Objects.requireNonNull(calls.get(endpoint));
      UsageCount count = topics.count(call);
      topics.ledger.add(1, topics.row(key, 1, count, count.quantity()));
      topics.states.add(topics.state(key, 1, call));
      quantity += count.quantity();
    }
    UsageCount exact = topics.count(beyond.stream().map(calls::get).toArray(CallEvent[]::new));
    UsageCount count =
        new UsageCount(
            ofOthers,
            exact.callsAllowed(),
            0,
            0,
            0,
            0,
            exact.eventCount(),
            exact.firstOffset(),
            exact.lastOffset(),
            exact.eventsDigest(),
            1);
    UsageKey others = UsageKey.others(topics.key.client(), "calls");
    topics.ledger.add(1, topics.row(others, 1, count, count.quantity()));
    topics.states.add(
        new UsageState(others, topics.window(), UsageState.Status.FINAL, 1, count, true));
    topics.ledger.set(topics.ledger.size() - 1, topics.close(2 + own.size(), quantity));
    topics.counters[0] += 3;
    topics.counters[1] += 3;
    topics.others = new long[] {beyond.size(), 2};
  }

  @Test
  @CoreSuite
  void callNotCounted_isFound() throws Exception {
    topics.ledger.set(0, topics.row(topics.first, topics.denied, topics.settlement));
    topics.ledger.set(1, topics.close(1, 5));
    topics.states.set(0, topics.state(1, topics.first, topics.denied, topics.settlement));
    topics.counters = new long[] {7, 3, 2, 2};

    assertDiffers("CLIENT calls -: recount says quantity 7", "ledger says quantity 5");
  }

  @Test
  @CoreSuite
  void callCountedTwice_isFound() throws Exception {
    CallEvent[] counted = {topics.first, topics.denied, topics.own, topics.own, topics.settlement};
    topics.ledger.set(0, topics.row(counted));
    topics.ledger.set(1, topics.close(1, 9));
    topics.states.set(0, topics.state(1, counted));
    topics.counters = new long[] {7, 5, 0, 2};

    assertDiffers(
        "CLIENT calls -: recount says quantity 7, allowed 2", "ledger says quantity 9, allowed 3");
  }

  @Test
  void settlementOfACallInADamagedBatch_thatGaveACredit_isFound() throws Exception {
    assertCreditIsFound(topics.damaged, topics.start + 120_000);
  }

  @Test
  void settlementOfACallFromTheFuture_thatGaveACredit_isFound() throws Exception {
    assertCreditIsFound(topics.future, topics.future.decidedAtEpochMillis());
  }

  /** The settlement is neither malformed nor out of time itself, so that it may be counted. */
  private void assertCreditIsFound(CallEvent refused, long settledAt) throws Exception {
    topics.now = settledAt;
    CallEvent credit = refused.settledAt(new CallSettlement(1, settledAt, topics.position(3)));
    topics.batch(credit);
    CallEvent[] counted = {topics.first, topics.denied, topics.own, topics.settlement, credit};
    topics.ledger.set(0, topics.row(counted));
    topics.ledger.set(1, topics.close(1, 0));
    topics.states.set(0, topics.state(1, counted));
    topics.counters = new long[] {8, 5, 1, 2};

    assertDiffers(
        "calls P:4 line 1 settles the call " + refused.id() + " of CLIENT, which was never counted",
        "recount says quantity 7",
        "ledger says quantity 0");
  }

  @Test
  void settlementOfARefusedCall_thatIsInTheQuarantine_isNoDifference() throws Exception {
    topics.batch(topics.damaged.settledAt(new CallSettlement(1, topics.now)));
    topics.quarantine(topics.calls.get(4), 1);
    topics.counters = new long[] {8, 4, 1, 3};

    assertExit(0);
  }

  /** Line 6 was refused, line 9 stands in the same record, there is no line 99. */
  @Test
  void settlementsOfUncountedLines_inTheQuarantine_areNoDifference() throws Exception {
    topics.batch(settlesOwn(6), settlesOwn(9), settlesOwn(99));
    for (int line = 1; line <= 3; line++) {
      topics.quarantine(topics.calls.get(4), line);
    }
    topics.counters = new long[] {10, 4, 1, 5};

    assertExit(0);
  }

  @Test
  void settlementOfACountedCall_inTheQuarantine_isFound() throws Exception {
    topics.batch(settlesOwn(3));
    topics.quarantine(topics.calls.get(4), 1);
    topics.counters = new long[] {8, 4, 1, 3};

    assertDiffers("recount says quantity");
  }

  private CallEvent settlesOwn(long line) {
    return topics.own.settledAt(new CallSettlement(1, topics.now, topics.position(line)));
  }

  @Test
  void settlementThatNamesNoCall_inTheQuarantine_isNoDifference() throws Exception {
    writeSettlementOfNoCall(14, 5);
    topics.quarantine(topics.calls.get(4), 1);
    topics.counters = new long[] {9, 5, 1, 3};

    assertExit(0);
  }

  @Test
  void settlementThatNamesNoCall_thatWasCounted_isFound() throws Exception {
    writeSettlementOfNoCall(15, 6);
    topics.counters = new long[] {9, 6, 1, 2};

    assertDiffers(
        "calls P:4 line 1 is refused (the settlement does not name the line of its call)");
  }

  private void writeSettlementOfNoCall(long quantity, int counted) {
    CallEvent late = topics.call("late", false, 7, true);
    CallEvent settled = late.settledAt(new CallSettlement(8, topics.now));
    topics.batch(settled, late);
    CallEvent[] calls = {topics.first, topics.denied, topics.own, topics.settlement, late, settled};
    CallEvent[] rows = Arrays.copyOf(calls, counted);
    topics.ledger.set(0, topics.row(rows));
    topics.ledger.set(1, topics.close(1, quantity));
    topics.states.set(0, topics.state(1, rows));
  }

  @Test
  void refusedBatchThatIsNotInTheQuarantine_isFound() throws Exception {
    topics.quarantine.remove(0);

    assertDiffers("calls P:2 is refused (it has 1 lines, not 7), but is not in the quarantine");
  }

  @Test
  void refusedLineThatIsNotInTheQuarantine_isFound() throws Exception {
    topics.quarantine.remove(1);

    assertDiffers("calls P:3 line 1 is refused (decided in the future)");
  }

  @Test
  void quarantinedLine_validOrListedTwice_isFound() throws Exception {
    topics.quarantine(topics.calls.get(0), 2);
    topics.quarantine(topics.calls.get(3), 1);

    assertDiffers(
        "calls P:0 line 2 is in the quarantine, but has no fault",
        "quarantine P:3 is a repetition: weir.calls.v1-P-3 line 1");
  }

  @Test
  void quarantinedLineWithOtherBytes_isFound() throws Exception {
    byte[] value = topics.quarantine.get(1).value();
    if (value != null) {
      String text = new String(value, StandardCharsets.ISO_8859_1);
      value[text.indexOf("future")] = 'F';
    }

    assertDiffers("calls P:3 line 1 is in the quarantine with other bytes");
  }

  @Test
  void stateThatDisagrees_isFound() throws Exception {
    topics.states.set(0, topics.state(1, topics.first));

    assertDiffers("ledger says revision 1, quantity 7", "state topic says revision 1, quantity 3");
  }

  @Test
  void stateThatIsMissing_isFound() throws Exception {
    topics.states.clear();

    assertDiffers("state topic says nothing");
  }

  @Test
  void countersThatDisagree_areFound() throws Exception {
    topics.counters = new long[] {7, 5, 0, 2};

    assertDiffers("partition P through offset 4: recount says received 7, counted 4, duplicate 1");
  }

  @Test
  void journalWentBack_otherLineAtAUsedPosition_isFound() throws Exception {
    topics.batchAt(0, topics.call("other", false, 100, true));
    topics.counters = new long[] {8, 4, 2, 2};

    assertDiffers(
        "calls P:4 line 1 differs from the line in record 0 at the same position: node n",
        "position 1 (the journal was restored)",
        "recount says quantity 107");
  }

  @Test
  void linesSentAgainInOtherBatches_areNoDifference() throws Exception {
    topics.batchAt(1, topics.denied, topics.own, topics.own, topics.settlement);
    topics.batchAt(0, topics.first);
    topics.counters = new long[] {12, 4, 6, 2};

    assertExit(0);
  }

  @Test
  void adjustmentOfALateCall_addsUp_andAMissingOneIsFound() throws Exception {
    CallEvent late = topics.call("late", false, 9, true);
    topics.promise(topics.window().endEpochMillis() + 600_000);
    topics.batch(late);
    UsageCount count = topics.count(late);
    topics.ledger.add(topics.row(2, count, 16));
    topics.states.add(
        topics.state(2, topics.first, topics.denied, topics.own, topics.settlement, late));
    topics.counters = new long[] {8, 5, 1, 2};
    topics.ledger.add(
        new CloseRow(
            partition,
            topics.window().endEpochMillis() + WrittenTopics.WINDOW_MILLIS,
            1,
            9,
            true,
            System.currentTimeMillis()));

    assertExit(0);
  }

  @Test
  void impossibleLedgerRow_isFound() throws Exception {
    UsageCount nothing = topics.count();
    topics.ledger.add(topics.row(3, nothing, 8));

    assertDiffers(
        "ledger P:2 is revision 3",
        "but the last revision is 1",
        "quantity_total 8, but its rows add");
  }

  @Test
  void closeWithOtherTotals_andFinalBelowIt_areFound() throws Exception {
    topics.ledger.add(0, topics.ledger.remove(1));

    assertDiffers(
        "ledger P:0 closes 1 rows of quantity 7", "ledger P:1 is a FINAL after the CLOSE");
  }

  @Test
  void rangeThatIsNotClosed_isUnproven() throws Exception {
    topics.ledger.clear();
    topics.states.clear();

    String said = assertExit(3);

    assertTrue(
        said.contains("UNPROVEN the range is not closed yet (a partition has no closed window)"),
        said);
    assertTrue(said.contains("0 calls"), said);
  }

  @Test
  void rangeEndingAfterTheLastClose_isUnproven() throws Exception {
    to = to.plusMillis(1);

    String said = assertExit(3);

    assertTrue(said.contains("UNPROVEN the range is not closed yet (every partition"), said);
    assertTrue(said.contains(": wait for WEIR_GRACE"), said);
  }

  /** Regression: it printed a line for each partition and node, although no line was wrong. */
  @Test
  void rangeEndingInTheFuture_isOneReason_unlessANodeIsSilent() throws Exception {
    topics.promise(System.currentTimeMillis());
    topics.write(kafka.bootstrapServers());
    isWritten = true;
    to = Instant.now().plusSeconds(3_600);

    List<String> said = unproven(assertExit(3));

    assertEquals(1, said.size(), said::toString);
    assertTrue(said.get(0).startsWith("UNPROVEN the range ends in the future; try again"));
  }

  @Test
  void rangeEndingInTheFuture_alsoNamesASilentNode() throws Exception {
    topics.write(kafka.bootstrapServers());
    isWritten = true;
    to = Instant.now().plusSeconds(3_600);

    List<String> said = unproven(assertExit(3));

    assertEquals(2, said.size(), said::toString);
    assertTrue(said.get(1).endsWith("the node may still hold calls"), said::toString);
  }

  private static List<String> unproven(String said) {
    return said.lines().filter(line -> line.startsWith("UNPROVEN")).toList();
  }

  @Test
  void aggregatorBehind_isUnproven() throws Exception {
    topics.writeComplete(kafka.bootstrapServers());
    isWritten = true;
    WrittenTopics more = new WrittenTopics(partition, PARTITIONS);
    more.ledger.clear();
    more.states.clear();
    more.quarantine.clear();
    more.calls.subList(1, more.calls.size()).clear();
    more.counters = new long[] {4, 3, 1, 0};
    more.write(kafka.bootstrapServers());

    String said = assertExit(3);

    assertTrue(said.contains("is counted through offset 0, and its last record is 5"), said);
  }

  @Test
  void linesThatAreMissing_areUnproven() throws Exception {
    topics.batchAt(8, topics.own);
    topics.repeated = 2;
    CallEvent[] counted = {topics.first, topics.denied, topics.own, topics.settlement};
    topics.ledger.set(0, topics.row(counted));
    topics.states.set(0, topics.state(1, counted));
    topics.counters = new long[] {8, 4, 2, 2};

    String said = assertExit(3);

    assertTrue(said.contains("node n, epoch"), said);
    assertTrue(said.contains("lines 7 to 8 are missing"), said);
  }

  @Test
  void nodeWhoseLowWatermarkIsBehindTheRange_isUnproven() throws Exception {
    topics.write(kafka.bootstrapServers());
    isWritten = true;

    assertTrue(assertExit(3).contains("the node may still hold calls"));
  }

  @Test
  void wrongOptions_exit2_andAreNamed() {
    assertTrue(exit(2, "--from", "yesterday", "--to", to.toString()).contains("option '--from'"));
    assertTrue(
        exit(2, "--from", to.toString(), "--to", from.toString())
            .contains("--from must be before"));
    assertTrue(
        exit(2, "--from", from.toString(), "--to", to.toString(), "--scratch", "/no/such")
            .contains("--scratch must be an existing folder"));
    assertTrue(exit(2, "--from", from.toString()).contains("--to"));
    environment.put("WEIR_WINDOW", "quarter");
    assertTrue(
        exit(2, "--from", from.toString(), "--to", to.toString()).contains("WEIR_WINDOW must be"));
  }

  @Test
  void help_namesTheExitStatus() {
    String help = exit(0, "--help");

    assertTrue(help.contains("3   no difference so far, but the range is not closed"), help);
    assertFalse(help.contains("%n"), help);
  }

  /** Regression: each record of the state and each row of the ledger was a difference. */
  @Test
  void windowDifferentFromThatOfTheData_isReportedInOneSentence() throws Exception {
    environment.put("WEIR_WINDOW", "PT1S");

    String said = assertExit(2);

    assertEquals(1, said.lines().count(), said);
    assertTrue(said.contains("WEIR_WINDOW must be the window of the counted data, PT"), said);
    assertTrue(said.contains(", but is PT1S"), said);
  }

  @Test
  void rangeNotOfWholeWindows_isRoundedAndReported() throws Exception {
    Instant first = from;
    from = from.minusMillis(1);

    String said = assertExit(0);

    assertTrue(said.contains("verifying the windows from " + first + " to " + to), said);
  }

  @Test
  void rangeInWhichNoWindowStarts_isRefused() throws Exception {
    from = from.plusMillis(1);
    to = from.plusMillis(1);

    String said = assertExit(2);

    assertTrue(said.contains("no window of PT"), said);
  }

  private void assertDiffers(String... parts) throws Exception {
    String said = assertExit(1);
    for (String part : parts) {
      assertTrue(
          said.lines().anyMatch(line -> line.startsWith("DIFFERS ") && line.contains(part)),
          () -> part + " in " + said);
    }
  }

  @Test
  void clientWithoutCalls_isReported() throws Exception {
    topics.writeComplete(kafka.bootstrapServers());

    String nobody = WrittenTopics.client("nobody-", partition, PARTITIONS);
    String said = exit(0, "--from", from.toString(), "--to", to.toString(), "--client", nobody);

    assertTrue(said.contains("the range has no call of the client '" + nobody + "'"), said);
  }

  @Test
  void calls_ofAClient_arePrintedInTheOrderOfTheTopic() throws Exception {
    topics.writeComplete(kafka.bootstrapServers());

    List<String> rows = calls(0).lines().toList();
    assertEquals(8, rows.size(), rows::toString);
    assertTrue(rows.get(0).matches("TIME +VERDICT +COST .*"), rows::toString);
    String at = Instant.ofEpochMilli(topics.start + 1_000).toString();
    assertTrue(rows.get(1).matches(at + " +allowed +3 +- +calls +- +cache +1"), rows::toString);
    assertTrue(rows.get(2).matches(".* denied +4 .* 2"), rows::toString);
    assertTrue(rows.get(5).matches(".* settled +3 to 5 .* 1"), rows::toString);

    List<String> own = calls(0, "--id", "own", "--json").lines().toList();
    assertEquals(2, own.size(), own::toString); // the caller sent it twice
    assertTrue(own.get(0).startsWith("{\"id\":\"own\",\"client\":\"CLIENT\","), own::toString);
    String before = Instant.ofEpochMilli(topics.start + 2_000).toString();
    assertEquals(7, calls(0, "--to", before).lines().count());
    assertTrue(calls(0, "--from", before, "--json").contains("\"id\":\"future\""));
    assertEquals(
        "weir: the range has no such call of the client 'CLIENT'", calls(0, "--id", "x").strip());
  }

  @Test
  void calls_recordThatIsNotABatch_isReportedAndSkipped() throws Exception {
    byte[] value = topics.calls.get(1).value();
    if (value != null) {
      value[0] = 7; // a wire type that does not exist
    }
    topics.writeComplete(kafka.bootstrapServers());

    String said = calls(1);

    assertTrue(said.contains("weir: skipped the record at offset 1 of partition P of "), said);
    assertEquals(8, said.lines().count(), said);
  }

  private String calls(int status, String... options) {
    List<String> arguments = new ArrayList<>(List.of("calls", "--client", topics.key.client()));
    arguments.addAll(List.of(options));
    return run(status, arguments);
  }

  /** Verifies the topics. The first call in a test writes them, unless the test has done so. */
  private String assertExit(int status, String... options) throws Exception {
    if (!isWritten) {
      topics.writeComplete(kafka.bootstrapServers());
      isWritten = true;
    }
    List<String> arguments =
        new ArrayList<>(
            List.of(
                "--from",
                from.toString(),
                "--to",
                to.toString(),
                "--client",
                topics.key.client(),
                "--wait",
                "PT0S"));
    arguments.addAll(List.of(options));
    return exit(status, arguments.toArray(String[]::new));
  }

  private String exit(int status, String... options) {
    List<String> arguments = new ArrayList<>(List.of("verify"));
    arguments.addAll(List.of(options));
    return run(status, arguments);
  }

  private String run(int status, List<String> arguments) {
    StringWriter said = new StringWriter();
    Map<String, String> variables = new HashMap<>(environment);
    variables.put("WEIR_KAFKA", kafka.bootstrapServers());
    PrintWriter printed = new PrintWriter(said, true);
    CommandLine command = WeirCommand.commandLine(variables).setOut(printed).setErr(printed);

    int exit = command.execute(arguments.toArray(String[]::new));

    assertEquals(status, exit, said::toString);
    // so that a test reads the same whichever partition and client it has
    return said.toString()
        .replace(topics.key.client(), "CLIENT")
        .replace(" " + partition + ":", " P:")
        .replace("partition " + partition + " ", "partition P ")
        .replace("weir.calls.v1-" + partition + "-", "weir.calls.v1-P-");
  }
}
