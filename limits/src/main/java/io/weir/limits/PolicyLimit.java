// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import org.jspecify.annotations.Nullable;

/**
 * The limit that a policy sets. A key has one bucket without a period, or one bucket per period.
 * Immutable.
 */
public sealed interface PolicyLimit
    permits TokenBucketLimit, LeakyBucket, CacheOnlyLimit, PeriodicLimit {
  /** Returns the number of tokens in a full bucket, or per period; 0 denies every call. */
  long capacityTokens();

  /** Returns whether a bucket gains tokens. */
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
   * Returns true if the other limit admits every call that this limit admits; false if it does not,
   * or if the limits cannot be compared.
   */
  boolean isNoWiderThan(PolicyLimit other);

  /** Returns a description for display. */
  String describe();

  /** Returns whether charges of its buckets can be recorded. */
  default boolean isRecordable() {
    return true;
  }

  /**
   * Returns the limit that the cache and the records use: the mirror of a leaky bucket, otherwise
   * this limit.
   */
  default PolicyLimit counted() {
    return this;
  }
}
