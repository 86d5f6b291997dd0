// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.table;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * The rule that selects the partitions to follow. The rule selects the partitions placed on this
 * instance. The rule also selects partitions that were placed here earlier and are still in the
 * table, but only for the time {@link #RETENTION}. Not thread-safe.
 */
final class Placement {
  /**
   * Time for which the follower continues to read a partition that has moved to another instance,
   * because the partition may return.
   */
  static final Duration RETENTION = Duration.ofMinutes(10);

  /** Time at which each partition was last placed on this instance, or was found in the table. */
  private final Map<Integer, Long> placedNanos = new HashMap<>();

  /**
   * The partitions to follow and to drop.
   *
   * @param followed partitions to follow
   * @param dropped partitions to remove from the table
   */
  record Decision(SortedSet<Integer> followed, SortedSet<Integer> dropped) {}

  /**
   * Selects the partitions to follow and the partitions to drop.
   *
   * @param wanted the partitions currently placed on this instance
   * @param held the partitions in the table, including incomplete copies
   * @param nowNanos {@link System#nanoTime}
   */
  Decision decide(Set<Integer> wanted, Set<Integer> held, long nowNanos) {
    SortedSet<Integer> followed = new TreeSet<>(wanted);
    SortedSet<Integer> dropped = new TreeSet<>();
    wanted.forEach(partition -> placedNanos.put(partition, nowNanos));
    for (int partition : held) {
      long placed = placedNanos.computeIfAbsent(partition, found -> nowNanos);
      if (nowNanos - placed < RETENTION.toNanos()) {
        followed.add(partition);
      } else {
        dropped.add(partition);
      }
    }
    placedNanos.keySet().retainAll(followed);
    return new Decision(followed, dropped);
  }
}
