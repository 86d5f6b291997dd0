// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.table;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The partitions whose copy in the table is readable. After the follower has begun to read a
 * partition, it queries the partition's end offset. The copy is readable when the follower has
 * reached this offset. Only the follower's thread may use methods other than {@link #contains},
 * {@link #all} and {@link #reading}, which are thread-safe.
 */
final class ReadablePartitions {
  private static final Logger LOG = LoggerFactory.getLogger(ReadablePartitions.class);

  /** The number of the current copy of each readable partition. */
  private final Map<Integer, Long> readable = new ConcurrentHashMap<>();

  private final Map<Integer, Barrier> firstReading = new HashMap<>();
  private final Barriers barriers;
  private long readings;

  ReadablePartitions(Barriers barriers) {
    this.barriers = barriers;
  }

  boolean contains(int partition) {
    return readable.containsKey(partition);
  }

  Set<Integer> all() {
    return Set.copyOf(readable.keySet());
  }

  /**
   * Returns the number of the current copy of a partition. The number changes if the partition is
   * dropped and read again. Returns 0 if the partition is not readable.
   */
  long reading(int partition) {
    return readable.getOrDefault(partition, 0L);
  }

  /** Adds a partition that becomes readable when it has been read to its end. */
  void begin(int partition) {
    readable.remove(partition);
    Barrier first = new Barrier(partition);
    firstReading.put(partition, first);
    barriers.add(first);
  }

  /** Removes a partition. */
  void remove(int partition) {
    readable.remove(partition);
    firstReading.remove(partition);
  }

  void clear() {
    readable.clear();
    firstReading.clear();
  }

  /**
   * Makes partitions readable if they have been read to their end. Requests a new barrier for each
   * partition whose end offset is unknown.
   *
   * @return the partitions that have become readable
   */
  Set<Integer> settle() {
    if (firstReading.isEmpty()) {
      return Set.of();
    }
    firstReading.forEach(this::settle);
    Set<Integer> added = new HashSet<>(firstReading.keySet());
    added.retainAll(readable.keySet());
    firstReading.keySet().removeAll(added);
    return added;
  }

  private void settle(int partition, Barrier first) {
    if (!first.reached.isDone()) {
      return;
    }
    if (first.reached.getNow(Freshness.MISSING) == Freshness.UP_TO_DATE) {
      readable.put(partition, ++readings);
      LOG.info("usage table is readable for partition={}", partition);
    } else {
      Barrier again = new Barrier(partition);
      firstReading.replace(partition, again);
      barriers.add(again);
    }
  }
}
