// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.BillingCalendar;
import io.weir.limits.BillingPeriod;
import io.weir.limits.ClientCalendar;
import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.UsageCount;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsageState;
import io.weir.topics.model.UsageWindow;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Reports by the billing periods that are recorded with the usage. */
final class BillingReportTest {
  private static final Duration HOUR = Duration.ofHours(1);
  private static final Instant NOW = Instant.parse("2026-11-20T10:30:00Z");
  private static final BillingCalendar NEPAL = calendar("Asia/Kathmandu", 15);
  private static final BillingCalendar INDIA = calendar("Asia/Kolkata", 15);

  private final List<UsageState> states = new ArrayList<>();

  private static BillingCalendar calendar(String zone, int day) {
    return Objects.requireNonNull(
        BillingCalendar.of(new ClientCalendar(ZoneId.of(zone), LocalDate.of(2026, 1, day))));
  }

  private static UsageQuery query(String... more) {
    return queryAt(NOW, more);
  }

  private static UsageQuery queryAt(Instant now, String... more) {
    Map<String, List<String>> given = new HashMap<>();
    given.put("client", List.of("acme"));
    given.put("window", List.of("billing-period"));
    for (int i = 0; i < more.length; i += 2) {
      given.put(more[i], List.of(more[i + 1]));
    }
    return UsageQuery.of(given, HOUR, now);
  }

  private void count(String windowStart, @Nullable BillingCalendar calendar, String endpoint) {
    count(windowStart, calendar, new UsageKey("acme", "calls", endpoint));
  }

  private void count(String windowStart, @Nullable BillingCalendar calendar, UsageKey key) {
    long start = Instant.parse(windowStart).toEpochMilli();
    BillingPeriod own = calendar == null ? null : calendar.at(start).period();
    states.add(
        new UsageState(
            key,
            new UsageWindow(start, start + HOUR.toMillis()),
            UsageState.Status.FINAL,
            1,
            new UsageCount(1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0),
            true,
            own));
  }

  /** Reads what the query needs, as the table gives it. */
  private UsageReport report(UsageQuery query, String closedThrough) {
    PartitionProgress progress =
        new PartitionProgress(
            0,
            5,
            0,
            Instant.parse(closedThrough).toEpochMilli(),
            0,
            new PartitionProgress.Counters(0, 0, 0, 0, 0),
            0,
            0,
            List.of());
    UsageReport report = new UsageReport(query, HOUR, progress);
    for (UsageState state : states) {
      long start = state.window().startEpochMillis();
      if (start >= query.readFrom().toEpochMilli() && start < query.readTo().toEpochMilli()) {
        report.add(state);
      }
    }
    return report;
  }

  private List<String> rows(UsageQuery query, String closedThrough) {
    return report(query, closedThrough).rows().stream().map(BillingReportTest::describe).toList();
  }

  private static String describe(UsageReport.Row row) {
    BillingPeriod period = Objects.requireNonNull(row.period());
    return period.name()
        + " "
        + period.timeZone()
        + " "
        + row.from()
        + " "
        + row.to()
        + (row.isFinal() ? " final " : " running ")
        + row.quantity()
        + row.endpoint();
  }

  @Test
  void withoutInterval_isTheWholeRunningPeriod() {
    count("2026-11-14T18:00:00Z", null, "-"); // of the month of UTC, which runs, too
    count("2026-11-14T19:00:00Z", NEPAL, "-");
    count("2026-11-20T09:00:00Z", NEPAL, "-");
    count("2026-11-14T10:00:00Z", NEPAL, "-"); // of the period before

    assertEquals(
        List.of(
            "2026-11 UTC 2026-11-01T00:00:00Z 2026-12-01T00:00:00Z running 1",
            "2026-11-15 Asia/Kathmandu 2026-11-14T18:15:00Z 2026-12-14T18:15:00Z running 2"),
        rows(query(), "2026-11-20T10:00:00Z"));
  }

