// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.aggregator.state.StoredMembers;

/**
 * The intervals in which a bucket was full according to the known records. In these intervals the
 * bucket could not refill. If a record of an earlier charge arrives late, the bucket would have
 * refilled the charge in these intervals. So only the rest of the charge is missing now, regardless
 * of later charges.
 *
 * <p>Example: the bucket was full in [10 s, 14 s), and was then charged. Later, the record of a
 * charge at 12 s arrives. The charge has a refill time of 6 s. In the 2 s from 12 s to 14 s the
 * bucket would have refilled a third of this charge. So 4 s are missing now, and the interval [10
 * s, 12 s) remains.
 *
 * <p>The same is true for busy periods of a work-conserving queue. The remaining work depends on
 * the idle periods, and not on the order in which arrivals become known.
 *
 * <p>There are at most {@value #MAX} intervals. Above this maximum, the two nearest intervals are
 * merged. The merged interval never refills more of a charge than the two intervals did. Not
 * thread-safe.
 */
final class FullTimes {
  /** Maximum number of intervals. */
  static final int MAX = 8;

  private final long[] begins = new long[MAX + 1];
  private final long[] ends = new long[MAX + 1];
  private int size;

  /** Removes all intervals. Later calls ignore the time before {@code atMicros}. */
  void restart(long atMicros) {
    begins[0] = atMicros;
    ends[0] = atMicros; // an empty interval as a marker: later intervals begin after it
    size = 1;
  }

  /** Writes or reads the intervals, including the markers. */
  void store(StoredMembers members) {
    size = members.count(size);
    for (int i = 0; i < size; i++) {
      begins[i] = members.integer(begins[i]);
      ends[i] = members.integer(ends[i]);
    }
  }

  /**
   * Makes later calls of {@link #add} ignore the time before {@code atMicros}. It is unknown
   * whether the bucket was full between the newest interval and that time.
   */
  void ignoreBefore(long atMicros) {
    if (size > 0 && ends[size - 1] >= atMicros) {
      return;
    }
    // a marker that begins after its end, which differs from the marker of a restart
    append(atMicros + 1, atMicros);
  }

  /**
   * Compares the intervals with the current clock. If an interval ends after the current time,
   * another clock, which was ahead, has recorded the interval. The interval is shortened if it is
   * ahead by at most {@code clocksDifferMicros}. Otherwise all intervals are removed.
   *
   * @param clocksDifferMicros maximum difference of correct clocks
   */
  void observeClock(long atMicros, long clocksDifferMicros) {
    int newest = size - 1;
    while (newest >= 0 && isRefund(newest)) {
      newest--; // a marker of ignoreBefore may be ahead and does not depend on the clock
    }
    if (newest < 0 || ends[newest] <= atMicros) {
      return;
    }
    if (ends[newest] - atMicros > clocksDifferMicros) {
      restart(atMicros);
      return;
    }
    long known = newest < size - 1 ? ends[size - 1] : atMicros;
    while (size > 0 && begins[size - 1] > atMicros) {
      size--;
    }
    if (size > 0) {
      ends[size - 1] = Math.min(ends[size - 1], atMicros);
    }
    ignoreBefore(known);
  }

  private boolean isRefund(int index) {
    return begins[index] > ends[index];
  }

  /**
   * Adds an interval after all other intervals, without the part that overlaps them.
   *
   * @param fromMicros time at which the bucket became full, inclusive
   * @param toMicros time at which the bucket was charged, exclusive
   */
  void add(long fromMicros, long toMicros) {
    long from = size == 0 ? fromMicros : Math.max(fromMicros, ends[size - 1]);
    if (from < toMicros) {
      append(from, toMicros);
    }
  }

  private void append(long fromMicros, long toMicros) {
    begins[size] = fromMicros;
    ends[size] = toMicros;
    size++;
    if (size > MAX) {
      mergeNearest();
    }
  }

  /**
   * Merges the two nearest intervals. The merged interval starts where the first interval starts,
   * and has the total length of both intervals. So the merged interval never refills more of a
   * charge than the two intervals. The newest interval is not merged, because no later interval may
   * begin before its end.
   */
  private void mergeNearest() {
    int nearest = 0;
    for (int i = 1; i + 2 < size; i++) {
      if (begins[i + 1] - ends[i] < begins[nearest + 1] - ends[nearest]) {
        nearest = i;
      }
    }
    ends[nearest] += ends[nearest + 1] - begins[nearest + 1];
    remove(nearest + 1);
  }

  /**
   * Uses up intervals for a charge that has become known late.
   *
   * @param atMicros time of the charge
   * @param micros the refill time of the charge
   * @return the part of the refill time that the bucket has refilled since
   */
  long take(long atMicros, long micros) {
    long left = micros;
    for (int i = 0; i < size && left > 0; ) {
      long from = Math.max(begins[i], atMicros);
      long taken = Math.min(left, ends[i] - from);
      if (taken <= 0) {
        i++;
        continue;
      }
      left -= taken;
      long end = ends[i];
      ends[i] = from;
      if (begins[i] >= from) {
        remove(i);
      } else {
        i++;
      }
      if (from + taken < end) {
        insert(i, from + taken, end);
        i++;
      }
    }
    while (size > MAX) {
      mergeNearest();
    }
    return micros - left;
  }

  /** Uses up the newest intervals for charges at unknown times. */
  void takeNewest(long micros) {
    long left = micros;
    long newestEnd = size == 0 ? 0 : ends[size - 1];
    for (int i = size - 1; i >= 0 && left > 0; i--) {
      long taken = Math.min(left, ends[i] - begins[i]);
      if (taken > 0) {
        left -= taken;
        ends[i] -= taken;
        if (ends[i] == begins[i]) {
          remove(i);
        }
      }
    }
    if (size > 0 || newestEnd > 0) {
      ignoreBefore(newestEnd);
    }
  }

  private void insert(int index, long fromMicros, long toMicros) {
    System.arraycopy(begins, index, begins, index + 1, size - index);
    System.arraycopy(ends, index, ends, index + 1, size - index);
    begins[index] = fromMicros;
    ends[index] = toMicros;
    size++;
  }

  private void remove(int index) {
    size--;
    System.arraycopy(begins, index + 1, begins, index, size - index);
    System.arraycopy(ends, index + 1, ends, index, size - index);
  }
}
