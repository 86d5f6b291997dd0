// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import io.weir.limits.LimitAlgorithm.MemberSink;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import org.jspecify.annotations.Nullable;

/**
 * A limit on the number of tokens in any interval of a given length, the window. The limit is
 * exact. The cache stores the time and the cost of each admitted call for one window.
 *
 * <p>Bound: in any interval of the window's length, calls take at most the capacity. The bound
 * holds unless the cache loses the log or the cache's clock is set back. Memory: about 18 bytes per
 * admitted call of the last window. The capacity is therefore at most {@value #MAX_TOKENS}. For a
 * larger limit use a {@link SlidingWindow} with sub-windows.
 *
 * <p>Buckets exist only in the cache; see {@link CacheOnlyLimit}. Immutable.
 *
 * @param capacityTokens tokens per window; 1 to {@value #MAX_TOKENS}
 * @param windowMicros length of a window in microseconds; 1 µs to 366 days
 */
public record SlidingLog(long capacityTokens, long windowMicros) implements CacheOnlyLimit {
  /**
   * Maximum number of tokens per window, and therefore of calls that the cache stores for a bucket.
   */
  public static final long MAX_TOKENS = 10_000;

  public SlidingLog {
    Numbers.require("limit", capacityTokens, 1, MAX_TOKENS);
    Numbers.require("window (µs)", windowMicros, 1, TokenBucketLimit.MAX_PERIOD_MICROS);
  }

  @Override
  public LimitAlgorithm algorithm() {
    return LimitAlgorithm.SLIDING_LOG;
  }

  @Override
  public BucketView view(String bucket, KeptBuckets kept, long nowEpochMicros) {
    LogState log = kept.log(bucket);
    return new LoggedBucket(this, log == null ? LogState.EMPTY : log, nowEpochMicros);
  }

  @Override
  public long windowMicros(PeriodicLimit.@Nullable Span period) {
    return windowMicros;
  }

  @Override
  public int scriptKind() {
    return 63;
  }

  @Override
  public long[] scriptNumbers() {
    return new long[] {windowMicros};
  }

  @Override
  public String keyOf(String cacheOnlyText) {
    return BucketKey.ofLog(cacheOnlyText);
  }

  @Override
  public SlidingLog shareOf(int nodes) {
    return new SlidingLog(Math.max(1, capacityTokens / nodes), windowMicros);
  }

  @Override
  public boolean isNoWiderThan(PolicyLimit other) {
    return other instanceof SlidingLog log
        && capacityTokens <= log.capacityTokens
        && windowMicros >= log.windowMicros;
  }

  @Override
  public String describe() {
    return String.format(
        "%d tokens in any %s, exactly",
        capacityTokens, Duration.of(windowMicros, ChronoUnit.MICROS));
  }

  @Override
  public <E extends Exception> void writeTo(MemberSink<E> sink) throws E {
    sink.member("capacity", capacityTokens);
    sink.member("window_us", windowMicros);
  }
}
