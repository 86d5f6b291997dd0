// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.PeriodicLimit.Span;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.zone.ZoneOffsetTransition;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class CalendarQuotaTest {
  private static final LocalDate FIRST = CalendarQuota.FIRST_OF_MONTH;

  @Test
  void day_clocksPutForwardOrBack_has23Or25Hours() {
    assertSpan("2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z", day("Europe/Paris"), "2026-03-29");
    assertSpan("2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z", day("Europe/Paris"), "2026-10-25");
    assertSpan(
        "2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z", day("America/New_York"), "2026-03-08");
    assertSpan(
        "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z", day("America/New_York"), "2026-11-01");
  }

  @Test
  void day_clockPutForwardOverMidnight_beginsAfterTheJump() {
    assertSpan(
        "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z", day("America/Sao_Paulo"), "2018-11-04");
    assertEquals(
        span("2018-11-03T03:00:00Z", "2018-11-04T03:00:00Z"),
        at(day("America/Sao_Paulo"), "2018-11-04T02:59:59.999Z"));
    assertSpan("2021-03-27T22:00:00Z", "2021-03-28T21:00:00Z", day("Asia/Beirut"), "2021-03-28");
  }

  @Test
  void day_clockPutBackOverMidnight_beginsAtTheFirstMidnight() {
    // the clock was put back from 00:01 on 7 November to 23:01 on 6 November
    CalendarQuota quota = day("America/St_Johns");
    Span sixth = span("2010-11-06T02:30:00Z", "2010-11-07T02:30:00Z");
    Span seventh = span("2010-11-07T02:30:00Z", "2010-11-08T03:30:00Z");

    assertEquals(sixth, at(quota, "2010-11-07T02:29:59.999Z"));
    assertEquals(seventh, at(quota, "2010-11-07T02:30:00Z"));
    assertEquals(seventh, at(quota, "2010-11-07T02:45:00Z"));
    assertEquals(seventh, at(quota, "2010-11-07T03:45:00Z"));
  }

  @Test
  void day_skippedByTheZone_hasNoPeriod() {
    CalendarQuota quota = day("Pacific/Apia");

    assertEquals(
        span("2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z"),
        at(quota, "2011-12-30T09:59:59.999Z"));
    assertEquals(
        span("2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"), at(quota, "2011-12-30T10:00:00Z"));
  }

  @Test
  void billing_anchorOnASkippedDay_beginsOnTheNextDay() {
    CalendarQuota quota = billing("Pacific/Apia", "2011-10-30");

    assertEquals(
        span("2011-11-30T10:00:00Z", "2011-12-30T10:00:00Z"), at(quota, "2011-12-30T09:59:59Z"));
    assertEquals(
        span("2011-12-30T10:00:00Z", "2012-01-29T10:00:00Z"), at(quota, "2011-12-30T10:00:00Z"));
  }

  @Test
  void week_beginsOnMonday() {
    CalendarQuota quota = quota(CalendarPeriod.WEEK, "UTC", FIRST);
    Span week = span("2026-11-16T00:00:00Z", "2026-11-23T00:00:00Z");

    assertEquals(week, at(quota, "2026-11-16T00:00:00Z"));
    assertEquals(week, at(quota, "2026-11-21T12:00:00Z"));
    assertEquals(week, at(quota, "2026-11-22T23:59:59.999Z"));
    assertEquals(
        span("2026-11-23T00:00:00Z", "2026-11-30T00:00:00Z"), at(quota, "2026-11-23T00:00:00Z"));
  }

  @Test
  void week_overTheYearAndAClockChange_isSevenCalendarDays() {
    assertSpan(
        "2025-12-28T23:00:00Z",
        "2026-01-04T23:00:00Z",
        quota(CalendarPeriod.WEEK, "Europe/Paris", FIRST),
        "2026-01-01");
    assertSpan(
        "2026-03-22T23:00:00Z",
        "2026-03-29T22:00:00Z",
        quota(CalendarPeriod.WEEK, "Europe/Paris", FIRST),
        "2026-03-25");
  }

  @Test
  void month_isTheCalendars_leapYearsIncluded() {
    CalendarQuota quota = quota(CalendarPeriod.MONTH, "UTC", FIRST);

    assertSpan("2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z", quota, "2026-02-28");
    assertSpan("2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z", quota, "2028-02-29");
    assertSpan("2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z", quota, "2026-12-31");
    assertEquals(29, days(at(quota, "2028-02-29T12:00:00Z")));
    assertEquals(28, days(at(quota, "2100-02-28T12:00:00Z")));
  }

  @Test
  void billing_anchorOnThe31st_returnsToTheLastDay_afterShorterMonths() {
    CalendarQuota quota = billing("UTC", "2026-01-31");

    assertEquals(
        List.of(
            "2026-01-31",
            "2026-02-28",
            "2026-03-31",
            "2026-04-30",
            "2026-05-31",
            "2026-06-30",
            "2026-07-31",
            "2026-08-31",
            "2026-09-30",
            "2026-10-31",
            "2026-11-30",
            "2026-12-31",
            "2027-01-31"),
        starts(quota, "2026-01-31T00:00:00Z", 13));
  }

  @Test
  void billing_anchorOnThe29thOr30th_clampsInFebruary_andReturns() {
    assertEquals(
        List.of("2027-12-29", "2028-01-29", "2028-02-29", "2028-03-29"),
        starts(billing("UTC", "2026-01-29"), "2027-12-29T00:00:00Z", 4));
    assertEquals(
        List.of("2027-01-29", "2027-02-28", "2027-03-29"),
        starts(billing("UTC", "2026-01-29"), "2027-01-29T00:00:00Z", 3));
    assertEquals(
        List.of("2028-01-30", "2028-02-29", "2028-03-30"),
        starts(billing("UTC", "2026-01-30"), "2028-01-30T00:00:00Z", 3));
    assertEquals(
        List.of("2026-02-28", "2026-03-29", "2026-04-29"),
        starts(billing("UTC", "2024-02-29"), "2026-02-28T00:00:00Z", 3));
  }

  @Test
  void billing_dayBeforeAndOnTheAnchorsDay_areTwoPeriods() {
    CalendarQuota quota = billing("Europe/Paris", "2026-01-17");

    assertEquals(
        span("2026-02-16T23:00:00Z", "2026-03-16T23:00:00Z"),
        at(quota, "2026-03-16T22:59:59.999Z"));
    assertEquals(
        span("2026-03-16T23:00:00Z", "2026-04-16T22:00:00Z"), at(quota, "2026-03-16T23:00:00Z"));
  }

  @Test
  void billing_anchorInTheFuture_countsBackwards() {
    assertEquals(
        List.of("2026-02-28", "2026-03-31", "2026-04-30"),
        starts(billing("UTC", "2040-01-31"), "2026-02-28T12:00:00Z", 3));
  }

  @Test
  void at_calendarOfTheClient_overridesThePolicys() {
    CalendarQuota quota = billing("UTC", "2026-01-01");
    long now = Instant.parse("2026-11-20T12:00:00Z").toEpochMilli();

    assertEquals(
        span("2026-10-31T23:00:00Z", "2026-11-30T23:00:00Z"),
        quota.at(now, new ClientCalendar(ZoneId.of("Europe/Paris"), null)));
    assertEquals(
        span("2026-11-17T00:00:00Z", "2026-12-17T00:00:00Z"),
        quota.at(now, new ClientCalendar(null, LocalDate.of(2025, 5, 17))));
  }

  @Test
  void new_limitOutOfRange_isRefused() {
    assertThrows(IllegalArgumentException.class, () -> limit(0));
    assertThrows(IllegalArgumentException.class, () -> limit(1L << 53));
    assertEquals((1L << 53) - 1, limit((1L << 53) - 1).capacityTokens());
  }

  /**
   * Checks random times in random zones, including times close to changes of the offset. The period
   * contains the time, all times in the period have the same period, and the next period begins
   * where the period ends.
   */
  @Test
  void at_randomZonesAndMoments_tilesTheTimeLine() {
    List<CalendarPeriod> periods = List.of(CalendarPeriod.values());
    List<String> zones = ZoneId.getAvailableZoneIds().stream().sorted().toList();
    for (long seed = 0; seed < 4_000; seed++) {
      Random random = new Random(seed);
      ZoneId zone = ZoneId.of(zones.get(random.nextInt(zones.size())));
      CalendarPeriod period = periods.get(random.nextInt(periods.size()));
      LocalDate anchor = LocalDate.of(1990, 1, 1).plusDays(random.nextInt(365 * 80));
      CalendarQuota quota = new CalendarQuota(10, period, zone, anchor);
      String replay = "seed " + seed + " " + zone + " " + period + " anchor " + anchor;

      for (long moment : moments(zone, random)) {
        Span span = quota.at(moment, ClientCalendar.OF_POLICY);
        long start = span.startEpochSecond() * 1_000;
        long end = span.endEpochSecond() * 1_000;
        String where = replay + " at " + Instant.ofEpochMilli(moment) + " " + span;
        assertTrue(start <= moment && moment < end, where);
        for (long other : List.of(start, random.nextLong(start, end), end - 1)) {
          assertEquals(span, quota.at(other, ClientCalendar.OF_POLICY), where);
        }
        assertEquals(
            span.endEpochSecond(),
            quota.at(end, ClientCalendar.OF_POLICY).startEpochSecond(),
            where);
        assertEquals(
            span.startEpochSecond(),
            quota.at(start - 1, ClientCalendar.OF_POLICY).endEpochSecond(),
            where);
        assertTrue(
            period != CalendarPeriod.DAY || end - start <= Duration.ofHours(49).toMillis(), where);
      }
    }
  }

  private static List<Long> moments(ZoneId zone, Random random) {
    long moment = random.nextLong(0, Instant.parse("2100-01-01T00:00:00Z").toEpochMilli());
    List<Long> moments = new ArrayList<>(List.of(moment));
    ZoneOffsetTransition change = zone.getRules().previousTransition(Instant.ofEpochMilli(moment));
    if (change != null && change.toEpochSecond() > 0) {
      long at = change.toEpochSecond() * 1_000;
      long hour = Duration.ofHours(1).toMillis();
      moments.addAll(
          List.of(at - 1, at, at + 1, at - hour, at + hour, at + random.nextLong(-hour, hour)));
    }
    return moments;
  }

  private static CalendarQuota limit(long tokens) {
    return new CalendarQuota(tokens, CalendarPeriod.DAY, ZoneOffset.UTC, FIRST);
  }

  private static CalendarQuota day(String zone) {
    return quota(CalendarPeriod.DAY, zone, FIRST);
  }

  private static CalendarQuota billing(String zone, String anchor) {
    return quota(CalendarPeriod.BILLING, zone, LocalDate.parse(anchor));
  }

  private static CalendarQuota quota(CalendarPeriod period, String zone, LocalDate anchor) {
    return new CalendarQuota(10, period, ZoneId.of(zone), anchor);
  }

  private static Span at(CalendarQuota quota, String time) {
    return quota.at(Instant.parse(time).toEpochMilli(), ClientCalendar.OF_POLICY);
  }

  private static Span span(String start, String end) {
    return new Span(Instant.parse(start).getEpochSecond(), Instant.parse(end).getEpochSecond());
  }

  /**
   * Returns the period at noon of a day. Also checks that its first and its last time have the same
   * period.
   */
  private static void assertSpan(String start, String end, CalendarQuota quota, String day) {
    Instant noon = LocalDate.parse(day).atTime(12, 0).atZone(quota.timeZone()).toInstant();
    assertEquals(span(start, end), at(quota, noon.toString()));
    assertEquals(span(start, end), at(quota, start));
    assertEquals(span(start, end), at(quota, Instant.parse(end).minusMillis(1).toString()));
  }

  private static List<String> starts(CalendarQuota quota, String first, int count) {
    List<String> starts = new ArrayList<>();
    Instant moment = Instant.parse(first);
    for (int i = 0; i < count; i++) {
      Span span = at(quota, moment.toString());
      starts.add(
          LocalDate.ofInstant(Instant.ofEpochSecond(span.startEpochSecond()), quota.timeZone())
              .toString());
      moment = Instant.ofEpochSecond(span.endEpochSecond());
    }
    return starts;
  }

  private static long days(Span span) {
    return Duration.ofSeconds(span.endEpochSecond() - span.startEpochSecond()).toDays();
  }
}
