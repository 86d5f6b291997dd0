// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

/** The periods of a calendar quota. Each period begins and ends at midnight in a time zone. */
public enum CalendarPeriod {
  /** A calendar day; 23 or 25 hours long when the clocks change. */
  DAY,
  /** Seven days from Monday (ISO 8601). */
  WEEK,
  /** A calendar month. */
  MONTH,
  /**
   * A month that begins on the day of the client's billing anchor. If a month lacks the anchor's
   * day, the period begins on the last day of the month.
   */
  BILLING
}
