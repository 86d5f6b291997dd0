// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import io.weir.limits.LimitAlgorithm.MemberSink;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How much one bucket holds and how it refills. Everything in which the algorithms differ is
 * declared here and in {@link BucketArithmetic}, and nowhere else: a new algorithm does not compile
 * until it implements all of it. Immutable.
 */
public sealed interface BucketLimit permits TokenBucketLimit, PeriodLimit, CacheOnlyLimit {
  /** Returns the most tokens that the bucket holds; 0 to 2^53 − 1. */
  long capacityTokens();

  /** Returns whether a bucket that nothing was taken of holds a cost. */
  default boolean canHold(long costTokens) {
    return costTokens <= capacityTokens();
  }

  /** Returns the algorithm. */
  LimitAlgorithm algorithm();

  /** Returns the arithmetic of the buckets of this limit, each by itself. */
  BucketArithmetic arithmetic();

  /**
   * Returns a bucket as a decision finds it now: with what other buckets contribute, if it does not
   * decide alone.
   *
   * @param bucket the bucket's key
   * @param kept what the cache keeps
   */
  default BucketView view(String bucket, KeptBuckets kept, long nowEpochMicros) {
    BucketArithmetic arithmetic = arithmetic();
    return new CountedBucket(
        arithmetic, arithmetic.refill(kept.state(bucket), nowEpochMicros), nowEpochMicros);
  }

  /**
   * Returns the length of the window that a bucket without a period is for: the time from empty to
   * full.
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

  /** Returns how many keys a cache reads to decide by a bucket: its own and those of others. */
  default int keys() {
    return 1;
  }

  /** Returns whether the content of a bucket alone says whether it holds a cost. */
  default boolean decidesAlone() {
    return true;
  }

  /** Returns the limit of a bucket by itself, without what other buckets contribute. */
  default BucketLimit alone() {
    return this;
  }

  /**
   * Returns how the bucket gains tokens during its lifetime; null if it gains none. A bucket that
   * gains tokens is judged by the time at which it is full, any other bucket by the sum of the
   * tokens used.
   */
  @Nullable Refill refill();

  /** Returns whether the bucket gains tokens during its lifetime. */
  default boolean refills() {
    return refill() != null;
  }

  /**
   * Returns one node's share of the limit when several nodes share the traffic.
   *
   * @param nodes how many nodes share the limit, ≥ 1
   */
  BucketLimit shareOf(int nodes);

  /**
   * Returns when a bucket will be full if nothing more is taken, as records state it: in
   * microseconds since 1970 by the cache's clock.
   *
   * @param byRefillMicros when the bucket will be full by its refill; a bucket that gains nothing
   *     is full again when its period ends
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
   * Returns the one number by which records state how full a bucket should be: the time at which it
   * is full if it refills, otherwise the tokens used.
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
