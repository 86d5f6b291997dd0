// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.aggregator.Calls;
import io.weir.aggregator.RawCall;
import io.weir.aggregator.state.Unpacker;
import io.weir.limits.BillingCalendar;
import io.weir.limits.BillingPeriod;
import io.weir.limits.ClientCalendar;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.LedgerRow;
import io.weir.topics.model.UsageRow;
import io.weir.topics.model.UsageState;
import io.weir.topics.wire.LedgerRowCodec;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The billing periods of rows: what the first line of a key and window says, for good. */
final class BillingPeriodsTest {
  /** Windows of an hour, no grace, two hours of hold, ten days of lateness. */
  private static final CountSettings HOURS =
      new CountSettings(3_600_000, 0, 7_200_000, 10 * 86_400_000L);

  private static final BillingCalendar NEPAL = calendar("Asia/Kathmandu", 15);
  private static final BillingCalendar PARIS = calendar("Europe/Paris", 1);

  private static final String NEPAL_OCTOBER =
      "2026-10-15 Asia/Kathmandu 2026-10-14T18:15:00Z 2026-11-14T18:15:00Z";
  private static final String NEPAL_NOVEMBER =
      "2026-11-15 Asia/Kathmandu 2026-11-14T18:15:00Z 2026-12-14T18:15:00Z";
  private static final String PARIS_NOVEMBER =
      "2026-11-01 Europe/Paris 2026-10-31T23:00:00Z 2026-11-30T23:00:00Z";
  private static final String UTC_NOVEMBER =
      "2026-11 UTC 2026-11-01T00:00:00Z 2026-12-01T00:00:00Z";

  private final Memory memory = new Memory(HOURS);
  private long lines;
  private long ids;

  private static BillingCalendar calendar(String zone, int day) {
    BillingCalendar calendar =
        BillingCalendar.of(new ClientCalendar(ZoneId.of(zone), LocalDate.of(2026, 1, day)));
    assertNotNull(calendar);
    return calendar;
  }

  private static long millis(String moment) {
    return Instant.parse(moment).toEpochMilli();
  }

  private CallEvent utc(String moment) {
    return Calls.allowed("s" + ids++, "acme", 1, millis(moment));
  }

  private CallEvent billed(BillingCalendar calendar, String moment) {
    return utc(moment).billedIn(calendar.at(millis(moment)));
  }

  /** Takes a batch that promises nothing newer than its first call. */
  private void take(String at, CallEvent... calls) {
    BatchHeader header =
        new BatchHeader(
            "n", 1, lines + 1, calls.length, calls[0].decidedAtEpochMillis(), lines, false);
    lines += calls.length;
    memory.take(header, Calls.value(List.of(calls)), millis(at));
  }

  private void closeThrough(String moment) {
    memory.take(
        new BatchHeader("n", 1, lines, 0, millis(moment), lines, false),
        new byte[0],
        millis(moment));
  }

  /** The rows as "type revision start period". */
  private List<String> rows() {
    return memory.rows().stream().map(BillingPeriodsTest::describe).toList();
  }

  private static String describe(UsageRow row) {
    return row.type()
        + " "
        + row.revision()
        + " "
        + Instant.ofEpochMilli(row.window().startEpochMillis()).toString().substring(8, 16)
        + " "
        + period(row.billingPeriod());
  }

  private static String period(BillingPeriod period) {
    return period.name()
        + " "
        + period.timeZone()
        + " "
        + Instant.ofEpochMilli(period.startEpochMillis())
        + " "
        + Instant.ofEpochMilli(period.endEpochMillis());
  }

  @Test
  void windowInAPeriod_hasThePeriodOfItsLines_alsoWhileItIsOpen() {
    take("2026-11-20T10:05:00Z", billed(NEPAL, "2026-11-20T10:01:00Z"));
    memory.publish();
    UsageState running = memory.states.values().iterator().next();
    closeThrough("2026-11-20T11:00:00Z");

    assertEquals(NEPAL_NOVEMBER, period(running.billingPeriod()));
    assertEquals(UsageState.Status.RUNNING, running.status());
    assertEquals(List.of("FINAL 1 20T10:00 " + NEPAL_NOVEMBER), rows());
    UsageState closed = memory.states.values().iterator().next();
    assertEquals(NEPAL_NOVEMBER, period(closed.billingPeriod()));
  }

