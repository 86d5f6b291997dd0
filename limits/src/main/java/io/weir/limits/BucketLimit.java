// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import io.weir.limits.LimitAlgorithm.MemberSink;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The capacity and the refill of one bucket. All differences between the algorithms are declared
 * here and in {@link BucketArithmetic}. A new algorithm therefore does not compile until it
 * implements all of them. Immutable.
 */
public sealed interface BucketLimit permits TokenBucketLimit, PeriodLimit, CacheOnlyLimit {
  /** Returns the most tokens that the bucket holds; 0 to 2^53 − 1. */
  long capacityTokens();

  /** Returns whether an untouched bucket holds a cost. */
  default boolean canHold(long costTokens) {
    return costTokens <= capacityTokens();
  }

  /** Returns the algorithm. */
  LimitAlgorithm algorithm();

  /** Returns the arithmetic of a single bucket of this limit. */
  BucketArithmetic arithmetic();

  /**
   * Returns the view of a bucket for a decision now. It includes the contributions of other buckets
   * if the bucket does not decide alone.
   *
   * @param bucket the bucket's key
   * @param kept the stored buckets of the cache
   */
  default BucketView view(String bucket, KeptBuckets kept, long nowEpochMicros) {
    BucketArithmetic arithmetic = arithmetic();
    return new CountedBucket(
        arithmetic, arithmetic.refill(kept.state(bucket), nowEpochMicros), nowEpochMicros);
  }

  /**
   * Returns the window of a bucket without a period: the time from empty to full.
   *
   * @param arithmetic the arithmetic of this limit
   */
  default long windowMicros(BucketArithmetic arithmetic) {
    return arithmetic.fillMicros();
  }

  /**
   * Returns the keys of the other buckets that a decision depends on, in the order of their
   * periods; empty if the bucket decides alone.
   */
  default List<String> otherBuckets(String bucket) {
    return List.of();
  }

  /**
   * Returns the number of keys that a cache reads to decide by a bucket: its own key and those of
   * the other buckets.
   */
  default int keys() {
    return 1;
  }

  /** Returns whether the content of a bucket alone determines whether it holds a cost. */
  default boolean decidesAlone() {
    return true;
  }

  /** Returns the limit of a single bucket, without the contributions of other buckets. */
  default BucketLimit alone() {
    return this;
  }

  /**
   * Returns the rate at which the bucket gains tokens during its lifetime; null if it gains none.
   * The content of a bucket that gains tokens is derived from the time at which it is full. The
   * content of any other bucket is derived from the sum of the tokens used.
   */
  @Nullable Refill refill();

  /** Returns whether the bucket gains tokens during its lifetime. */
  default boolean refills() {
    return refill() != null;
  }

  /**
   * Returns the share of one node when several nodes share the traffic.
   *
   * @param nodes how many nodes share the limit, ≥ 1
   */
  BucketLimit shareOf(int nodes);

  /**
   * Returns when a bucket will be full if nothing more is taken, as records state it: in
   * microseconds since 1970 by the cache's clock.
   *
   * @param byRefillMicros when the refill makes the bucket full; a bucket without a refill is full
   *     again when its period ends
   */
  long fullAtMicros(long byRefillMicros);

  /**
   * Returns the whole tokens in a bucket; negative if the bucket is in debt.
   *
   * @param fullAtEpochMicros when the bucket will be full if nothing more is taken
   * @param usedTokens sum of the tokens taken from the bucket
   * @param nowEpochMicros the approximate current time
   */
  long levelTokens(long fullAtEpochMicros, long usedTokens, long nowEpochMicros);

  /**
   * Returns the number by which records state how full a bucket should be: the time at which it is
   * full if it refills, otherwise the tokens used.
   */
  default long truth(long fullAtEpochMicros, long usedTokens) {
    return refills() ? fullAtEpochMicros : usedTokens;
  }

  /**
   * Returns whether the bucket's period has ended by the given time; false for a bucket without a
   * period.
   */
  boolean isOverAt(long epochMicros);

  /**
   * Writes the members from which {@link LimitAlgorithm#read} reconstructs this limit, {@code
   * capacity} first.
   *
   * @param <E> the exception that the sink may throw
   */
  <E extends Exception> void writeTo(MemberSink<E> sink) throws E;
}
