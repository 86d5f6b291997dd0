// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import org.jspecify.annotations.Nullable;

/**
 * The limit of one period. The bucket of a period begins full, never refills, and ends with the
 * period. The next period has its own bucket. Immutable.
 */
public sealed interface PeriodLimit extends BucketLimit
    permits QuotaLimit, FixedWindowLimit, SlidingWindowLimit {
  /**
   * Returns the exclusive end of the period, in microseconds since 1970 by the cache's clock; 1 to
   * 2^53 − 1.
   */
  long endsAtEpochMicros();

  @Override
  default BucketArithmetic arithmetic() {
    return new PeriodBucket(capacityTokens(), endsAtEpochMicros());
  }

  @Override
  default @Nullable Refill refill() {
    return null;
  }

  @Override
  default long fullAtMicros(long byRefillMicros) {
    return endsAtEpochMicros();
  }

  @Override
  default long levelTokens(long fullAtEpochMicros, long usedTokens, long nowEpochMicros) {
    return capacityTokens() - usedTokens;
  }

  @Override
  default long windowMicros(PeriodicLimit.@Nullable Span period) {
    return period == null ? 0 : period.endEpochMicros() - period.startEpochSecond() * 1_000_000;
  }

  @Override
  default boolean isOverAt(long epochMicros) {
    return endsAtEpochMicros() <= epochMicros;
  }
}
