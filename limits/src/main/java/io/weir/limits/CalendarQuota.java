// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import java.time.DayOfWeek;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.time.temporal.TemporalAdjusters;

/**
 * A limit on the number of tokens per calendar period.
 *
 * <p>A day begins at the first instant at which a clock in the zone shows the day's date. If the
 * clock is put forward over midnight, the day begins when the clock is put forward. If the clock is
 * put back over midnight, the day begins at the first of the two midnights. A date that the zone
 * skipped (Pacific/Apia, 2011-12-30) has no length. Each period therefore begins exactly when the
 * previous period ends.
 *
 * <p>Example: months in Europe/Paris. The period that contains 2026-03-10T12:00:00Z is {@code
 * [2026-02-28T23:00:00Z, 2026-03-31T22:00:00Z)}, an hour shorter than 31 days.
 *
 * @param capacityTokens tokens per period; 1 to 2^53 − 1
 * @param period the kind of period
 * @param timeZone zone in which days begin, for clients that do not set a zone
 * @param billingAnchor a day on which a {@link CalendarPeriod#BILLING} period begins, for clients
 *     that do not set an anchor; ignored for other periods
 */
public record CalendarQuota(
    long capacityTokens, CalendarPeriod period, ZoneId timeZone, LocalDate billingAnchor)
    implements PeriodicLimit {
  /** Default billing anchor of a policy: the first day of a month. */
  public static final LocalDate FIRST_OF_MONTH = LocalDate.of(2000, 1, 1);

  public CalendarQuota {
    Numbers.require("limit", capacityTokens, 1);
  }

  /**
   * Returns the period that contains a time, by a client's calendar. The start of each billing
   * period is computed from the anchor, not from the previous period. If the anchor is the 31st,
   * the period after a shorter month therefore begins on the 31st again.
   */
  @Override
  public Span at(long epochMillis, ClientCalendar client) {
    ZoneId zone = client.timeZone() == null ? timeZone : client.timeZone();
    LocalDate anchor = client.billingAnchor() == null ? billingAnchor : client.billingAnchor();
    LocalDate day = dayAt(Instant.ofEpochMilli(epochMillis), zone);
    LocalDate first =
        switch (period) {
          case DAY -> day;
          case WEEK -> day.with(TemporalAdjusters.previousOrSame(DayOfWeek.MONDAY));
          case MONTH -> day.withDayOfMonth(1);
          case BILLING -> billingStart(day, anchor);
        };
    LocalDate next =
        switch (period) {
          case DAY -> first.plusDays(1);
          case WEEK -> first.plusDays(7);
          case MONTH -> first.plusMonths(1);
          case BILLING -> anchor.plusMonths(monthsBetween(anchor, first) + 1);
        };
    return new Span(
        first.atStartOfDay(zone).toEpochSecond(), next.atStartOfDay(zone).toEpochSecond());
  }

  @Override
  public boolean followsCalendar() {
    return true;
  }

  @Override
  public CalendarQuota withCapacity(long tokens) {
    return new CalendarQuota(tokens, period, timeZone, billingAnchor);
  }

  @Override
  public BucketLimit in(Span span) {
    return new QuotaLimit(capacityTokens, span.endEpochMicros());
  }

  @Override
  public boolean isNoWiderThan(PolicyLimit other) {
    return other instanceof CalendarQuota quota
        && capacityTokens <= quota.capacityTokens
        && period == quota.period
        && timeZone.equals(quota.timeZone)
        && billingAnchor.equals(quota.billingAnchor);
  }

  @Override
  public String describe() {
    String name =
        switch (period) {
          case DAY -> "day";
          case WEEK -> "week (from Monday)";
          case MONTH -> "month";
          case BILLING -> "billing month (anchor " + billingAnchor + ")";
        };
    return String.format("quota of %d tokens a %s in %s", capacityTokens, name, timeZone);
  }

  /**
   * Returns the latest date that has begun by the given time. If the clock was put back over
   * midnight, this date is later than the date that the clock shows.
   */
  static LocalDate dayAt(Instant moment, ZoneId zone) {
    LocalDate day = LocalDate.ofInstant(moment, zone);
    LocalDate next = day.plusDays(1);
    return next.atStartOfDay(zone).toInstant().isAfter(moment) ? day : next;
  }

  /** Returns the first day of the billing period that contains a day. */
  static LocalDate billingStart(LocalDate day, LocalDate anchor) {
    long months = monthsBetween(anchor, day);
    LocalDate start = anchor.plusMonths(months);
    return start.isAfter(day) ? anchor.plusMonths(months - 1) : start;
  }

  /** Returns the number of months from one date to another, ignoring the day of the month. */
  static long monthsBetween(LocalDate from, LocalDate to) {
    return ChronoUnit.MONTHS.between(from.withDayOfMonth(1), to.withDayOfMonth(1));
  }
}
