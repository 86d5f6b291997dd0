// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.time.ZoneOffset;
import org.jspecify.annotations.Nullable;

/**
 * The billing calendar of a client that is not billed by UTC months. The calendar consists of a
 * time zone and the day of the month on which a period begins. A calendar caches the current
 * period, and computes any other period on demand. Thread-safe.
 *
 * <p>Periods follow the rules of a {@link CalendarQuota} whose period is {@link
 * CalendarPeriod#BILLING}. If a month lacks the day, a period begins on the last day of that month.
 * A day begins at the first instant at which a clock in the zone shows the day's date.
 *
 * <p>Example: day 31 in Europe/Paris. The period that contains 2026-03-10T12:00:00Z is named {@code
 * 2026-02-28} and is {@code [2026-02-27T23:00:00Z, 2026-03-30T22:00:00Z)}.
 */
public final class BillingCalendar {
  private static final String UTC = "UTC";

  private final ZoneId timeZone;

  /**
   * Day of the month on which periods begin, stored as a date in January because January has 31
   * days.
   */
  private final LocalDate anchor;

  private @Nullable Running running;

  /**
   * The two forms in which records state one period.
   *
   * @param early form for calls on the first day of the period, with the previous period
   * @param later form for later calls, without the previous period
   */
  private record Running(BilledIn early, BilledIn later) {}

  private BillingCalendar(ZoneId timeZone, int dayOfMonth) {
    this.timeZone = timeZone;
    this.anchor = LocalDate.of(2000, 1, dayOfMonth);
  }

  /**
   * Returns the calendar by which a client is billed. The defaults are UTC and the first day of the
   * month. A policy cannot set the defaults because a bill covers the calls of all policies.
   *
   * @return null if the client is billed by UTC months
   */
  public static @Nullable BillingCalendar of(ClientCalendar client) {
    ZoneId zone = client.timeZone() == null ? ZoneId.of(UTC) : client.timeZone();
    LocalDate anchor = client.billingAnchor();
    int day = anchor == null ? 1 : anchor.getDayOfMonth();
    boolean isUtcMonth = day == 1 && zone.normalized().equals(ZoneOffset.UTC);
    return isUtcMonth ? null : new BillingCalendar(zone, day);
  }

  /**
   * Returns the billing period that contains a time, in the form that the record of a call states.
   */
  public BilledIn at(long epochMillis) {
    // two threads may compute the same immutable value concurrently
    Running now = running;
    if (now == null || !now.later.period().holds(epochMillis)) {
      now = compute(epochMillis);
      running = now;
    }
    long since = epochMillis - now.later.period().startEpochMillis();
    return since < BilledIn.LONGEST_WINDOW_MILLIS ? now.early : now.later;
  }

  private Running compute(long epochMillis) {
    LocalDate day = CalendarQuota.dayAt(Instant.ofEpochMilli(epochMillis), timeZone);
    LocalDate first = CalendarQuota.billingStart(day, anchor);
    long months = CalendarQuota.monthsBetween(anchor, first);
    LocalDate next = anchor.plusMonths(months + 1);
    LocalDate last = anchor.plusMonths(months - 1);
    BillingPeriod period = period(first, next);
    return new Running(new BilledIn(period, period(last, first)), new BilledIn(period, null));
  }

  private BillingPeriod period(LocalDate first, LocalDate next) {
    return BillingPeriod.own(first.toString(), timeZone.getId(), startOf(first), startOf(next));
  }

  private long startOf(LocalDate day) {
    return day.atStartOfDay(timeZone).toInstant().toEpochMilli();
  }

  /** Returns a description of the calendar for display. */
  public String describe() {
    return String.format("months from day %d in %s", anchor.getDayOfMonth(), timeZone);
  }
}