  @Test
  void interval_selectsThePeriodsThatOverlapIt_whole() {
    count("2026-09-20T00:00:00Z", NEPAL, "-");
    count("2026-10-14T00:00:00Z", NEPAL, "-");
    count("2026-10-20T00:00:00Z", NEPAL, "-");
    count("2026-11-14T17:00:00Z", NEPAL, "-");
    count("2026-11-20T00:00:00Z", NEPAL, "-");
    UsageQuery october = query("from", "2026-10-31", "to", "2026-11-01", "tz", "Asia/Tokyo");

    assertEquals(
        List.of("2026-10-15 Asia/Kathmandu 2026-10-14T18:15:00Z 2026-11-14T18:15:00Z final 2"),
        rows(october, "2026-11-20T00:00:00Z"));
    assertEquals(
        Instant.parse("2026-11-14T18:15:00Z"), report(october, "2026-11-20T00:00:00Z").to());
    assertEquals(3, rows(query("from", "2026-09-20T00:00:00Z"), "2026-11-20T00:00:00Z").size());
  }

  /** The window from 18:00 to 19:00 belongs to the period that ends at 18:15. */
  @Test
  void periodThatEndsInAWindow_isFinalWhenThatWindowIsClosed() {
    count("2026-10-20T00:00:00Z", NEPAL, "-");
    UsageQuery october = query("from", "2026-10-20", "to", "2026-10-21");

    assertTrue(rows(october, "2026-11-14T18:00:00Z").get(0).contains(" running "));
    assertTrue(rows(october, "2026-11-14T19:00:00Z").get(0).contains(" final "));
  }

  @Test
  void pages_ofPeriodsThatStartTogether_giveEachRowOnce() {
    BillingCalendar kathmanduByOffset = calendar("+05:45", 15);
    count("2026-11-20T00:00:00Z", NEPAL, UsageKey.others("acme", "calls"));
    for (String endpoint : List.of("a", "b:c", "other")) {
      count("2026-11-20T00:00:00Z", NEPAL, endpoint);
      count("2026-11-20T01:00:00Z", kathmanduByOffset, endpoint);
      count("2026-11-20T02:00:00Z", INDIA, endpoint);
    }
    List<String> all = rows(query("group_by", "endpoint"), "2026-11-20T10:00:00Z");
    List<String> paged = new ArrayList<>();
    String page = "";
    do {
      UsageQuery query = query("group_by", "endpoint", "limit", "2", "page", page);
      List<UsageReport.Row> rows = report(query, "2026-11-20T10:00:00Z").rows();
      rows.stream().limit(2).map(BillingReportTest::describe).forEach(paged::add);
      UsageReport.Row last = rows.get(Math.min(1, rows.size() - 1));
      page =
          rows.size() > 2
              ? new PageCursor(query.from(), query.to(), 5, last.from(), last.place()).toString()
              : "";
    } while (!page.isEmpty());

    assertEquals(10, all.size());
    assertEquals(all, paged);
  }

  @Test
  void formats_sayPeriodAndZone() {
    count("2026-11-20T00:00:00Z", calendar("+05:45", 15), "-");
    UsageQuery query = query();
    UsageReport report = report(query, "2026-11-20T10:00:00Z");

    assertEquals(
        """
        client,meter,from,to,status,complete,revision,quantity,allowed,denied,fail_open,billing_period,\
        billing_period_start_ms,billing_period_end_ms,billing_zone
        acme,calls,2026-11-14T18:15:00Z,2026-12-14T18:15:00Z,running,false,0,1,1,0,0,2026-11-15,\
        1794680100000,1797272100000,'+05:45
        """
            .replace("\n", "\r\n"),
        text(ReportFormats.csv(query, report.rows())));
    String row =
        "{\"from\":\"2026-11-14T18:15:00Z\",\"to\":\"2026-12-14T18:15:00Z\",\"status\":\"running\","
            + "\"complete\":false,\"revision\":0,\"quantity\":1,\"allowed\":1,\"denied\":0,\"fail_open\":0,"
            + "\"billing_period\":\"2026-11-15\",\"billing_period_start_ms\":1794680100000,"
            + "\"billing_period_end_ms\":1797272100000,\"billing_zone\":\"+05:45\"}";
    assertEquals(row + "\n", text(ReportFormats.ndjson(query, report.rows())));
    String document = text(ReportFormats.document(query, report, report.rows(), Map.of(), null));
    assertTrue(document.contains("\"window\":\"billing-period\""), document);
    assertTrue(document.contains("\"data\":[" + row + "]"), document);
  }

