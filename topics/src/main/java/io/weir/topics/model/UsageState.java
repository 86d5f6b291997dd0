// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import io.weir.limits.BillingPeriod;
import org.jspecify.annotations.Nullable;

/**
 * The newest figures of one key and window. The figures are absolute values, so a reader may
 * process a record twice. Immutable.
 *
 * @param key the key
 * @param window the window
 * @param status whether the figures are final
 * @param revision revision of the matching ledger row; 0 while the window is open
 * @param count the totals so far; the absolute value of each total is at most {@link
 *     CallEvent#MAX_QUANTITY}
 * @param complete false while the window is open, or if the window was closed without waiting for a
 *     silent node
 * @param ownPeriod the billing period; null for the UTC month in which the window starts
 */
public record UsageState(
    UsageKey key,
    UsageWindow window,
    Status status,
    long revision,
    UsageCount count,
    boolean complete,
    @Nullable BillingPeriod ownPeriod) {

  /** The status of the figures of a window. */
  public enum Status {
    /** The window is open; the figures may still change. */
    RUNNING,
    /** The window is closed; the figures equal the FINAL row. */
    FINAL,
    /** Events arrived after the close; the figures include every ADJUSTMENT. */
    ADJUSTED
  }

  public UsageState {
    if ((status == Status.RUNNING) != (revision == 0)) {
      throw new IllegalArgumentException(
          "revision must be 0 only while status is RUNNING: status "
              + status
              + ", revision "
              + revision);
    }
    requireInRange("quantity", count.quantity());
    requireInRange("calls_allowed", count.callsAllowed());
    requireInRange("calls_denied", count.callsDenied());
  }

  private static void requireInRange(String name, long value) {
    if (value < -CallEvent.MAX_QUANTITY || value > CallEvent.MAX_QUANTITY) {
      throw new IllegalArgumentException(
          name
              + " must be between -"
              + CallEvent.MAX_QUANTITY
              + " and "
              + CallEvent.MAX_QUANTITY
              + ", but is "
              + value);
    }
  }

  /** Creates the figures for a client that is billed by UTC months. */
  public UsageState(
      UsageKey key,
      UsageWindow window,
      Status status,
      long revision,
      UsageCount count,
      boolean complete) {
    this(key, window, status, revision, count, complete, null);
  }

  /** Returns the billing period to which the window belongs. */
  public BillingPeriod billingPeriod() {
    return ownPeriod == null ? BillingPeriod.utcMonthHolding(window.startEpochMillis()) : ownPeriod;
  }
}
