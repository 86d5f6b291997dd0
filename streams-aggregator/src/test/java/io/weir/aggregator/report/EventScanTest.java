// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.aggregator.Calls;
import io.weir.aggregator.RawCall;
import io.weir.topics.log.CallsRecord;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class EventScanTest {
  private static final long FROM = 1_000_000;
  private static final long TO = 2_000_000;
  private static final BatchTrail.Journal NODE = new BatchTrail.Journal("n", 1);

  private final List<CallsRecord> log = new ArrayList<>();

  @Test
  void scan_filters_byClientIntervalVerdictAndEndpoint() {
    append(
        batch("n", 1, 8, 0),
        FROM,
        Calls.allowed("a", "acme", 1, FROM),
        Calls.denied("b", "acme", 1, TO - 1),
        Calls.denied("early", "acme", 1, FROM - 1),
        Calls.denied("late", "acme", 1, TO),
        Calls.denied("other", "acme2", 1, FROM),
        Calls.denied("endpoint", "acme", 1, FROM, "POST /acme"),
        Calls.denied("named", "zeta", 1, FROM, "GET /acme"),
        Calls.denied("c", "acme", 1, FROM));

    assertEquals(List.of("a", "b", "endpoint", "c"), ids(scanAll(query(null, null, 10, null))));
    assertEquals(List.of("b", "endpoint", "c"), ids(scanAll(query(false, null, 10, null))));
    assertEquals(List.of("a"), ids(scanAll(query(true, null, 10, null))));
    assertEquals(List.of("endpoint"), ids(scanAll(query(null, "POST /acme", 10, null))));
  }

  @Test
  void scan_ofASettlement_filtersByItsOwnTime_andMarksTheSecond() {
    CallEvent before = Calls.allowed("before", "acme", 1, FROM - 1_000);
    CallEvent last = Calls.allowed("last", "acme", 1, TO - 1_000);
    append(
        batch("n", 1, 5, 0),
        FROM,
        before,
        Calls.settled(before, 3),
        last,
        Calls.settled(last, 3),
        Calls.settled(before, 4));

    List<EventScan.Found> found = scanAll(query(null, null, 10, null)).found();

    assertEquals(List.of(2, 3, 5), found.stream().map(EventScan.Found::line).toList());
    assertEquals(
        List.of(false, false, true), found.stream().map(EventScan.Found::repeated).toList());
  }

  @Test
  void scan_givesOffsetAndLineOfEveryCall() {
    append(batch("n", 1, 2, 0), FROM, call("x"), call("a"));
    append(batch("n", 2, 1, 0), FROM, call("b"));

    List<EventScan.Found> found = scanAll(query(null, null, 10, null)).found();

    assertEquals(0, found.get(0).offset());
    assertEquals(2, found.get(1).line());
    assertEquals(1, found.get(2).offset());
    assertEquals(1, found.get(2).line());
  }

  @Test
  void scan_ofABatchSentTwice_listsItsCallsOnce() {
    append(batch("n", 1, 1, 0), FROM, call("a"));
    append(batch("n", 1, 1, 0), FROM + 1, call("a"));
    append(batch("m", 1, 1, 0), FROM + 2, call("b"));

    assertEquals(List.of("a", "b"), ids(scanAll(query(null, null, 10, null))));
  }

  @Test
  void scan_ofARepeatedIdOfTheCaller_marksTheSecond() {
    append(
        batch("n", 1, 3, 0),
        FROM,
        Calls.call("k", true, "acme", "e", 1, false, FROM),
        Calls.call("k", true, "acme", "e", 1, true, FROM),
        Calls.call("k", true, "acme", "e", 1, true, FROM));

    assertEquals(
        List.of(false, false, true),
        scanAll(query(null, null, 10, null)).found().stream()
            .map(EventScan.Found::repeated)
            .toList());
  }

  @Test
  void scan_ofForeignRecordsAndBrokenLines_goesOn() {
    log.add(new CallsRecord(0, FROM, null, Calls.value(List.of(call("no header")))));
    byte[] noBatch = "client".getBytes(StandardCharsets.UTF_8);
    log.add(new CallsRecord(1, FROM, batch("n", 1, 1, 0), noBatch));
    byte[] free = new RawCall("free", "acme", "GET /items", FROM).with("cost", 0).toBytes();
    byte[] withoutClient = new RawCall("x", "acme", "GET /items", FROM).with("client", 0).toBytes();
    byte[] value = RawCall.concat(free, withoutClient);
    log.add(new CallsRecord(2, FROM, batch("m", 1, 2, 0), value));
    append(batch("n", 2, 1, 0), FROM, call("a"));

    assertEquals(List.of("a"), ids(scanAll(query(null, null, 10, null))));
  }

  @Test
  void scan_everyLowWatermarkHasPassed_endsCompleteWithoutTheSlack() {
    append(batch("n", 1, 1, FROM), FROM, call("a"));
    append(heartbeat("n", 1, TO), TO);
    append(batch("n", 2, 1, TO + 1), TO + 1, call("never read"));

    EventScan scan = scan(query(null, null, 10, null), Set.of(NODE));
    assertTrue(scan.take(log.get(0)));
    assertFalse(scan.take(log.get(1)));
    assertTrue(scan.complete());
    assertNull(scan.next());
    assertEquals(TO, scan.scannedThroughEpochMillis());
  }

  @Test
  void scan_whileAnotherJournalLags_goesOnAndFindsItsBacklog() {
    append(batch("n", 1, 1, FROM), FROM, call("a"));
    append(batch("m", 1, 1, FROM), FROM, call("b"));
    append(heartbeat("n", 1, TO), TO);
    append(batch("m", 2, 1, TO), TO + 60_000, call("backlog"));

    EventScan scan = scanAll(query(null, null, 10, null));
    assertEquals(List.of("a", "b", "backlog"), ids(scan));
    assertTrue(scan.complete());
  }

  @Test
  void scan_knownJournalNotSeen_endsIncompleteAfterTheSlack() {
    append(heartbeat("m", 0, TO), TO);
    append(batch("m", 1, 1, TO), TO + EventScan.SLACK.toMillis(), call("a"));
    append(batch("m", 2, 1, TO), TO + EventScan.SLACK.toMillis() + 1, call("never read"));

    EventScan scan = scan(query(null, null, 10, null), Set.of(NODE));
    for (CallsRecord entry : log.subList(0, 2)) {
      assertTrue(scan.take(entry));
    }
    assertFalse(scan.take(log.get(2)));
    assertEquals(List.of("a"), ids(scan));
    assertFalse(scan.complete());
    assertNull(scan.next());
  }

  @Test
  void scan_journalKnownToBeGone_isNotWaitedFor() {
    append(batch("old", 1, 1, FROM), FROM, call("a"));
    append(heartbeat("n", 0, TO), TO);

    EventScan scan =
        new EventScan(
            query(null, null, 10, null),
            Set.of(NODE),
            Set.of(new BatchTrail.Journal("old", 1)),
            true,
            Long.MAX_VALUE);
    log.forEach(scan::take);
    assertTrue(scan.complete());
  }

  @Test
  void scan_atTheLogsEnd_isIncompleteUntilLowWatermarksPass() {
    append(batch("n", 1, 1, TO - 1), TO - 1, call("a"));

    EventScan scan = scanAll(query(null, null, 10, null));
    assertFalse(scan.complete());
    assertNull(scan.next());
  }

  @Test
  void scan_aboveItsBudget_givesACursorEvenWithoutCalls() {
    append(batch("n", 1, 1, 0), FROM, Calls.allowed("x", "other", 1, FROM));
    append(batch("n", 2, 1, 0), FROM + 5, call("a"));

    EventScan scan = new EventScan(query(null, null, 10, null), Set.of(), Set.of(), true, 1);
    assertFalse(scan.take(log.get(0)));
    assertEquals(FROM, scan.scannedThroughEpochMillis());
    EventCursor next = scan.next();
    assertNotNull(next);
    assertEquals(1, next.offset());
  }

  @Test
  void pages_ofAnySize_tellEveryCallOnceInOrder() {
    for (long seed = 0; seed < 100; seed++) {
      log.clear();
      Random random = new Random(seed);
      List<String> expected = new ArrayList<>();
      List<CallsRecord> sent = new ArrayList<>();
      for (int sequence = 1; sequence <= 20; sequence++) {
        List<CallEvent> calls = new ArrayList<>();
        for (int i = 0; i <= random.nextInt(4); i++) {
          boolean ours = random.nextBoolean();
          String id = sequence + "." + i;
          calls.add(Calls.allowed(id, ours ? "acme" : "other", 1, FROM));
          if (ours) {
            expected.add(id);
          }
        }
        append(batch("n", sequence, calls.size(), 0), FROM, calls.toArray(new CallEvent[0]));
        sent.add(log.get(log.size() - 1));
        if (random.nextInt(3) == 0) {
          CallsRecord again = sent.get(random.nextInt(sent.size()));
          log.add(new CallsRecord(log.size(), FROM, again.header(), again.value()));
        }
      }

      List<String> told = new ArrayList<>();
      EventCursor page = null;
      do {
        EventScan scan = scanAll(query(null, null, 1 + random.nextInt(4), page));
        told.addAll(ids(scan));
        EventCursor next = scan.next();
        page = next == null ? null : EventCursor.parse(next.toString());
        assertEquals(next, page, "seed " + seed);
      } while (page != null);
      assertEquals(expected, told, "seed " + seed);
    }
  }

  private EventScan scanAll(EventQuery query) {
    EventScan scan = scan(query, Set.of());
    EventCursor page = query.page();
    for (CallsRecord entry : log) {
      if (page != null && entry.offset() < page.offset()) {
        continue;
      }
      if (!scan.take(entry)) {
        return scan;
      }
    }
    scan.logEnded();
    return scan;
  }

  private static EventScan scan(EventQuery query, Set<BatchTrail.Journal> awaited) {
    return new EventScan(query, awaited, Set.of(), true, Long.MAX_VALUE);
  }

  private void append(BatchHeader header, long atEpochMillis, CallEvent... calls) {
    log.add(new CallsRecord(log.size(), atEpochMillis, header, Calls.value(List.of(calls))));
  }

  private static EventQuery query(
      @Nullable Boolean allowed, @Nullable String endpoint, int limit, @Nullable EventCursor page) {
    return new EventQuery("acme", FROM, TO, allowed, endpoint, limit, page);
  }

  private static CallEvent call(String id) {
    return Calls.allowed(id, "acme", 1, FROM);
  }

  private static BatchHeader batch(String node, long sequence, int count, long promise) {
    return Calls.batch(node, sequence, count, promise, 0);
  }

  private static BatchHeader heartbeat(String node, long sequence, long promise) {
    return Calls.heartbeat(node, sequence, promise);
  }

  private static List<String> ids(EventScan scan) {
    return scan.found().stream().map(found -> found.call().id()).toList();
  }
}
