// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.table;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.IntToLongFunction;

/**
 * The pending barriers of all partitions. The follower queries the end offset of a barrier's
 * partition after the barrier was requested. So all records published before the request are before
 * the end offset. Barriers that are requested together share one query. Only the follower's thread
 * may use methods other than {@link #request} and {@link #hasRequested}, which are thread-safe.
 */
final class Barriers {
  private final Queue<Barrier> requested = new ConcurrentLinkedQueue<>();
  private final List<Barrier> pending = new ArrayList<>();

  /** A source of the end offsets of partitions. */
  interface Ends {
    /** Returns the end offset of each partition. Omits partitions with an unknown end offset. */
    Map<Integer, Long> find(Set<Integer> partitions);
  }

  void request(Collection<Barrier> barriers) {
    requested.addAll(barriers);
  }

  /** Adds a barrier that the follower's own thread requests, so the thread needs no wake-up. */
  void add(Barrier barrier) {
    pending.add(barrier);
  }

  /** Returns whether a barrier was requested since the last {@link #findEnds}. */
  boolean hasRequested() {
    return !requested.isEmpty();
  }

  /**
   * Queries the end offsets for the requested barriers. Completes a barrier if its partition is not
   * followed or the end offset is unknown.
   */
  void findEnds(Set<Integer> followed, Ends ends) {
    takeRequested();
    Set<Integer> unknown = new HashSet<>();
    for (Barrier barrier : pending) {
      if (!followed.contains(barrier.partition)) {
        barrier.reached.complete(Freshness.MISSING);
      } else if (barrier.needsEnd()) {
        unknown.add(barrier.partition);
      }
    }
    if (unknown.isEmpty()) {
      return;
    }
    Map<Integer, Long> found = ends.find(unknown);
    for (Barrier barrier : pending) {
      Long end = found.get(barrier.partition);
      if (barrier.needsEnd() && end != null) {
        barrier.endsAt(end);
      } else if (barrier.needsEnd()) {
        barrier.reached.complete(Freshness.KAFKA_AWAY);
      }
    }
  }

  private void takeRequested() {
    for (Barrier next = requested.poll(); next != null; next = requested.poll()) {
      pending.add(next);
    }
  }

  /**
   * Completes the barriers of partitions that have been read to the barrier's end offset.
   *
   * @param position returns the position in a partition, or {@link Barrier#UNKNOWN}; called once
   *     for each partition
   */
  void settle(IntToLongFunction position) {
    if (pending.isEmpty()) {
      return;
    }
    Map<Integer, Long> reached = new HashMap<>();
    pending.removeIf(
        barrier ->
            barrier.isDone(reached.computeIfAbsent(barrier.partition, position::applyAsLong)));
  }

  /**
   * Completes all barriers with {@link Freshness#MISSING}, because the follower has stopped
   * reading.
   */
  void abandon() {
    takeRequested();
    pending.forEach(barrier -> barrier.reached.complete(Freshness.MISSING));
    pending.clear();
  }
}
