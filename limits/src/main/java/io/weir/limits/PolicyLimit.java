// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import org.jspecify.annotations.Nullable;

/**
 * The limit that a policy sets: on one bucket without a period, or on one bucket per period.
 * Immutable.
 */
public sealed interface PolicyLimit
    permits TokenBucketLimit, LeakyBucket, CacheOnlyLimit, PeriodicLimit {
  /** Returns the tokens of a full bucket, or of a whole period; 0 denies every call. */
  long capacityTokens();

  /** Returns whether a bucket gains tokens during its lifetime. */
  boolean refills();

  /**
   * Returns the limit of the buckets if they have no period; null if each period has its own
   * bucket.
   */
  @Nullable BucketLimit lasting();

  /**
   * Returns the limit of a bucket.
   *
   * @param period the bucket's period; null if buckets have no period
   */
  BucketLimit ofBucket(PeriodicLimit.@Nullable Span period);

  /**
   * Returns true only if the other limit would admit every call that this one admits. False if that
   * cannot be determined.
   */
  boolean isNoWiderThan(PolicyLimit other);

  /** Returns a description for display. */
  String describe();

  /** Returns whether charges of its buckets can be recorded. */
  default boolean isRecordable() {
    return true;
  }

  /**
   * Returns the limit that is counted in its place: the mirror of a leaky bucket, otherwise this
   * limit.
   */
  default PolicyLimit counted() {
    return this;
  }
}