  /** An anchor of the 28th, the 29th, the 30th and the 31st has its period begin on 02-28. */
  @Test
  void periodsOfOneNameAndZone_afterAChangeOfTheAnchor_areSeparate() {
    count("2027-03-10T00:00:00Z", calendar("Europe/Paris", 28), "-");
    count("2027-03-29T10:00:00Z", calendar("Europe/Paris", 31), "-");
    UsageQuery query = query("from", "2027-03-01", "to", "2027-03-30");
    List<Map<String, Object>> rows =
        report(query, "2027-03-30T10:00:00Z").rows().stream()
            .map(row -> ReportFormats.members(query, row))
            .toList();

    assertEquals(2, rows.size());
    assertEquals("2027-02-28", rows.get(0).get("billing_period"));
    assertEquals("2027-02-28", rows.get(1).get("billing_period"));
    assertEquals(rows.get(0).get("from"), rows.get(1).get("from"));
    assertEquals("2027-03-27T23:00:00Z", rows.get(0).get("to"));
    assertEquals("2027-03-30T22:00:00Z", rows.get(1).get("to"));
    assertEquals(
        Instant.parse("2027-03-27T23:00:00Z").toEpochMilli(),
        rows.get(0).get("billing_period_end_ms"));
    assertEquals(
        Instant.parse("2027-03-30T22:00:00Z").toEpochMilli(),
        rows.get(1).get("billing_period_end_ms"));
  }

  /** In New York the day of UTC has begun in the period that ended at 05:00. */
  @Test
  void withoutInterval_onThePeriodsFirstDayWestOfUtc_isTheRunningPeriodAlone() {
    BillingCalendar newYork = calendar("America/New_York", 15);
    count("2026-11-15T02:00:00Z", newYork, "-");
    count("2026-11-15T06:00:00Z", newYork, "-");
    UsageQuery query = queryAt(Instant.parse("2026-11-15T06:30:00Z"));

    assertEquals(
        List.of("2026-11-15 America/New_York 2026-11-15T05:00:00Z 2026-12-15T05:00:00Z running 1"),
        rows(query, "2026-11-15T06:00:00Z"));
    UsageQuery first = queryAt(Instant.parse("2026-11-15T05:00:00Z"));
    assertEquals(1, rows(first, "2026-11-15T05:00:00Z").size());
    UsageQuery last = queryAt(Instant.parse("2026-11-15T04:59:59.999999Z"));
    assertTrue(rows(last, "2026-11-15T04:00:00Z").get(0).startsWith("2026-10-15 "));
    assertEquals(1, rows(last, "2026-11-15T04:00:00Z").size());
  }

  /** Both bounds are in the midst of a window of an hour. */
  @Test
  void exactBoundsOfAPeriod_giveThatPeriodAlone_whereWindowsDoNotDivideTheOffset() {
    count("2026-10-20T00:00:00Z", NEPAL, "-");
    count("2026-11-14T18:00:00Z", NEPAL, "-");
    count("2026-11-20T00:00:00Z", NEPAL, "-");
    count("2026-12-14T18:00:00Z", NEPAL, "-");
    count("2026-12-20T00:00:00Z", NEPAL, "-");
    UsageQuery november = query("from", "2026-11-14T18:15:00Z", "to", "2026-12-14T18:15:00Z");

    assertEquals(
        List.of("2026-11-15 Asia/Kathmandu 2026-11-14T18:15:00Z 2026-12-14T18:15:00Z final 2"),
        rows(november, "2026-12-20T00:00:00Z"));
    UsageQuery aNanosecondMore =
        query("from", "2026-11-14T18:14:59.999999999Z", "to", "2026-12-14T18:15:00.000000001Z");
    assertEquals(3, rows(aNanosecondMore, "2026-12-20T00:00:00Z").size());
  }

