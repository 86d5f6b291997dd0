// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.table;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * Which partitions are followed: those that belong here, and for a while those that the table holds
 * since they did. Not safe for threads.
 */
final class Placement {
  /** How long a partition that was moved elsewhere is still followed: it may come back. */
  static final Duration RETENTION = Duration.ofMinutes(10);

  /** When a partition belonged here last, or was found in the table. */
  private final Map<Integer, Long> placedNanos = new HashMap<>();

  /**
   * What to do.
   *
   * @param followed partitions to be read
   * @param dropped partitions that the table shall hold no longer
   */
  record Decision(SortedSet<Integer> followed, SortedSet<Integer> dropped) {}

  /**
   * Decides.
   *
   * @param wanted the partitions that belong here now
   * @param held the partitions that the table holds, whole or in part
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