  /** The period begins at 18:15 UTC, in the midst of a window of an hour. */
  @Test
  void windowThatAPeriodBeginsIn_belongsToThePeriodInWhichItStarts() {
    take(
        "2026-11-14T19:31:00Z",
        billed(NEPAL, "2026-11-14T18:20:00Z"),
        billed(NEPAL, "2026-11-14T18:10:00Z"),
        billed(NEPAL, "2026-11-14T19:30:00Z"));
    closeThrough("2026-11-14T20:00:00Z");

    assertEquals(
        List.of("FINAL 1 14T18:00 " + NEPAL_OCTOBER, "FINAL 1 14T19:00 " + NEPAL_NOVEMBER), rows());
  }

  @Test
  void calendarChangedInMidWindow_windowStaysInThePeriodOfItsFirstLine() {
    take("2026-11-20T10:05:00Z", billed(PARIS, "2026-11-20T10:01:00Z"));
    take(
        "2026-11-20T11:06:00Z",
        billed(NEPAL, "2026-11-20T10:30:00Z"),
        utc("2026-11-20T10:31:00Z"),
        billed(NEPAL, "2026-11-20T11:05:00Z"));
    closeThrough("2026-11-20T12:00:00Z");

    assertEquals(
        List.of("FINAL 1 20T10:00 " + PARIS_NOVEMBER, "FINAL 1 20T11:00 " + NEPAL_NOVEMBER),
        rows());
    assertEquals(3, memory.rows().get(0).count().quantity());
  }

  @Test
  void calendarSetOrRemovedInMidWindow_windowStaysInThePeriodOfItsFirstLine() {
    take("2026-11-20T10:05:00Z", utc("2026-11-20T10:01:00Z"));
    take(
        "2026-11-20T11:40:00Z",
        billed(NEPAL, "2026-11-20T10:30:00Z"),
        billed(NEPAL, "2026-11-20T11:30:00Z"),
        utc("2026-11-20T11:31:00Z"));
    closeThrough("2026-11-20T12:00:00Z");

    assertEquals(
        List.of("FINAL 1 20T10:00 " + UTC_NOVEMBER, "FINAL 1 20T11:00 " + NEPAL_NOVEMBER), rows());
    assertNull(memory.rows().get(0).ownPeriod());
  }

  /** First in the log, not first in time: a replay reads the log in the same order. */
  @Test
  void linesOfSeveralCalendars_firstInTheLogDecides() {
    take(
        "2026-11-20T10:40:00Z",
        billed(NEPAL, "2026-11-20T10:30:00Z"),
        billed(PARIS, "2026-11-20T10:01:00Z"));
    closeThrough("2026-11-20T11:00:00Z");

    assertEquals(List.of("FINAL 1 20T10:00 " + NEPAL_NOVEMBER), rows());
  }

  @Test
  void lateCallOfAnotherCalendar_isAdjustedInThePeriodOfTheFinal() {
    take("2026-11-20T10:05:00Z", billed(PARIS, "2026-11-20T10:01:00Z"));
    closeThrough("2026-11-20T11:00:00Z");
    memory.restart();
    take("2026-11-20T11:30:00Z", billed(NEPAL, "2026-11-20T10:30:00Z"));
    take("2026-11-20T11:31:00Z", utc("2026-11-20T10:31:00Z"));

    assertEquals(
        List.of(
            "FINAL 1 20T10:00 " + PARIS_NOVEMBER,
            "ADJUSTMENT 2 20T10:00 " + PARIS_NOVEMBER,
            "ADJUSTMENT 3 20T10:00 " + PARIS_NOVEMBER),
        rows());
    UsageState state = memory.states.values().iterator().next();
    assertEquals(PARIS_NOVEMBER, period(state.billingPeriod()));
  }

  @Test
  void lateCallBeforeTheFinalIsWritten_isAdjustedInThePeriodOfTheFinal() {
    take("2026-11-20T10:05:00Z", billed(PARIS, "2026-11-20T10:01:00Z"));
    memory.takeOnly(
        new BatchHeader("n", 1, lines, 0, millis("2026-11-20T11:00:00Z"), lines, false),
        new byte[0],
        millis("2026-11-20T11:00:00Z"));
    take("2026-11-20T11:30:00Z", billed(NEPAL, "2026-11-20T10:30:00Z"));

    assertEquals(
        List.of("FINAL 1 20T10:00 " + PARIS_NOVEMBER, "ADJUSTMENT 2 20T10:00 " + PARIS_NOVEMBER),
        rows());
  }

