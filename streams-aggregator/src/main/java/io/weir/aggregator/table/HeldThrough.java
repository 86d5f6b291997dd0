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
 * Knows through which time each followed partition is held: everything that was published to it
 * before that time has been read. A partition that was last held longer ago than a bound may have
 * lost tombstones that were never read, since Kafka removes them after a while; what they removed
 * would stay in the table for ever, so such a partition is read anew. With a bound of 12 h a
 * partition that was held at 08:00 is read on at 19:00 and read anew at 21:00. Not thread-safe.
 *
 * <p>A reading from the beginning, too, must come to the end within the bound: a row that it has
 * read may be removed behind it. One that does not is begun again with twice the bound, and so on:
 * a table that may show an erased row is better than one that is never read to its end, as that of
 * a topic would be whose tombstones are kept for a minute and which takes longer to be read.
 */
final class HeldThrough {
  /** How often it is asked whether a partition is held now, unless the bound is short. */
  private static final long INTERVAL_MILLIS = Duration.ofMinutes(1).toMillis();

  /** Shortest bound: a pause of the process must not make it read everything anew. */
  private static final Duration SHORTEST_BOUND = Duration.ofSeconds(4);

  /** How often the bound is doubled at most. */
  private static final int MOST_DOUBLED = 20;

  private final long boundMillis;
  private final long intervalMillis;
  private final Barriers barriers;
  private final LongSupplier clockEpochMillis;
  private final Map<Integer, Long> held = new HashMap<>();
  private final Map<Integer, Question> asked = new HashMap<>();

  /**
   * The partitions that are read from their beginning, by how often that has taken too long in
   * succession.
   */
  private final Map<Integer, Integer> anew = new HashMap<>();

  private long askedEpochMillis;

  /** A barrier, and when it was put up: once it is reached, the partition is held through then. */
  private record Question(Barrier barrier, long atEpochMillis) {}

  /**
   * Creates the knowledge of no partition.
   *
   * @param tombstonesKept for how long Kafka keeps a tombstone of the topic. The bound is half of
   *     it, so that clocks may be wrong by the other half, and 4 s at least
   * @param clockEpochMillis the clock of this machine
   */
  HeldThrough(Duration tombstonesKept, Barriers barriers, LongSupplier clockEpochMillis) {
    Duration half = tombstonesKept.dividedBy(2);
    this.boundMillis = (half.compareTo(SHORTEST_BOUND) < 0 ? SHORTEST_BOUND : half).toMillis();
    this.intervalMillis = Math.min(INTERVAL_MILLIS, boundMillis / 4);
    this.barriers = barriers;
    this.clockEpochMillis = clockEpochMillis;
  }

  /**
   * Begins with a partition that is read from its beginning.
   *
   * @return how often in succession that has taken too long before
   */
  int beginAnew(int partition) {
    Integer before = anew.get(partition);
    boolean isLate = before != null && isTooOld(partition);
    int late = (before == null ? 0 : before) + (isLate ? 1 : 0);
    begin(partition, clockEpochMillis.getAsLong());
    anew.put(partition, late);
    return late;
  }

  /**
   * Begins with a partition that is read on.
   *
   * @param heldThroughEpochMillis as it was stored
   */
  void begin(int partition, long heldThroughEpochMillis) {
    held.put(partition, heldThroughEpochMillis);
    asked.remove(partition);
    anew.remove(partition);
  }

  /** Ends with a partition. */
  void end(int partition) {
    held.remove(partition);
    asked.remove(partition);
    anew.remove(partition);
  }

  /** Returns through which time a partition that has begun is held. */
  long of(int partition) {
    return held.getOrDefault(partition, 0L);
  }

  /** Returns whether a partition that has begun was last held too long ago to be read on. */
  boolean isTooOld(int partition) {
    int doubled = Math.min(anew.getOrDefault(partition, 0), MOST_DOUBLED);
    long bound = boundMillis > Long.MAX_VALUE >> doubled ? Long.MAX_VALUE : boundMillis << doubled;
    return isOutside(of(partition), bound);
  }

  /** Returns whether a partition that was last held at a time must not be read on. */
  boolean isTooOldAt(long heldThroughEpochMillis) {
    return isOutside(heldThroughEpochMillis, boundMillis);
  }

  private boolean isOutside(long heldThroughEpochMillis, long bound) {
    long ago = clockEpochMillis.getAsLong() - heldThroughEpochMillis;
    return ago > bound || ago < -bound; // or the clock was wrong then, or is now
  }

  /** Asks from time to time, of partitions that are too old at once, whether they are held now. */
  void ask(Collection<Integer> followed) {
    long now = clockEpochMillis.getAsLong();
    boolean isTime = Math.abs(now - askedEpochMillis) >= intervalMillis;
    if (isTime) {
      askedEpochMillis = now;
    }
    for (int partition : followed) {
      if (held.containsKey(partition)
          && !asked.containsKey(partition)
          && (isTime || isTooOldAt(of(partition)))) {
        Question question = new Question(new Barrier(partition), now);
        asked.put(partition, question);
        barriers.add(question.barrier());
      }
    }
  }

  /**
   * Takes the answers that have come. A partition that is not {@linkplain #isTooOld too old} is
   * then held through the time at which it was asked.
   *
   * @return the partitions that have been read to their end
   */
  Set<Integer> settle() {
    Set<Integer> read = new TreeSet<>();
    Iterator<Map.Entry<Integer, Question>> questions = asked.entrySet().iterator();
    while (questions.hasNext()) {
      Map.Entry<Integer, Question> one = questions.next();
      Question question = one.getValue();
      if (!question.barrier().reached.isDone()) {
        continue;
      }
      questions.remove();
      if (question.barrier().reached.getNow(Freshness.MISSING) == Freshness.UP_TO_DATE) {
        read.add(one.getKey());
        if (!isTooOld(one.getKey())) {
          held.put(one.getKey(), question.atEpochMillis());
          if (!isTooOldAt(question.atEpochMillis())) {
            anew.remove(one.getKey());
          }
        }
      }
    }
    return read;
  }
}
