// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.topics.model.UsageState;

/** A row of an open window, with its place in the queue of figures to publish. */
final class OpenRow {
  final RowKey key;
  final byte[] keyBytes;
  final Tally tally;

  /** Whether the current batch has changed the row, and it is not written yet. */
  boolean touched;

  /** Whether the row waits to be published; set and cleared by {@link OpenRows}. */
  boolean queued;

  /** Whether the window has been closed; a reference that is left must not be used. */
  boolean closed;

  OpenRow(RowKey key, byte[] keyBytes, Tally tally) {
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
        false);
  }
}