  @Test
  void lateCallsOfAWindowWithoutARow_haveThePeriodOfTheFirstOfThem() {
    closeThrough("2026-11-20T11:00:00Z");
    CallEvent first = billed(NEPAL, "2026-11-20T10:30:00Z");
    CallEvent other = billed(PARIS, "2026-11-20T10:01:00Z");
    take("2026-11-20T11:30:00Z", first, other, Calls.settled(other, 7));
    memory.restart();
    take("2026-11-20T11:31:00Z", utc("2026-11-20T10:31:00Z"));

    assertEquals(
        List.of(
            "ADJUSTMENT 1 20T10:00 " + NEPAL_NOVEMBER,
            "ADJUSTMENT 2 20T10:00 " + NEPAL_NOVEMBER,
            "ADJUSTMENT 3 20T10:00 " + NEPAL_NOVEMBER),
        rows());
  }

  @Test
  void repeatedCall_whichIsDropped_decidesNoPeriod() {
    CallEvent before =
        Calls.call("own", true, "acme", "GET /items", 1, true, millis("2026-11-20T09:59:00Z"));
    CallEvent again =
        Calls.call("own", true, "acme", "GET /items", 1, true, millis("2026-11-20T10:00:00Z"))
            .billedIn(NEPAL.at(millis("2026-11-20T10:00:00Z")));
    take("2026-11-20T10:05:00Z", before, again, billed(PARIS, "2026-11-20T10:01:00Z"));
    closeThrough("2026-11-20T11:00:00Z");

    assertEquals(
        List.of("FINAL 1 20T09:00 " + UTC_NOVEMBER, "FINAL 1 20T10:00 " + PARIS_NOVEMBER), rows());
  }

  @Test
  void settlement_repeatsThePeriodOfItsCall() {
    CallEvent call = billed(NEPAL, "2026-11-20T10:30:00Z");
    take("2026-11-20T10:40:00Z", call, Calls.settled(call, 5));
    closeThrough("2026-11-20T11:00:00Z");

    assertEquals(List.of("FINAL 1 20T10:00 " + NEPAL_NOVEMBER), rows());
  }

  /** The period does not contain the call, so the row's period would be unknown. */
  @Test
  void lineWithAPeriodOfAnotherTime_isQuarantined() {
    long start = millis("2026-11-14T18:15:00Z");
    long end = millis("2026-11-20T10:30:00Z");
    byte[] value =
        new RawCall("a", "acme", "GET /items", end)
            .billing("2026-11-15", "Asia/Kathmandu", start, end)
            .toBytes();
    memory.take(new BatchHeader("n", 1, 1, 1, 0, 0, false), value, millis("2026-11-20T10:40:00Z"));

    assertEquals(1, memory.counter.progress().counters().quarantined());
    assertTrue(memory.refusals.get(0).contains("billing period"), memory.refusals.toString());
  }

  @Test
  void replay_withOtherPausesAndRestarts_writesTheSameBytes() {
    List<byte[]> first = history(false);
    List<byte[]> second = history(true);

    assertEquals(first.size(), second.size());
    for (int i = 0; i < first.size(); i++) {
      assertArrayEquals(first.get(i), second.get(i));
    }
  }

  private static List<byte[]> history(boolean restarts) {
    BillingPeriodsTest one = new BillingPeriodsTest();
    for (int i = 0; i < 200; i++) {
      Instant at = Instant.parse("2026-11-14T12:00:00Z").plusSeconds(600L * i);
      String earlier = at.minusSeconds(i % 7 == 0 ? 90_000 : 60).toString();
      String now = at.minusSeconds(1).toString();
      one.take(
          at.toString(),
          i % 3 == 0 ? one.billed(PARIS, now) : one.billed(NEPAL, now),
          i % 5 == 0 ? one.utc(earlier) : one.billed(NEPAL, earlier));
      if (restarts && i % 4 == 0) {
        one.memory.publish();
        one.memory.restart();
      }
    }
    one.closeThrough("2026-11-17T00:00:00Z");
    List<byte[]> bytes = new ArrayList<>();
    for (LedgerRow row : one.memory.ledger) {
      bytes.add(LedgerRowCodec.encode(row));
    }
    return bytes;
  }

