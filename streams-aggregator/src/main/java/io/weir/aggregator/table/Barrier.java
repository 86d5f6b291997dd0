// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.table;

import java.util.concurrent.CompletableFuture;

/**
 * A pending wait for the follower. The wait ends when the follower has read a partition up to the
 * end offset that the partition had at the start of the wait. The waiting thread uses {@link
 * #reached}. Only the follower's thread may use members other than {@link #reached}.
 */
final class Barrier {
  /** Represents an unknown offset. */
  static final long UNKNOWN = -1;

  final int partition;
  final CompletableFuture<Freshness> reached = new CompletableFuture<>();

  /** The end offset of the partition, queried after the barrier was requested. */
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
   * Returns whether the wait has ended, because the position has reached the end or the waiting
   * thread has timed out.
   */
  boolean isDone(long position) {
    if (endOffset != UNKNOWN && position >= endOffset) {
      reached.complete(Freshness.UP_TO_DATE);
    }
    return reached.isDone();
  }
}