  /** A caller's own endpoint may be called so, too. */
  @Test
  void formats_rowOfTheOthers_isMarked_andCannotBeMistaken() {
    UsageQuery query =
        UsageQuery.of(
            Map.of(
                "client", List.of("acme"),
                "group_by", List.of("endpoint"),
                "window", List.of("total")),
            HOUR,
            NOW);
    count("2026-11-20T00:00:00Z", null, "other");
    count("2026-11-20T00:00:00Z", null, UsageKey.others("acme", "calls"));
    count("2026-11-20T01:00:00Z", null, UsageKey.others("acme", "calls"));
    List<UsageReport.Row> rows = report(query, "2026-11-20T10:00:00Z").rows();

    assertEquals(
        List.of("2 other true", "1 other false"),
        rows.stream()
            .map(row -> row.quantity() + " " + row.endpoint() + " " + row.others())
            .toList());
    List<String> csv = text(ReportFormats.csv(query, rows)).lines().toList();
    assertTrue(csv.get(0).endsWith(",endpoint,others"), csv.get(0));
    assertTrue(csv.get(1).endsWith(",2,2,0,0,other,true"), csv.get(1));
    assertTrue(csv.get(2).endsWith(",1,1,0,0,other,false"), csv.get(2));
    List<String> lines = text(ReportFormats.ndjson(query, rows)).lines().toList();
    assertTrue(lines.get(0).endsWith("\"endpoint\":\"other\",\"others\":true}"), lines.get(0));
    assertTrue(lines.get(1).endsWith("\"endpoint\":\"other\"}"), lines.get(1));
  }

  @Test
  void formats_ofPeriodsByEndpoint_sayThePeriodOfTheOthers_andMarkThem() {
    UsageQuery query = query("group_by", "endpoint");
    count("2026-11-20T00:00:00Z", NEPAL, UsageKey.others("acme", "calls"));
    count("2026-11-20T01:00:00Z", NEPAL, UsageKey.others("acme", "calls"));
    count("2026-11-20T01:00:00Z", NEPAL, "other");
    count("2026-11-20T02:00:00Z", null, UsageKey.others("acme", "calls"));
    List<UsageReport.Row> rows = report(query, "2026-11-20T10:00:00Z").rows();

    List<String> csv = text(ReportFormats.csv(query, rows)).lines().toList();
    assertEquals(4, csv.size());
    assertTrue(
        csv.get(0)
            .endsWith(
                ",billing_period,billing_period_start_ms,billing_period_end_ms,billing_zone"
                    + ",endpoint,others"),
        csv.get(0));
    assertTrue(csv.get(1).contains(",1,1,0,0,2026-11,"), csv.get(1));
    assertTrue(csv.get(1).endsWith(",UTC,other,true"), csv.get(1));
    assertTrue(csv.get(2).contains(",2,2,0,0,2026-11-15,"), csv.get(2));
    assertTrue(csv.get(2).endsWith(",Asia/Kathmandu,other,true"), csv.get(2));
    assertTrue(csv.get(3).endsWith(",Asia/Kathmandu,other,false"), csv.get(3));
    assertEquals(
        List.of("3", "1"),
        report(query(), "2026-11-20T10:00:00Z").rows().stream()
            .map(row -> Long.toString(row.quantity()))
            .sorted(Comparator.reverseOrder())
            .toList());
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  @Test
  void statusFinal_leavesOutPeriodsThatRun() {
    count("2026-10-20T00:00:00Z", NEPAL, "-");
    count("2026-11-20T00:00:00Z", NEPAL, "-");

    assertEquals(
        List.of("2026-10-15 Asia/Kathmandu 2026-10-14T18:15:00Z 2026-11-14T18:15:00Z final 1"),
        rows(query("from", "2026-10-20", "status", "final"), "2026-11-20T10:00:00Z"));
  }

  /**
   * The last bucket is cached: it must have an equal period, not only be the last window's bucket.
   */
  @Test
  void windowsOfPeriodsInTurn_areSummedByPeriod() {
    for (int hour = 10; hour < 20; hour++) {
      String start = "2026-11-20T%d:00:00Z".formatted(hour);
      count(start, NEPAL, "a");
      count(start, INDIA, "a");
      count(start, null, "b");
      count(start, calendar("Asia/Kathmandu", 15), "b");
    }

    assertEquals(
        List.of(
            "2026-11 UTC 2026-11-01T00:00:00Z 2026-12-01T00:00:00Z running 10",
            "2026-11-15 Asia/Kathmandu 2026-11-14T18:15:00Z 2026-12-14T18:15:00Z running 20",
            "2026-11-15 Asia/Kolkata 2026-11-14T18:30:00Z 2026-12-14T18:30:00Z running 10"),
        rows(query(), "2026-11-20T10:00:00Z"));
  }

  @Test
  void fillZero_isRefusedWithItsName() {
    ProblemException refused = assertThrows(ProblemException.class, () -> query("fill", "zero"));

    assertTrue(refused.problem().toString().contains("fill"), refused.problem().toString());
  }
}
