// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import io.weir.limits.LimitAlgorithm.MemberSink;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One sub-window of a {@link SlidingWindow}. The bucket of a sub-window counts the tokens that
 * calls take in the sub-window. The cache keeps the bucket for as long as a window covers a part of
 * the sub-window. A decision depends on this bucket, the buckets of the earlier sub-windows and the
 * bucket of the next sub-window.
 *
 * @param capacityTokens tokens per window, 1 to 2^53 − 1
 * @param endsAtEpochMicros when the sub-window no longer counts, in microseconds since 1970 by the
 *     cache's clock; 1 to 2^53 − 1. A sub-window counts until one window after its end
 * @param windowMicros length of a sub-window in microseconds; whole seconds, at most 2^53 − 1
 * @param subWindows number of sub-windows per window; 1 to {@value SlidingWindow#MAX_SUB_WINDOWS}
 */
public record SlidingWindowLimit(
    long capacityTokens, long endsAtEpochMicros, long windowMicros, long subWindows)
    implements PeriodLimit {
  private static final long MICROS_PER_SECOND = 1_000_000;

  /** Possible lengths of a step, the shortest first; see {@link #stepMicros()}. */
  private static final long[] STEPS_MICROS = {1, 1_000, MICROS_PER_SECOND};

  public SlidingWindowLimit {
    Numbers.require("capacity", capacityTokens, 1);
    Numbers.require("ends_at (µs)", endsAtEpochMicros, 1);
    Numbers.require("window (µs)", windowMicros, 1);
    Numbers.require("sub_windows", subWindows, 1, SlidingWindow.MAX_SUB_WINDOWS);
    stepMicros(capacityTokens, windowMicros);
  }

  /**
   * Returns the length of the steps in which the weight of the oldest sub-window falls. The result
   * is 1 µs, 1 ms or 1 s: the shortest length for which capacity × steps of a sub-window is below
   * 2^53.
   *
   * @throws IllegalArgumentException if no such length exists
   */
  static long stepMicros(long capacityTokens, long windowMicros) {
    for (long step : STEPS_MICROS) {
      if (windowMicros % step == 0
          && Math.multiplyHigh(capacityTokens, windowMicros / step) == 0
          && Long.compareUnsigned(capacityTokens * (windowMicros / step), Numbers.MAX) <= 0) {
        return step;
      }
    }
    throw new IllegalArgumentException(
        "limit "
            + capacityTokens
            + " with sub-windows of "
            + windowMicros / MICROS_PER_SECOND
            + " s cannot be weighted exactly below 2^53; choose more sub-windows or a smaller limit");
  }

  /**
   * Returns the length of the steps in which the weight of the oldest sub-window falls: 1 µs, 1 ms
   * or 1 s.
   */
  public long stepMicros() {
    return stepMicros(capacityTokens, windowMicros);
  }

  /** Returns when the sub-window itself ends, in microseconds since 1970. */
  public long subWindowEndsAtMicros() {
    return endsAtEpochMicros - subWindows * windowMicros;
  }

  @Override
  public LimitAlgorithm algorithm() {
    return LimitAlgorithm.SLIDING_WINDOW;
  }

  @Override
  public long windowMicros(PeriodicLimit.@Nullable Span subWindow) {
    return subWindows * windowMicros;
  }

  @Override
  public boolean decidesAlone() {
    return false;
  }

  /** Returns the limit of the sub-window's bucket, without the other sub-windows. */
  @Override
  public FixedWindowLimit alone() {
    return new FixedWindowLimit(capacityTokens, endsAtEpochMicros, windowMicros);
  }

  /**
   * Returns the keys of the earlier sub-windows that the window covers, the oldest first, and then
   * the key of the next sub-window. At a boundary, nodes whose clocks are ahead already charge the
   * next sub-window.
   */
  @Override
  public List<String> otherBuckets(String bucket) {
    List<String> others = new ArrayList<>((int) subWindows + 1);
    long end = BucketKey.endEpochSecond(bucket);
    for (long after = -subWindows; after <= 1; after++) {
      if (after != 0) {
        others.add(BucketKey.inPeriod(bucket, end + after * (windowMicros / MICROS_PER_SECOND)));
      }
    }
    return others;
  }

  @Override
  public int keys() {
    return (int) subWindows + 2;
  }

  @Override
  public int scriptKind() {
    return (int) subWindows;
  }

  @Override
  public long[] scriptNumbers() {
    return new long[] {windowMicros, stepMicros()};
  }

  @Override
  public BucketView view(String bucket, KeptBuckets kept, long nowEpochMicros) {
    List<String> others = otherBuckets(bucket);
    long[] counts = new long[others.size()];
    PeriodBucket own = new PeriodBucket(capacityTokens, endsAtEpochMicros);
    for (int i = 0; i < counts.length; i++) {
      counts[i] = -own.refill(kept.state(others.get(i)), nowEpochMicros).units();
    }
    SlidingBucket sliding = new SlidingBucket(this, counts, nowEpochMicros);
    return new CountedBucket(
        sliding, sliding.refill(kept.state(bucket), nowEpochMicros), nowEpochMicros);
  }

  @Override
  public SlidingWindowLimit shareOf(int nodes) {
    return new SlidingWindowLimit(
        Math.max(1, capacityTokens / nodes), endsAtEpochMicros, windowMicros, subWindows);
  }

  @Override
  public <E extends Exception> void writeTo(MemberSink<E> sink) throws E {
    sink.member("capacity", capacityTokens);
    sink.member("ends_at_us", endsAtEpochMicros);
    sink.member("window_us", windowMicros);
    sink.member("sub_windows", subWindows);
  }
}
