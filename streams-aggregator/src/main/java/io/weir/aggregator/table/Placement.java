// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.table;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * Decides which partitions are followed: those placed here and, for a while, those that the table
 * still holds from an earlier placement. Not thread-safe.
 */
final class Placement {
  /** How long a partition that has moved elsewhere is still followed, since it may come back. */
  static final Duration RETENTION = Duration.ofMinutes(10);

  /** When each partition was last placed here, or was found in the table. */
  private final Map<Integer, Long> placedNanos = new HashMap<>();

  /**
   * The partitions to follow and to drop.
   *
   * @param followed partitions to be read
   * @param dropped partitions that the table is to hold no longer
   */
  record Decision(SortedSet<Integer> followed, SortedSet<Integer> dropped) {}

  /**
   * Decides which partitions to follow and which to drop.
   *
   * @param wanted the partitions that are placed here now
   * @param held the partitions that the table holds, completely or in part
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
