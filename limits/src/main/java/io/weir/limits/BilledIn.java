// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import org.jspecify.annotations.Nullable;

/**
 * The billing period in which a call was decided, as the call's record states it. A reader of the
 * record therefore needs neither the client's calendar nor a time zone database. Every reader
 * assigns the record to the same period, whenever it reads the record. Immutable.
 *
 * <p>Usage is counted in windows that are aligned to UTC. A window belongs to the period in which
 * it starts. If a period begins in the middle of a window, the window belongs to the previous
 * period. The record of a call on the first day of a period therefore also states the previous
 * period. A call on a later day is never in a window of the previous period, because no window is
 * longer than a day.
 *
 * @param period the period in which the call was decided
 * @param before the previous period, which ends where {@code period} begins; may be null if the
 *     call was decided {@link #LONGEST_WINDOW_MILLIS} or more after the period's start
 */
public record BilledIn(BillingPeriod period, @Nullable BillingPeriod before) {
  /** Length of the longest window in which usage is counted: 24 hours. */
  public static final long LONGEST_WINDOW_MILLIS = 86_400_000;

  public BilledIn {
    if (before != null && before.endEpochMillis() != period.startEpochMillis()) {
      throw new IllegalArgumentException(
          "the previous billing period must end where the billing period begins, at "
              + period.startEpochMillis()
              + ", but ends at "
              + before.endEpochMillis());
    }
  }

  /**
   * Requires that these periods are valid for a call. {@link #ofWindow} then returns a period for
   * every window that contains the call.
   *
   * @throws IllegalArgumentException if the periods are not valid for the call
   */
  public void require(long decidedAtEpochMillis) {
    if (!period.holds(decidedAtEpochMillis)) {
      throw new IllegalArgumentException(
          "the billing period ["
              + period.startEpochMillis()
              + ", "
              + period.endEpochMillis()
              + ") must contain the call, which was decided at "
              + decidedAtEpochMillis);
    }
    if (before == null
        && decidedAtEpochMillis - period.startEpochMillis() < LONGEST_WINDOW_MILLIS) {
      throw new IllegalArgumentException(
          "billing_period_before is required for a call on the first day of its billing period");
    }
  }

  /** Returns whether these periods are valid for a call; see {@link #require}. */
  public boolean isOf(long decidedAtEpochMillis) {
    return period.holds(decidedAtEpochMillis)
        && (before != null
            || decidedAtEpochMillis - period.startEpochMillis() >= LONGEST_WINDOW_MILLIS);
  }

  /**
   * Returns the period to which a window belongs. The window must contain the call.
   *
   * @param startEpochMillis first millisecond of the window
   * @throws IllegalArgumentException if the window starts before the first period that the record
   *     states
   */
  public BillingPeriod ofWindow(long startEpochMillis) {
    if (startEpochMillis >= period.startEpochMillis()) {
      return period;
    }
    if (before == null) {
      throw new IllegalArgumentException(
          "the record states no billing period for a window that starts at " + startEpochMillis);
    }
    return before;
  }
}
