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
 * The time through which each followed partition is read: the table contains everything published
 * before it. If that time is longer ago than a bound, Kafka may have removed tombstones that were
 * never read. The rows they delete would stay in the table forever, so the partition is read again
 * from its beginning. Example: the bound is 12 h, and a partition was up to date at 08:00. At 19:00
 * the follower continues to read it; at 21:00 it reads the partition again. Not thread-safe.
 *
 * <p>A read from the beginning must also reach the end within the bound, because rows may be
 * deleted behind it. If it takes too long, the follower starts again with twice the bound, and so
 * on. Otherwise a topic that keeps tombstones for a minute and takes longer to read would never be
 * read to its end. A table that may show a deleted row is better than that.
 */
final class ReadThroughTimes {
  /**
   * Interval at which the follower checks whether partitions are up to date, unless the bound is
   * short.
   */
  private static final long INTERVAL_MILLIS = Duration.ofMinutes(1).toMillis();

  /** Minimum bound: a pause of the process must not cause it to read everything again. */
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
   * The partitions that are being read from their beginning, with the number of consecutive reads
   * that took too long.
   */
  private final Map<Integer, Integer> rereads = new HashMap<>();

  private long requestedEpochMillis;

  /**
   * A barrier and its time of request: when it is reached, the partition is read through that time.
   */
  private record Request(Barrier barrier, long atEpochMillis) {}

  /**
   * Creates the times without partitions.
   *
   * @param tombstonesKept how long Kafka keeps a tombstone of the topic. The bound is half of it,
   *     so that clocks may be wrong by the other half, and at least 4 s
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
   * Begins a partition that is read from its beginning.
   *
   * @return the number of consecutive reads before that took too long
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
   * Begins a partition that is read from its stored position.
   *
   * @param readThroughEpochMillis the stored time through which it was read
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

  /** Returns the time through which a partition that has begun is read. */
  long of(int partition) {
    return held.getOrDefault(partition, 0L);
  }

  /** Returns whether a partition that has begun must be read again, because its time is too old. */
  boolean isTooOld(int partition) {
    int doubled = Math.min(rereads.getOrDefault(partition, 0), MOST_DOUBLED);
    long bound = boundMillis > Long.MAX_VALUE >> doubled ? Long.MAX_VALUE : boundMillis << doubled;
    return isOutside(of(partition), bound);
  }

  /** Returns whether a partition with this time must be read from its beginning. */
  boolean isTooOldAt(long readThroughEpochMillis) {
    return isOutside(readThroughEpochMillis, boundMillis);
  }

  private boolean isOutside(long readThroughEpochMillis, long bound) {
    long ago = clockEpochMillis.getAsLong() - readThroughEpochMillis;
    return ago > bound || ago < -bound; // if negative, the clock was wrong then or is wrong now
  }

  /**
   * Requests barriers to check whether partitions are up to date: at intervals, and at once for
   * partitions that are too old.
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
   * Processes the barriers that are complete. A partition that is not {@linkplain #isTooOld too
   * old} is then read through the time of the request.
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
