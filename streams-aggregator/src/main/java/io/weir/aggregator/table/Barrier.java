// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.table;

import java.util.concurrent.CompletableFuture;

/**
 * A wait until a partition has been read up to its end at the start of the wait. The waiting thread
 * uses {@link #reached}; only the follower's thread may use the other members.
 */
final class Barrier {
  /** An unknown offset. */
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

  /** Returns whether the wait has ended: the end is reached, or the waiting thread timed out. */
  boolean isDone(long position) {
    if (endOffset != UNKNOWN && position >= endOffset) {
      reached.complete(Freshness.UP_TO_DATE);
    }
    return reached.isDone();
  }
}
