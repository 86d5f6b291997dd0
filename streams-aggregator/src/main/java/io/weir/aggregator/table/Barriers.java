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
 * Everybody who waits. Each learns where its partition ends by a question that is put after it has
 * begun to wait, so that what was published before is below that end; those who came together share
 * the question. {@link #ask} and {@link #hasAsked} are safe for threads, the rest is the follower's
 * thread's alone.
 */
final class Barriers {
  private final Queue<Barrier> asked = new ConcurrentLinkedQueue<>();
  private final List<Barrier> pending = new ArrayList<>();

  /** Tells where partitions end. */
  interface Ends {
    /** The ends of those partitions that can be told. */
    Map<Integer, Long> find(Set<Integer> partitions);
  }

  void ask(Collection<Barrier> barriers) {
    asked.addAll(barriers);
  }

  /** The same for the follower's thread itself, which need not be woken. */
  void add(Barrier barrier) {
    pending.add(barrier);
  }

  /** Whether somebody has begun to wait since {@link #findEnds}. */
  boolean hasAsked() {
    return !asked.isEmpty();
  }

  /** Begins with those who asked; answers those whose partition is not followed, or has no end. */
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
   * Answers those whose end is reached.
   *
   * @param position how far a partition was read, {@link Barrier#UNKNOWN} when that is not known;
   *     asked once for each partition
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

  /** Nobody waits for what will not come. */
  void abandon() {
    takeAsked();
    pending.forEach(barrier -> barrier.reached.complete(Freshness.MISSING));
    pending.clear();
  }
}
