// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

/**
 * The intervals in which a bucket was full, according to the known records, and therefore gained
 * nothing. A charge that is recorded late would have been refilled in these intervals after it. So
 * only the rest of the charge is missing now, regardless of later charges.
 *
 * <p>Example: the bucket was full in [10 s, 14 s), and was then charged. A charge made at 12 s,
 * with a refill time of 6 s, is recorded later. The 2 s from 12 s to 14 s would have refilled a
 * third of it: 4 s are missing now, and [10 s, 12 s) remains.
 *
 * <p>This is the argument of busy periods in a work-conserving queue. The remaining work depends on
 * the idle periods, not on the order in which arrivals become known.
 *
 * <p>Keeps at most {@value #MAX} intervals. If there are more, the two nearest are merged into one
 * that refills no charge by more than both did. Not thread-safe.
 */
final class FullTimes {
  /** Maximum number of intervals. */
  static final int MAX = 8;

  private final long[] begins = new long[MAX + 1];
  private final long[] ends = new long[MAX + 1];
  private int size;

  /** Returns the number of intervals. */
  int size() {
    return size;
  }

  /** Returns the start of an interval, inclusive. */
  long beginMicros(int index) {
    return begins[index];
  }

  /** Returns the end of an interval, exclusive. */
  long endMicros(int index) {
    return ends[index];
  }

  /** Forgets all intervals; from now on ignores everything before a time. */
  void restart(long atMicros) {
    begins[0] = atMicros;
    ends[0] = atMicros; // an empty interval refills nothing, and later intervals begin after it
    size = 1;
  }

  /** Appends a stored interval, possibly a marker of {@link #restart} or of a refund. */
  void restore(long fromMicros, long toMicros) {
    begins[size] = fromMicros;
    ends[size] = toMicros;
    size++;
  }

  /**
   * Cuts all intervals added from now on at a time. It is unknown whether the bucket was full
   * between the newest interval and that time.
   */
  void ignoreBefore(long atMicros) {
    if (size > 0 && ends[size - 1] >= atMicros) {
      return;
    }
    // a marker that begins after its end: it refills nothing and differs from the marker of a
    // restart
    append(atMicros + 1, atMicros);
  }

  /**
   * Observes the clock. An interval that ends later was recorded by a clock that was ahead. It is
   * cut if it is ahead by at most {@code clocksDifferMicros}; otherwise no interval is trusted.
   *
   * @param clocksDifferMicros maximum difference of correct clocks
   */
  void observeClock(long atMicros, long clocksDifferMicros) {
    int newest = size - 1;
    while (newest >= 0 && isRefund(newest)) {
      newest--; // the marker of a refund may be ahead and does not depend on the clock
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
   * Adds an interval after all others, without the part that overlaps them.
   *
   * @param fromMicros when the bucket had become full, inclusive
   * @param toMicros when the bucket was charged, exclusive
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
   * Merges the two nearest intervals into one with the length of both and the start of the first.
   * It refills at most as much. The newest is not merged, because no later interval may begin
   * before its end.
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
   * Uses up intervals for a charge that was not known until now.
   *
   * @param atMicros when the charge was made
   * @param micros the refill time of the charge
   * @return the part of that time that the bucket has refilled since
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

  /** Uses up the newest intervals for charges whose time is unknown. */
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
