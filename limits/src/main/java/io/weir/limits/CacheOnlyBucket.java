// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

/**
 * A bucket of a {@link CacheOnlyLimit} at the time of a decision. Weir does not record the bucket,
 * so the bucket has neither an epoch nor corrections. Immutable.
 */
sealed interface CacheOnlyBucket extends BucketView permits LoggedBucket, SlotBucket {
  @Override
  default long ttlMillis() {
    return (resetMicros() + 999) / 1_000 + BucketArithmetic.TTL_MARGIN_MILLIS;
  }

  @Override
  default long epoch() {
    return 0;
  }

  @Override
  default long version() {
    return 0;
  }

  @Override
  default long chargedTokens() {
    return 0;
  }
}
