// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit;

import io.weir.aggregator.audit.bucket.CorrectionCycle;
import java.util.Comparator;
import java.util.PriorityQueue;
import org.jspecify.annotations.Nullable;

/**
 * A queue of buckets whose next correction waits until the previous correction is confirmed. The
 * queue is ordered by the end of the wait. The queue is not stored. After a start, the first sweep
 * over the buckets finds the due corrections again. Not thread-safe.
 */
final class WaitingCorrections {
  private final PriorityQueue<Waiting> queue =
      new PriorityQueue<>(
          Comparator.comparingLong(Waiting::untilMillis).thenComparing(Waiting::bucket));

  private record Waiting(long untilMillis, String bucket) {}

  /** Adds a bucket whose correction waits at most until the given time. */
  void add(String bucket, long untilMillis) {
    queue.add(new Waiting(untilMillis, bucket));
  }

  /**
   * Removes and returns the first bucket, even if its wait has not ended. Returns null if the queue
   * is empty.
   */
  @Nullable String next() {
    Waiting first = queue.poll();
    return first == null ? null : first.bucket;
  }

  /** Removes and returns the first bucket if its wait has ended. Returns null otherwise. */
  @Nullable String nextEnded(long nowMillis) {
    Waiting first = queue.peek();
    return first != null && hasEnded(first, nowMillis) ? next() : null;
  }

  /**
   * Returns whether a wait has ended. A wait whose end is far in the future counts as ended,
   * because the clock was wrong when the wait began.
   */
  private static boolean hasEnded(Waiting one, long nowMillis) {
    return one.untilMillis <= nowMillis
        || one.untilMillis > nowMillis + 2 * CorrectionCycle.UNCONFIRMED_INTERVAL_MILLIS;
  }
}
