// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import java.time.Duration;

/**
 * A limit on the number of tokens in any interval of a given length, the window. One counter per
 * sub-window approximates the number of tokens. The window covers the newer sub-windows, so their
 * counts apply in full. The window covers only a part of the oldest sub-window, so the same part of
 * the oldest count applies, rounded up. With one sub-window, this algorithm is the usual sliding
 * window counter, which weights the count of the previous window. Each sub-window has its own
 * bucket, which is counted, recorded and corrected like a bucket of a {@link FixedWindow}. The
 * limit applies to the sum of the sub-windows.
 *
 * <p>Sub-windows begin at each multiple of their length since 1970-01-01T00:00:00Z.
 *
 * <p>Bound: in any interval of the window's length, calls take at most limit + e × c tokens. The
 * number c is the count of the sub-window in which the interval begins. The factor e is the elapsed
 * part of the sub-window in which the interval ends. Calls therefore take less than twice the
 * limit. Calls come close to twice the limit only if all calls arrive at the end of two sub-windows
 * that are one window apart. If the calls of each sub-window are spread evenly, the calls take at
 * most the limit.
 *
 * <p>At a boundary, two nodes may select two adjacent sub-windows. Each node still counts the calls
 * of the other node, because the tokens taken in the next sub-window also count. A call in the
 * earlier sub-window then counts for less than one window. The missing time is the time from the
 * selection of the sub-window to the decision. With such calls, the bound holds only for intervals
 * that are shorter than the window by the missing time. There is no bound while nodes differ by
 * more than one sub-window. For example, a clock is set back, and some nodes still use the old
 * time.
 *
 * @param capacityTokens tokens per window; 1 to 2^53 − 1
 * @param lengthSeconds length of a window; 1 s to 366 days
 * @param subWindows number of sub-windows per window; 1 to {@value #MAX_SUB_WINDOWS}. All
 *     sub-windows have the same length, in whole seconds
 * @param resetJitterSeconds maximum delay that is added to the sub-windows of a bucket; 0 to the
 *     length of a sub-window
 * @see <a href="https://blog.cloudflare.com/counting-things-a-lot-of-different-things/">How we
 *     built rate limiting capable of scaling to millions of domains</a>
 */
public record SlidingWindow(
    long capacityTokens, long lengthSeconds, int subWindows, long resetJitterSeconds)
    implements PeriodicLimit {
  /** Maximum number of sub-windows. A decision reads one counter per sub-window. */
  public static final int MAX_SUB_WINDOWS = 60;

  public SlidingWindow {
    Numbers.require("limit", capacityTokens, 1);
    Numbers.require("window (s)", lengthSeconds, 1, FixedWindow.MAX_LENGTH_SECONDS);
    Numbers.require("sub_windows", subWindows, 1, MAX_SUB_WINDOWS);
    if (lengthSeconds % subWindows != 0) {
      throw new IllegalArgumentException(
          "window must be a multiple of sub_windows in seconds, but "
              + lengthSeconds
              + " s is not a multiple of "
              + subWindows);
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

  /** Returns the sub-window that contains a time. The sub-window is the same for all clients. */
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
        "%d tokens in any %s, counted in %d sub-window%s",
        capacityTokens, Duration.ofSeconds(lengthSeconds), subWindows, subWindows == 1 ? "" : "s");
  }
}
