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
 * All pending barriers. The end of each barrier's partition is read after the wait has begun, so
 * everything published before is below that end; barriers requested together share one read. {@link
 * #ask} and {@link #hasAsked} are thread-safe; everything else belongs to the follower's thread.
 */
final class Barriers {
  private final Queue<Barrier> asked = new ConcurrentLinkedQueue<>();
  private final List<Barrier> pending = new ArrayList<>();

  /** A source of the ends of partitions. */
  interface Ends {
    /** Returns the ends of those partitions for which they are known. */
    Map<Integer, Long> find(Set<Integer> partitions);
  }

  void ask(Collection<Barrier> barriers) {
    asked.addAll(barriers);
  }

  /** Adds a barrier of the follower's thread itself, which need not be woken. */
  void add(Barrier barrier) {
    pending.add(barrier);
  }

  /** Returns whether a barrier was requested since the last {@link #findEnds}. */
  boolean hasAsked() {
    return !asked.isEmpty();
  }

  /**
   * Takes over the requested barriers and finds their ends. Answers those whose partition is not
   * followed or whose end is unknown.
   */
  void findEnds(Set<Integer> followed, Ends ends) {
    takeAsked();
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

  private void takeAsked() {
    for (Barrier next = asked.poll(); next != null; next = asked.poll()) {
      pending.add(next);
    }
  }

  /**
   * Answers the barriers whose end is reached.
   *
   * @param position returns how far a partition was read, or {@link Barrier#UNKNOWN}; called once
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

  /** Answers all barriers as missing, since reading has ended. */
  void abandon() {
    takeAsked();
    pending.forEach(barrier -> barrier.reached.complete(Freshness.MISSING));
    pending.clear();
  }
}
