// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.table;

import java.util.concurrent.CompletableFuture;

/**
 * Somebody waits until a partition has been read up to where it ends now. {@link #reached} is for
 * whoever waits, the rest is the follower's thread's alone.
 */
final class Barrier {
  /** No offset. */
  static final long UNKNOWN = -1;

  final int partition;
  final CompletableFuture<Freshness> reached = new CompletableFuture<>();

  /** Where the partition ended after the barrier was asked for. */
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

  /** Whether it is done with: reached by the position, or given up by whoever waited. */
  boolean isDone(long position) {
    if (endOffset != UNKNOWN && position >= endOffset) {
      reached.complete(Freshness.UP_TO_DATE);
    }
    return reached.isDone();
  }
}
