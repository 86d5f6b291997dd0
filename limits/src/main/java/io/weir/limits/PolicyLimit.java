// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import org.jspecify.annotations.Nullable;

/**
 * The limit that a policy sets. Each key has one bucket without a period, or one bucket per period.
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

  /** Returns this limit if each period has its own bucket; null if the buckets have no period. */
  default @Nullable PeriodicLimit periodic() {
    return null;
  }

  /**
   * Returns the limit of a bucket.
   *
   * @param period the bucket's period; null if buckets have no period
   */
  BucketLimit ofBucket(PeriodicLimit.@Nullable Span period);

  /**
   * Returns true if the other limit admits every call that this limit admits; false otherwise, or
   * if the limits cannot be compared.
   */
  boolean isNoWiderThan(PolicyLimit other);

  /** Returns a description for display. */
  String describe();

  /** Returns whether the start of a period depends on a time zone or a billing anchor. */
  default boolean followsCalendar() {
    return false;
  }

  /** Returns whether admitted calls receive a delay. */
  default boolean isQueue() {
    return false;
  }

  /** Returns whether the limit is a number of concurrent calls, which hold slots. */
  default boolean limitsConcurrency() {
    return false;
  }

  /**
   * Returns the key of a bucket that is not recorded; keys of different kinds of buckets differ.
   */
  default String keyOf(String cacheOnlyText) {
    return cacheOnlyText;
  }

  /** Returns whether charges of the limit's buckets can be recorded. */
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
