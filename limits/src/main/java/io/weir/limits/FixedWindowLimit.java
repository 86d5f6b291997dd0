// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import io.weir.limits.LimitAlgorithm.MemberSink;

/**
 * One window of a {@link FixedWindow}.
 *
 * @param capacityTokens tokens of the window, 1 to 2^53 − 1
 * @param endsAtEpochMicros exclusive end of the window, in microseconds since 1970 by the cache's
 *     clock; 1 to 2^53 − 1
 * @param windowMicros length of a window in microseconds; the last window of a day may be shorter;
 *     1 to 2^53 − 1
 */
public record FixedWindowLimit(long capacityTokens, long endsAtEpochMicros, long windowMicros)
    implements PeriodLimit {
  public FixedWindowLimit {
    Numbers.require("capacity", capacityTokens, 1);
    Numbers.require("ends_at (µs)", endsAtEpochMicros, 1);
    Numbers.require("window (µs)", windowMicros, 1);
  }

  @Override
  public LimitAlgorithm algorithm() {
    return LimitAlgorithm.FIXED_WINDOW;
  }

  @Override
  public FixedWindowLimit shareOf(int nodes) {
    return new FixedWindowLimit(
        Math.max(1, capacityTokens / nodes), endsAtEpochMicros, windowMicros);
  }

  @Override
  public <E extends Exception> void writeTo(MemberSink<E> sink) throws E {
    sink.member("capacity", capacityTokens);
    sink.member("ends_at_us", endsAtEpochMicros);
    sink.member("window_us", windowMicros);
  }
}
