// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import org.jspecify.annotations.Nullable;

/**
 * A limit whose buckets exist only in the cache and are not recorded. The buckets are therefore
 * neither audited nor corrected. After the cache has lost the buckets, all their tokens are
 * available again. The buckets have no period and no refill. Immutable.
 */
public sealed interface CacheOnlyLimit extends PolicyLimit, BucketLimit
    permits SlidingLog, ConcurrencyLimit {
  @Override
  long capacityTokens();

  @Override
  default boolean isRecordable() {
    return false;
  }

  /** Returns the arithmetic of a bucket that never refills: one unit per token. */
  @Override
  default BucketArithmetic arithmetic() {
    return new PeriodBucket(capacityTokens(), Numbers.MAX);
  }

  @Override
  default @Nullable Refill refill() {
    return null;
  }

  @Override
  default boolean refills() {
    return false;
  }

  @Override
  default CacheOnlyLimit lasting() {
    return this;
  }

  @Override
  default CacheOnlyLimit ofBucket(PeriodicLimit.@Nullable Span period) {
    return this;
  }

  @Override
  String keyOf(String cacheOnlyText);

  @Override
  default long fullAtMicros(long byRefillMicros) {
    return byRefillMicros;
  }

  @Override
  default long levelTokens(long fullAtEpochMicros, long usedTokens, long nowEpochMicros) {
    return capacityTokens() - usedTokens;
  }

  @Override
  default boolean isOverAt(long epochMicros) {
    return false;
  }
}
