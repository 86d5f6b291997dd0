// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit;

/**
 * The times at which a bucket was full, by the records that are known, and so gained nothing. When
 * a charge is recorded late, the part of these times that lies behind it would have refilled it:
 * only the rest is missing now, whatever was charged since.
 *
 * <p>Example: the bucket was full from 10 s to 14 s, and was then charged. A charge made at 12 s,
 * worth 6 s of refill, is recorded later. The 2 s from 12 s to 14 s would have refilled a third of
 * it: 4 s are missing now, and what remains is a full time from 10 s to 12 s.
 *
 * <p>This is the argument of busy periods in a work-conserving queue: the work that is left depends
 * on the idle times, and not on the order in which the arrivals become known.
 *
 * <p>At most {@value #MAX} times are kept. When there are more, the two that are nearest to each
 * other are merged into one that refills no charge by more than the two did. Not safe for threads.
 */
final class FullTimes {
  /** Most times that are kept. */
  static final int MAX = 8;

  private final long[] begins = new long[MAX + 1];
  private final long[] ends = new long[MAX + 1];
  private int size;

  int size() {
    return size;
  }

  long beginMicros(int index) {
    return begins[index];
  }

  long endMicros(int index) {
    return ends[index];
  }

  /** Forgets all, and counts nothing before a moment. */
  void restart(long atMicros) {
    begins[0] = atMicros;
    ends[0] = atMicros; // a time of no length is worth nothing, and what is added is behind it
    size = 1;
  }

  /** Puts a time back that was kept, which may be the one of {@link #restart}; in their order. */
  void restore(long fromMicros, long toMicros) {
    begins[size] = fromMicros;
    ends[size] = toMicros;
    size++;
  }

  /**
   * Adds a time behind all others; what is not behind them is left out.
   *
   * @param fromMicros when the bucket had become full
   * @param toMicros when it was charged
   */
  void add(long fromMicros, long toMicros) {
    long from = size == 0 ? fromMicros : Math.max(fromMicros, ends[size - 1]);
    if (from < toMicros) {
      begins[size] = from;
      ends[size] = toMicros;
      size++;
      if (size > MAX) {
        mergeNearest();
      }
    }
  }

  /** One time as long as two, from the beginning of the first, is worth at most what they were. */
  private void mergeNearest() {
    int nearest = 0;
    for (int i = 1; i + 1 < size; i++) {
      if (begins[i + 1] - ends[i] < begins[nearest + 1] - ends[nearest]) {
        nearest = i;
      }
    }
    ends[nearest] += ends[nearest + 1] - begins[nearest + 1];
    remove(nearest + 1);
  }

  /**
   * Takes a charge into account that was not known.
   *
   * @param atMicros when it was made
   * @param micros the refill that it takes
   * @return how much of that has been refilled since
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
