// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.table;

import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.LongSupplier;

/**
 * The read-through time of each followed partition. The table contains all records published before
 * the read-through time. If the read-through time is older than a bound, Kafka may have removed
 * tombstones that the follower never read. Rows that were deleted by these tombstones would stay in
 * the table forever. So the follower reads the partition again from its beginning. Example: the
 * bound is 12 h, and a partition was up to date at 08:00. If the follower next reads the partition
 * at 19:00, the follower continues. At 21:00, the follower reads the partition again from its
 * beginning. Not thread-safe.
 *
 * <p>A read from the beginning must also reach the end within the bound. During a longer read,
 * Kafka may remove the tombstones of rows that were already read. If the read takes too long, the
 * follower starts the read again and doubles the bound each time. With a fixed bound, a read of a
 * topic that keeps tombstones for one minute might never reach the end. A table that may show a
 * deleted row is better than a table that is never readable.
 */
final class ReadThroughTimes {
  /**
   * Maximum interval at which the follower checks whether partitions are up to date. The interval
   * is less if the bound is short.
   */
  private static final long INTERVAL_MILLIS = Duration.ofMinutes(1).toMillis();

  /**
   * Minimum bound. If the bound were shorter, a short pause of the process would cause a new read
   * of all partitions.
   */
  private static final Duration SHORTEST_BOUND = Duration.ofSeconds(4);

  /** Maximum number of times that the bound is doubled. */
  private static final int MOST_DOUBLED = 20;

  private final long boundMillis;
  private final long intervalMillis;
  private final Barriers barriers;
  private final LongSupplier clockEpochMillis;
  private final Map<Integer, Long> held = new HashMap<>();
  private final Map<Integer, Request> requested = new HashMap<>();

  /**
   * The number of consecutive reads that took too long, for each partition that is being read from
   * its beginning.
   */
  private final Map<Integer, Integer> rereads = new HashMap<>();

  private long requestedEpochMillis;

  /**
   * A barrier and the time of its request. When the barrier is reached, the time of the request
   * becomes the read-through time.
   */
  private record Request(Barrier barrier, long atEpochMillis) {}

  /**
   * Creates an instance without partitions.
   *
   * @param tombstonesKept time for which Kafka keeps a tombstone of the topic. The bound is half of
   *     this time, so clocks can be wrong by the remaining half. The bound is at least 4 s
   * @param clockEpochMillis the clock of this machine
   */
  ReadThroughTimes(Duration tombstonesKept, Barriers barriers, LongSupplier clockEpochMillis) {
    Duration half = tombstonesKept.dividedBy(2);
    this.boundMillis = (half.compareTo(SHORTEST_BOUND) < 0 ? SHORTEST_BOUND : half).toMillis();
    this.intervalMillis = Math.min(INTERVAL_MILLIS, boundMillis / 4);
    this.barriers = barriers;
    this.clockEpochMillis = clockEpochMillis;
  }

  /**
   * Adds a partition that the follower starts to read from its beginning.
   *
   * @return the number of consecutive earlier reads that took too long
   */
  int beginFromStart(int partition) {
    Integer before = rereads.get(partition);
    boolean isLate = before != null && isTooOld(partition);
    int late = (before == null ? 0 : before) + (isLate ? 1 : 0);
    begin(partition, clockEpochMillis.getAsLong());
    rereads.put(partition, late);
    return late;
  }

  /**
   * Adds a partition that the follower starts to read from its stored position.
   *
   * @param readThroughEpochMillis the stored read-through time
   */
  void begin(int partition, long readThroughEpochMillis) {
    held.put(partition, readThroughEpochMillis);
    requested.remove(partition);
    rereads.remove(partition);
  }

  /** Removes a partition. */
  void end(int partition) {
    held.remove(partition);
    requested.remove(partition);
    rereads.remove(partition);
  }

  /** Returns the read-through time of a partition that was added. */
  long of(int partition) {
    return held.getOrDefault(partition, 0L);
  }

  /**
   * Returns whether the read-through time of a partition is too long ago, so that the partition
   * must be read again. Each earlier read of the partition that took too long has doubled the
   * bound.
   */
  boolean isTooOld(int partition) {
    int doubled = Math.min(rereads.getOrDefault(partition, 0), MOST_DOUBLED);
    long bound = boundMillis > Long.MAX_VALUE >> doubled ? Long.MAX_VALUE : boundMillis << doubled;
    return isOutside(of(partition), bound);
  }

  /** Returns whether a partition with this read-through time must be read from its beginning. */
  boolean isTooOldAt(long readThroughEpochMillis) {
    return isOutside(readThroughEpochMillis, boundMillis);
  }

  private boolean isOutside(long readThroughEpochMillis, long bound) {
    long ago = clockEpochMillis.getAsLong() - readThroughEpochMillis;
    return ago > bound || ago < -bound; // if negative, the clock was or is wrong
  }

  /**
   * Requests barriers to check whether partitions are up to date. The requests are made at
   * intervals, and immediately for a partition whose read-through time is too long ago.
   */
  void requestBarriers(Collection<Integer> followed) {
    long now = clockEpochMillis.getAsLong();
    boolean isTime = Math.abs(now - requestedEpochMillis) >= intervalMillis;
    if (isTime) {
      requestedEpochMillis = now;
    }
    for (int partition : followed) {
      if (held.containsKey(partition)
          && !requested.containsKey(partition)
          && (isTime || isTooOldAt(of(partition)))) {
        Request request = new Request(new Barrier(partition), now);
        requested.put(partition, request);
        barriers.add(request.barrier());
      }
    }
  }

  /**
   * Processes the completed barriers. The time of a barrier's request becomes the read-through time
   * of the partition, unless the partition is {@linkplain #isTooOld too old}.
   *
   * @return the partitions that were read to their end
   */
  Set<Integer> settle() {
    Set<Integer> read = new TreeSet<>();
    Iterator<Map.Entry<Integer, Request>> requests = requested.entrySet().iterator();
    while (requests.hasNext()) {
      Map.Entry<Integer, Request> one = requests.next();
      Request request = one.getValue();
      if (!request.barrier().reached.isDone()) {
        continue;
      }
      requests.remove();
      if (request.barrier().reached.getNow(Freshness.MISSING) == Freshness.UP_TO_DATE) {
        read.add(one.getKey());
        if (!isTooOld(one.getKey())) {
          held.put(one.getKey(), request.atEpochMillis());
          if (!isTooOldAt(request.atEpochMillis())) {
            rereads.remove(one.getKey());
          }
        }
      }
    }
    return read;
  }
}
