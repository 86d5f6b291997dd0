// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.limits.BillingPeriod;
import io.weir.topics.model.UsageState;
import org.jspecify.annotations.Nullable;

/** A row of an open window. The flags state whether the row must be stored or published. */
final class OpenRow {
  final RowKey key;
  final byte[] keyBytes;
  final UsageTally tally;

  /** The billing period of the row's first call; null if it is the month in UTC. */
  final @Nullable BillingPeriod ownPeriod;

  /** Whether a batch has changed the row, and the change is not stored yet. */
  boolean touched;

  /**
   * Whether the row waits for publication. {@link OpenRows} sets this flag, and {@link
   * RunningFigures} clears it.
   */
  boolean queued;

  /** Whether the row was removed because its window is closed. A removed row must not be used. */
  boolean closed;

  OpenRow(RowKey key, byte[] keyBytes, UsageTally tally, @Nullable BillingPeriod ownPeriod) {
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
