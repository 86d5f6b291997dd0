// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import java.time.Duration;

/**
 * A number of tokens in any window of a length, approximated by counters of sub-windows: what was
 * taken in those that the last window covers, and of the oldest, which it covers in part, that part
 * of its count, rounded up. With one sub-window it is the well-known weighting of the previous
 * window. Each sub-window has a bucket of its own, which is counted, recorded and corrected as that
 * of a {@link FixedWindow}; the limit is on their sum.
 *
 * <p>Sub-windows begin at each multiple of their length since 1970-01-01T00:00:00Z.
 *
 * <p>Bound: in any interval of the window's length at most limit + e × c is taken, where c is what
 * was taken in the sub-window in which the interval begins, and e the elapsed part of the one in
 * which it ends; so less than twice the limit. That much is reached only by calls that all come at
 * the very end of one sub-window, and again at the end of the window that follows. At most the
 * limit is taken if the calls of a sub-window are spread evenly over it. Callers whose ideas of the
 * current sub-window are one apart, as they are at a boundary, count each other's calls: what is
 * taken in the next one counts, too. But a call then counts less long by the time from when its
 * sub-window was named to its decision, and the bound is of windows that are shorter by that. Of
 * callers that are further apart, as they may be until all of them have followed a clock that was
 * set back, there is no bound on the sum.
 *
 * @param capacityTokens tokens of a window; 1 to 2^53 − 1
 * @param lengthSeconds length of a window; 1 s to 366 days
 * @param subWindows how many sub-windows a window has, all of the same length in whole seconds; 1
 *     to {@value #MAX_SUB_WINDOWS}
 * @param resetJitterSeconds by how much, at most, a bucket's sub-windows begin later than these; 0
 *     to the length of a sub-window
 * @see <a href="https://blog.cloudflare.com/counting-things-a-lot-of-different-things/">How we
 *     built rate limiting capable of scaling to millions of domains</a>
 */
public record SlidingWindow(
    long capacityTokens, long lengthSeconds, int subWindows, long resetJitterSeconds)
    implements PeriodicLimit {
  /** Most sub-windows. A decision reads the counter of each. */
  public static final int MAX_SUB_WINDOWS = 60;

  public SlidingWindow {
    Numbers.require("limit", capacityTokens, 1);
    Numbers.require("window (s)", lengthSeconds, 1, FixedWindow.MAX_LENGTH_SECONDS);
    Numbers.require("sub_windows", subWindows, 1, MAX_SUB_WINDOWS);
    if (lengthSeconds % subWindows != 0) {
      throw new IllegalArgumentException(
          "window must be sub_windows of whole seconds: "
              + lengthSeconds
              + " s are not "
              + subWindows
              + " × whole seconds");
    }
    Numbers.require("reset_jitter (s)", resetJitterSeconds, 0, lengthSeconds / subWindows);
    SlidingWindowLimit.stepMicros(capacityTokens, lengthSeconds / subWindows * 1_000_000L);
  }

  /** Creates a window whose sub-windows begin at the same time for all buckets. */
  public SlidingWindow(long capacityTokens, long lengthSeconds, int subWindows) {
    this(capacityTokens, lengthSeconds, subWindows, 0);
  }

  /** Returns the length of a sub-window. */
  public long subWindowSeconds() {
    return lengthSeconds / subWindows;
  }

  /** Returns the sub-window that contains a moment; it is the same for all clients. */
  @Override
  public Span at(long epochMillis, ClientCalendar client) {
    long second = Math.floorDiv(epochMillis, 1_000L);
    long start = second - Math.floorMod(second, subWindowSeconds());
    return new Span(start, start + subWindowSeconds());
  }

  @Override
  public SlidingWindow withCapacity(long tokens) {
    return new SlidingWindow(tokens, lengthSeconds, subWindows, resetJitterSeconds);
  }

  @Override
  public SlidingWindowLimit in(Span period) {
    return new SlidingWindowLimit(
        capacityTokens,
        Math.multiplyExact(period.endEpochSecond() + lengthSeconds, 1_000_000L),
        Math.multiplyExact(subWindowSeconds(), 1_000_000L),
        subWindows);
  }

  @Override
  public long windowSeconds(Span period) {
    return lengthSeconds;
  }

  @Override
  public boolean isNoWiderThan(PolicyLimit other) {
    return other instanceof SlidingWindow window
        && capacityTokens <= window.capacityTokens
        && lengthSeconds == window.lengthSeconds
        && subWindows == window.subWindows
        && resetJitterSeconds == window.resetJitterSeconds;
  }

  @Override
  public String describe() {
    return String.format(
        "%d tokens in any %s, by %d sub-window%s",
        capacityTokens, Duration.ofSeconds(lengthSeconds), subWindows, subWindows == 1 ? "" : "s");
  }
}