  /** State stored by versions without the clients' own calendars. */
  @Test
  void rowsOfVersion1_areRead_andStayInTheMonthOfUtc() {
    long start = millis("2026-11-20T10:00:00Z");
    RowKey key = new RowKey(start, "acme", "calls", "GET /items");
    String figures = "0a04020002000e120308";
    memory.open.put(key.toBytes(), HexFormat.of().parseHex("02" + figures));
    RowKey closedKey = new RowKey(millis("2026-11-20T08:00:00Z"), "acme", "calls", "GET /items");
    memory.closed.put(closedKey.toBytes(), HexFormat.of().parseHex("0202" + figures));

    take("2026-11-20T10:30:00Z", billed(NEPAL, "2026-11-20T10:20:00Z"));
    closeThrough("2026-11-20T11:00:00Z");
    take("2026-11-20T11:01:00Z", billed(NEPAL, "2026-11-20T08:20:00Z"));

    assertEquals(
        List.of("FINAL 1 20T10:00 " + UTC_NOVEMBER, "ADJUSTMENT 2 20T08:00 " + UTC_NOVEMBER),
        rows());
    assertEquals(6, memory.rows().get(0).count().quantity());
    assertEquals(6, memory.rows().get(1).quantityTotal());
    byte[] rewritten = memory.closed.get(key.toBytes());
    assertEquals(2, rewritten == null ? -1 : rewritten[0], "version 1, which older programs read");
  }

  /** A node that decides by its file, say, or an old one in a roll-out: no line of it is lost. */
  @Test
  void linesOfAnotherPeriodThanTheirRow_areCounted_inOpenAndClosedWindows() {
    CallEvent settled = billed(NEPAL, "2026-11-20T10:07:00Z");
    take(
        "2026-11-20T10:05:00Z",
        utc("2026-11-20T10:01:00Z"),
        billed(NEPAL, "2026-11-20T10:02:00Z"),
        utc("2026-11-20T10:03:00Z"),
        billed(PARIS, "2026-11-20T10:04:00Z"),
        settled);
    assertEquals(3, memory.publish().periodConflicts());

    closeThrough("2026-11-20T11:00:00Z");
    memory.restart();
    take(
        "2026-11-20T11:30:00Z",
        billed(NEPAL, "2026-11-20T10:05:00Z"),
        utc("2026-11-20T10:06:00Z"),
        Calls.settled(settled, 5));
    assertEquals(5, memory.publish().periodConflicts());

    closeThrough("2026-11-20T13:00:00Z"); // 12:00 has no row
    take(
        "2026-11-20T13:30:00Z",
        billed(NEPAL, "2026-11-20T12:05:00Z"),
        utc("2026-11-20T12:06:00Z"),
        billed(NEPAL, "2026-11-20T12:07:00Z"));
    memory.restart();
    assertEquals(6, memory.publish().periodConflicts());
    assertEquals(10, memory.rows().stream().mapToLong(row -> row.count().eventCount()).sum());
  }

  @Test
  void partition_hasTheSameVersion_withAndWithoutARowOfVersion2() {
    take("2026-11-20T10:05:00Z", utc("2026-11-20T10:01:00Z"));
    assertEquals(5, versionOfPartition());

    take("2026-11-20T10:06:00Z", billed(NEPAL, "2026-11-20T10:02:00Z"));
    memory.restart();
    take("2026-11-20T10:07:00Z", utc("2026-11-20T10:03:00Z"));

    assertEquals(5, versionOfPartition());
    assertEquals(3, memory.counter.progress().counters().counted());
    assertEquals(1, memory.counter.progress().periodConflicts());
  }

  private long versionOfPartition() {
    byte[] state = memory.progress.get(new byte[] {'p'});
    assertNotNull(state);
    return Unpacker.ofVersions(state, 0, 100).version();
  }

  @Test
  void rowsOfVersion2_agreeWithTheStoredBytes() {
    take("2026-11-20T10:30:00Z", billed(NEPAL, "2026-11-20T10:20:00Z"));
    RowKey key = new RowKey(millis("2026-11-20T10:00:00Z"), "acme", "calls", "GET /items");
    byte[] open = memory.open.get(key.toBytes());
    closeThrough("2026-11-20T11:00:00Z");
    byte[] closed = memory.closed.get(key.toBytes());
    assertNotNull(open);
    assertNotNull(closed);

    String period = "14323032362d31312d31351c417369612f4b6174686d616e6475";
    String stored = HexFormat.of().formatHex(open);
    assertTrue(stored.startsWith("0402020000000000"), stored);
    assertTrue(stored.contains(period), stored);
    assertEquals("0402" + stored.substring(2), HexFormat.of().formatHex(closed));
  }
}
