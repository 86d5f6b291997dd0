// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher.simulate;

import java.util.Arrays;

/**
 * Approximates the sliding window by counters of sub-windows: the counts of those that the window
 * covers, and of the oldest, which it covers in part, that part of its count. With one sub-window
 * it is the well-known weighting of the previous window.
 *
 * <p>Bound: exact if the calls of each sub-window are spread evenly over it. If they are not, the
 * count of one sub-window may be wrongly taken for gone, or for there.
 *
 * @see <a href="https://blog.cloudflare.com/counting-things-a-lot-of-different-things/">How we
 *     built rate limiting capable of scaling to millions of domains</a>
 */
final class SlidingWindow implements SimulatedLimiter {
  private final long limit;
  private final int subWindows;
  private final long subMicros;

  /** Counts by sub-window, modulo their number; one more than cover the window. */
  private final long[] counts;

  /** The sub-window of the newest count. */
  private long newest;

  /**
   * Creates an empty window.
   *
   * @param subWindows how many sub-windows a window has, ≥ 1
   */
  SlidingWindow(long limit, long windowMicros, int subWindows) {
    this.limit = limit;
    this.subWindows = subWindows;
    this.subMicros = windowMicros / subWindows;
    this.counts = new long[subWindows + 1];
  }

  private void moveTo(long atMicros) {
    long current = atMicros / subMicros;
    if (current - newest > subWindows) {
      Arrays.fill(counts, 0);
    } else {
      for (long passed = newest + 1; passed <= current; passed++) {
        counts[index(passed)] = 0;
      }
    }
    newest = current;
  }

  private int index(long subWindow) {
    return Math.floorMod(subWindow, counts.length);
  }

  /** Returns the calls used, each as many as a sub-window has microseconds: in whole numbers. */
  private long usedParts(long atMicros) {
    moveTo(atMicros);
    long used = counts[index(newest - subWindows)] * (subMicros - atMicros % subMicros);
    for (long covered = newest - subWindows + 1; covered <= newest; covered++) {
      used += counts[index(covered)] * subMicros;
    }
    return used;
  }

  @Override
  public double used(long atMicros) {
    return (double) usedParts(atMicros) / subMicros;
  }

  @Override
  public boolean take(long atMicros) {
    if (usedParts(atMicros) + subMicros > limit * subMicros) {
      return false;
    }
    counts[index(newest)]++;
    return true;
  }
}
