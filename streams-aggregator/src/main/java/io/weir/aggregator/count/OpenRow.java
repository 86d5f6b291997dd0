// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.limits.BillingPeriod;
import io.weir.topics.model.UsageState;
import org.jspecify.annotations.Nullable;

/** A row of an open window, with its place in the queue of figures to publish. */
final class OpenRow {
  final RowKey key;
  final byte[] keyBytes;
  final Tally tally;

  /** The billing period, as its first call said it; null for the month of UTC. */
  final @Nullable BillingPeriod ownPeriod;

  /** Whether the current batch has changed the row, and it is not written yet. */
  boolean touched;

  /** Whether the row waits to be published; set and cleared by {@link OpenRows}. */
  boolean queued;

  /** Whether the window has been closed; a reference that is left must not be used. */
  boolean closed;

  OpenRow(RowKey key, byte[] keyBytes, Tally tally, @Nullable BillingPeriod ownPeriod) {
    this.ownPeriod = ownPeriod;
    this.key = key;
    this.keyBytes = keyBytes;
    this.tally = tally;
  }

  UsageState running(long windowMillis) {
    return new UsageState(
        key.usageKey(),
        key.window(windowMillis),
        UsageState.Status.RUNNING,
        0,
        tally.toCount(),
        false,
        ownPeriod);
  }
}
