// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit;

import io.weir.aggregator.audit.bucket.BucketAudit;
import java.util.Comparator;
import java.util.PriorityQueue;
import org.jspecify.annotations.Nullable;

/**
 * The buckets whose correction waits for the one before to be confirmed, by the time at which the
 * wait ends. Kept in memory only: after a start the first sweep finds the due corrections again.
 * Not thread-safe.
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

  /** Removes and returns the first bucket, waiting or not; null if there is none. */
  @Nullable String next() {
    Waiting first = queue.poll();
    return first == null ? null : first.bucket;
  }

  /** Removes and returns the first bucket whose wait has ended; null if there is none. */
  @Nullable String nextEnded(long nowMillis) {
    Waiting first = queue.peek();
    return first != null && hasEnded(first, nowMillis) ? next() : null;
  }

  /** A wait that would end far in the future was begun by a clock that was wrong. */
  private static boolean hasEnded(Waiting one, long nowMillis) {
    return one.untilMillis <= nowMillis
        || one.untilMillis > nowMillis + 2 * BucketAudit.UNCONFIRMED_INTERVAL_MILLIS;
  }
}
