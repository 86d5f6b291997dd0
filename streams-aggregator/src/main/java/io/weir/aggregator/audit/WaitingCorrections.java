// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit;

import io.weir.aggregator.audit.bucket.BucketAudit;
import java.util.Comparator;
import java.util.PriorityQueue;
import org.jspecify.annotations.Nullable;

/**
 * A queue of buckets whose correction waits until the previous correction is confirmed, ordered by
 * the end of the wait. Kept in memory only: after a start the first sweep finds the due corrections
 * again. Not thread-safe.
 */
final class WaitingCorrections {
  private final PriorityQueue<Waiting> queue =
      new PriorityQueue<>(
          Comparator.comparingLong(Waiting::untilMillis).thenComparing(Waiting::bucket));

  private record Waiting(long untilMillis, String bucket) {}

  /** Adds a bucket whose correction waits until a time. */
  void add(String bucket, long untilMillis) {
    queue.add(new Waiting(untilMillis, bucket));
  }

  /**
   * Removes and returns the first bucket, even if its wait has not ended; null if there is none.
   */
  @Nullable String next() {
    Waiting first = queue.poll();
    return first == null ? null : first.bucket;
  }

  /** Removes and returns the first bucket whose wait has ended; null if there is none. */
  @Nullable String nextEnded(long nowMillis) {
    Waiting first = queue.peek();
    return first != null && hasEnded(first, nowMillis) ? next() : null;
  }

  /**
   * Returns whether a wait has ended. An end far in the future means that a wrong clock began the
   * wait; it counts as ended.
   */
  private static boolean hasEnded(Waiting one, long nowMillis) {
    return one.untilMillis <= nowMillis
        || one.untilMillis > nowMillis + 2 * BucketAudit.UNCONFIRMED_INTERVAL_MILLIS;
  }
}
