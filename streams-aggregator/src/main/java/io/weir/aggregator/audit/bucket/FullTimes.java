// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

/**
 * The intervals of time in which a bucket was full, as far as the known records show, and therefore
 * gained nothing. If a charge is recorded late, the part of these intervals after the charge would
 * have refilled it: only the rest is missing now, whatever was charged since.
 *
 * <p>Example: the bucket was full in [10 s, 14 s), and was then charged. A charge made at 12 s,
 * worth 6 s of refill, is recorded later. The 2 s from 12 s to 14 s would have refilled a third of
 * it: 4 s are missing now, and [10 s, 12 s) remains.
 *
 * <p>This is the argument of busy periods in a work-conserving queue: the work that is left depends
 * on the idle periods, and not on the order in which the arrivals become known.
 *
 * <p>At most {@value #MAX} intervals are kept. If there are more, the two that are nearest to each
 * other are merged into one that refills no charge by more than the two did. Not thread-safe.
 */
final class FullTimes {
  /** Most intervals kept. */
  static final int MAX = 8;

  private final long[] begins = new long[MAX + 1];
  private final long[] ends = new long[MAX + 1];
  private int size;

  /** Returns the number of intervals. */
  int size() {
    return size;
  }

  /** Returns the beginning of an interval, inclusive. */
  long beginMicros(int index) {
    return begins[index];
  }

  /** Returns the end of an interval, exclusive. */
  long endMicros(int index) {
    return ends[index];
  }

  /** Forgets all intervals, and ignores everything before a time from now on. */
  void restart(long atMicros) {
    begins[0] = atMicros;
    ends[0] = atMicros; // an empty interval refills nothing, and what is added comes after it
    size = 1;
  }

  /** Appends an interval that was stored, possibly a mark of {@link #restart} or of a refund. */
  void restore(long fromMicros, long toMicros) {
    begins[size] = fromMicros;
    ends[size] = toMicros;
    size++;
  }

  /**
   * Leaves out what lies before a time of all intervals that are added from now on: whether the
   * bucket was full between the newest interval and that time is not known.
   */
  void notBefore(long atMicros) {
    if (size > 0 && ends[size - 1] >= atMicros) {
      return;
    }
    // begins after it ends: it refills nothing, and is told from the mark of a restart
    append(atMicros + 1, atMicros);
  }

  /**
   * Observes the clock. An interval that ends later was noted by a clock that was ahead: if that is
   * within the difference between clocks that are right, it is cut; otherwise no interval is
   * believed.
   *
   * @param clocksDifferMicros by how much clocks that are right may differ
   */
  void notBeyond(long atMicros, long clocksDifferMicros) {
    int newest = size - 1;
    while (newest >= 0 && isRefund(newest)) {
      newest--; // the mark of a refund may lie ahead, and tells of no clock
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
    notBefore(known);
  }

  private boolean isRefund(int index) {
    return begins[index] > ends[index];
  }

  /**
   * Adds an interval after all others; the part that overlaps them is left out.
   *
   * @param fromMicros when the bucket had become full, inclusive
   * @param toMicros when it was charged, exclusive
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
   * Merges two into one as long as both, from the first beginning: it is worth at most as much. The
   * newest is not merged, since nothing that is added may begin before its end.
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
   * Uses the intervals up for a charge that was not known until now.
   *
   * @param atMicros when the charge was made
   * @param micros the time in which the bucket refills it
   * @return how much of that time the bucket has refilled since
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

  /** Uses up the newest of the intervals, for charges of which the time is not known. */
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
      notBefore(newestEnd);
    }
  }

  private void insert(int index, long fromMicros, long toMicros) {
    for (int i = size; i > index; i--) {
      begins[i] = begins[i - 1];
      ends[i] = ends[i - 1];
    }
    begins[index] = fromMicros;
    ends[index] = toMicros;
    size++;
  }

  private void remove(int index) {
    size--;
    for (int i = index; i < size; i++) {
      begins[i] = begins[i + 1];
      ends[i] = ends[i + 1];
    }
  }
}
