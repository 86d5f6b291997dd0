// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.YearMonth;
import java.time.ZoneId;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class BillingCalendarTest {
  private static final List<String> ZONES =
      List.of(
          "UTC",
          "Europe/Paris",
          "Asia/Kathmandu",
          "America/New_York",
          "America/Sao_Paulo",
          "Pacific/Apia",
          "Pacific/Kiritimati",
          "Australia/Lord_Howe",
          "+05:45");

  private static BillingCalendar calendar(String zone, int day) {
    BillingCalendar calendar = calendarOrNull(zone, LocalDate.of(2026, 1, day));
    assertNotNull(calendar);
    return calendar;
  }

  private static @Nullable BillingCalendar calendarOrNull(
      @Nullable String zone, @Nullable LocalDate anchor) {
    return BillingCalendar.of(new ClientCalendar(zone == null ? null : ZoneId.of(zone), anchor));
  }

  private static BillingPeriod period(String name, String zone, String start, String end) {
    return new BillingPeriod(name, zone, millis(start), millis(end));
  }

  private static long millis(String moment) {
    return Instant.parse(moment).toEpochMilli();
  }

  @Test
  void of_monthsOfUtcHoweverWritten_isNoCalendarOfItsOwn() {
    LocalDate first = LocalDate.of(2026, 5, 1);

    assertNull(calendarOrNull(null, null));
    assertNull(calendarOrNull("UTC", null));
    assertNull(calendarOrNull("Etc/UTC", first));
    assertNull(calendarOrNull("Z", first));
    assertNull(calendarOrNull("+00:00", null));
    assertNotNull(calendarOrNull("UTC", LocalDate.of(2026, 5, 2)));
    assertNotNull(calendarOrNull("Europe/London", first));
  }

  @Test
  void at_anchorOfThe31stInFebruary_beginsOnTheLastDay_andReturnsToThe31st() {
    BillingCalendar calendar = calendar("UTC", 31);

    assertEquals(
        period("2026-02-28", "UTC", "2026-02-28T00:00:00Z", "2026-03-31T00:00:00Z"),
        calendar.at(millis("2026-02-28T00:00:00Z")).period());
    assertEquals(
        period("2026-01-31", "UTC", "2026-01-31T00:00:00Z", "2026-02-28T00:00:00Z"),
        calendar.at(millis("2026-02-27T23:59:59.999Z")).period());
    assertEquals("2028-02-29", calendar.at(millis("2028-03-01T00:00:00Z")).period().name());
  }

  @Test
  void at_clocksPutForwardAtThePeriodsStart_beginsWithTheDay() {
    // midnight of 29 March 2026 is at 23:00 UTC, and the clock is put forward three hours later
    assertEquals(
        period("2026-03-29", "Europe/Paris", "2026-03-28T23:00:00Z", "2026-04-28T22:00:00Z"),
        calendar("Europe/Paris", 29).at(millis("2026-03-28T23:00:00Z")).period());
    // 4 November 2018 had no midnight: the clock was put forward from 00:00 to 01:00
    assertEquals(
        period("2018-11-04", "America/Sao_Paulo", "2018-11-04T03:00:00Z", "2018-12-04T02:00:00Z"),
        calendar("America/Sao_Paulo", 4).at(millis("2018-11-04T03:00:00Z")).period());
  }

  @Test
  void at_firstDayOfAPeriod_saysThePeriodBefore() {
    BillingCalendar calendar = calendar("Asia/Kathmandu", 15);
    BillingPeriod november =
        period("2026-11-15", "Asia/Kathmandu", "2026-11-14T18:15:00Z", "2026-12-14T18:15:00Z");
    BillingPeriod october =
        period("2026-10-15", "Asia/Kathmandu", "2026-10-14T18:15:00Z", "2026-11-14T18:15:00Z");

    BilledIn early = calendar.at(millis("2026-11-15T18:14:59.999Z"));
    BilledIn later = calendar.at(millis("2026-11-15T18:15:00Z"));

    assertEquals(new BilledIn(november, october), early);
    assertEquals(new BilledIn(november, null), later);
    assertEquals(october, early.ofWindow(millis("2026-11-14T18:00:00Z")));
    assertEquals(november, early.ofWindow(millis("2026-11-14T18:15:00Z")));
  }

  @Test
  void at_sameMoments_isNotComputedAgain() {
    BillingCalendar calendar = calendar("Europe/Paris", 15);
    long moment = millis("2026-11-20T00:00:00Z");

    assertSame(calendar.at(moment), calendar.at(moment + 1));
  }

  @Test
  void billedIn_periodsOfOtherCalls_areRefused() {
    BillingCalendar calendar = calendar("UTC", 15);
    BilledIn early = calendar.at(millis("2026-11-15T00:00:00Z"));
    BilledIn later = new BilledIn(early.period(), null);

    early.require(millis("2026-11-15T00:00:00Z"));
    later.require(millis("2026-11-16T00:00:00Z"));
    assertThrows(
        IllegalArgumentException.class, () -> later.require(millis("2026-11-15T23:59:59.999Z")));
    assertThrows(
        IllegalArgumentException.class, () -> early.require(millis("2026-11-14T23:59:59.999Z")));
    assertThrows(
        IllegalArgumentException.class, () -> early.require(millis("2026-12-15T00:00:00Z")));
    assertThrows(
        IllegalArgumentException.class, () -> new BilledIn(early.period(), early.period()));
  }

  @Test
  void utcMonth_isNamedByItsMonth() {
    BillingPeriod december = BillingPeriod.utcMonthHolding(millis("2026-12-31T23:59:59.999Z"));

    assertEquals(
        period("2026-12", "UTC", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"), december);
    assertEquals(december, BillingPeriod.utcMonth("2026-12"));
    assertThrows(IllegalArgumentException.class, () -> BillingPeriod.utcMonth("2026-13"));
    assertThrows(IllegalArgumentException.class, () -> BillingPeriod.own("2026-12", "UTC", 0, 1));
    assertThrows(
        IllegalArgumentException.class, () -> BillingPeriod.own("2026-12-01", "UTC", 1, 1));
  }

  /** Compares the periods with a loop over all days. */
  @Test
  void at_randomMoments_isThePeriodThatAWalkOverTheDaysFinds() {
    for (long seed = 1; seed <= 3_000; seed++) {
      Random random = new Random(seed);
      ZoneId zone = ZoneId.of(ZONES.get(random.nextInt(ZONES.size())));
      int day = random.nextInt(3) == 0 ? 29 + random.nextInt(3) : 1 + random.nextInt(28);
      BillingCalendar calendar =
          BillingCalendar.of(new ClientCalendar(zone, LocalDate.of(2026, 1, day)));
      if (calendar == null) {
        continue;
      }
      Instant moment =
          LocalDate.of(2008 + random.nextInt(20), 1 + random.nextInt(12), 1 + random.nextInt(28))
              .atStartOfDay(zone)
              .toInstant()
              .plus(random.nextInt(5) == 0 ? Duration.ZERO : someTime(random));

      BillingPeriod period = calendar.at(moment.toEpochMilli()).period();

      LocalDate first = firstDay(moment, zone, day);
      LocalDate next = first.plusDays(1);
      while (!begins(next, day)) {
        next = next.plusDays(1);
      }
      assertEquals(
          new BillingPeriod(
              first.toString(), zone.getId(), startOf(first, zone), startOf(next, zone)),
          period,
          "seed " + seed);
    }
  }

  private static Duration someTime(Random random) {
    return Duration.ofMillis(random.nextInt(2 * 86_400_000) - 86_400_000L);
  }

  private static LocalDate firstDay(Instant moment, ZoneId zone, int day) {
    LocalDate first = LocalDate.ofInstant(moment, zone).plusDays(2);
    while (startOf(first, zone) > moment.toEpochMilli() || !begins(first, day)) {
      first = first.minusDays(1);
    }
    return first;
  }

  private static boolean begins(LocalDate date, int day) {
    return date.getDayOfMonth() == Math.min(day, YearMonth.from(date).lengthOfMonth());
  }

  private static long startOf(LocalDate day, ZoneId zone) {
    return day.atStartOfDay(zone).toInstant().toEpochMilli();
  }
}
