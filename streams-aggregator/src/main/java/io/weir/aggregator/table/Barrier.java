// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.table;

import java.util.concurrent.CompletableFuture;

/**
 * A wait until a partition has been read up to where it ended when the wait began, or later. {@link
 * #reached} is for the waiting thread; everything else belongs to the follower's thread.
 */
final class Barrier {
  /** Stands for an unknown offset. */
  static final long UNKNOWN = -1;

  final int partition;
  final CompletableFuture<Freshness> reached = new CompletableFuture<>();

  /** The end of the partition, read after the barrier was requested. */
  private long endOffset = UNKNOWN;

  Barrier(int partition) {
    this.partition = partition;
  }

  boolean needsEnd() {
    return endOffset == UNKNOWN && !reached.isDone();
  }

  void endsAt(long offset) {
    endOffset = offset;
  }

  /**
   * Returns whether the barrier needs no further work: its end was reached, or the waiting thread
   * gave up.
   */
  boolean isDone(long position) {
    if (endOffset != UNKNOWN && position >= endOffset) {
      reached.complete(Freshness.UP_TO_DATE);
    }
    return reached.isDone();
  }
}
