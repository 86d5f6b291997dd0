// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.topics.model.UsageState;

/** A row of a window that is not closed, with its place in the queue of figures to publish. */
final class OpenRow {
  final RowKey key;
  final byte[] keyBytes;
  final Tally tally;

  /** Changed by the batch being taken, and not written yet. */
  boolean touched;

  /** Waits to be published; set and cleared by {@link OpenRows}. */
  boolean queued;

  /** No longer open: whoever still refers to it must let it go. */
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
