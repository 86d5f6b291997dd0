// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import org.jspecify.annotations.Nullable;

/**
 * The billing period in which a call was decided, as its record states it. A reader of the record
 * therefore needs neither the client's calendar nor a time zone database. Every reader counts the
 * record the same way at any time. Immutable.
 *
 * <p>Usage is counted in windows that are aligned to UTC. A window belongs to the period in which
 * it starts. If a period begins in the middle of a window, the window belongs to the previous
 * period. Calls of the first day of a period therefore record the previous period, too. One day is
 * enough because no window is longer.
 *
 * @param period the period in which the call was decided
 * @param before the previous period, which ends where {@code period} begins; may be null if the
 *     call was decided {@link #LONGEST_WINDOW_MILLIS} or more after the period's start
 */
public record BilledIn(BillingPeriod period, @Nullable BillingPeriod before) {
  /** The longest window in which usage is counted: a day of 24 hours. */
  public static final long LONGEST_WINDOW_MILLIS = 86_400_000;

  public BilledIn {
    if (before != null && before.endEpochMillis() != period.startEpochMillis()) {
      throw new IllegalArgumentException(
          "the billing period before must end where the period begins, at "
              + period.startEpochMillis()
              + ", ends at "
              + before.endEpochMillis());
    }
  }

  /**
   * Requires that these are the periods of a call. {@link #ofWindow} then returns a period for
   * every window that contains the call.
   *
   * @throws IllegalArgumentException if they are not
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
          "billing_period_before is missing in the first day of a billing period");
    }
  }

  /** Returns whether these are the periods of a call; see {@link #require}. */
  public boolean isOf(long decidedAtEpochMillis) {
    return period.holds(decidedAtEpochMillis)
        && (before != null
            || decidedAtEpochMillis - period.startEpochMillis() >= LONGEST_WINDOW_MILLIS);
  }

  /**
   * Returns the period to which a window with the call in it belongs.
   *
   * @param startEpochMillis first millisecond of the window
   * @throws IllegalArgumentException if the window is too long to contain the call
   */
  public BillingPeriod ofWindow(long startEpochMillis) {
    if (startEpochMillis >= period.startEpochMillis()) {
      return period;
    }
    if (before == null) {
      throw new IllegalArgumentException(
          "no billing period is known of a window that starts at " + startEpochMillis);
    }
    return before;
  }
}
