// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import io.weir.limits.LimitAlgorithm.MemberSink;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The capacity and the refill of one bucket. This interface and {@link BucketArithmetic} declare
 * all differences between the algorithms. A new algorithm therefore does not compile until it
 * implements all methods of both interfaces. Immutable.
 */
public sealed interface BucketLimit permits TokenBucketLimit, PeriodLimit, CacheOnlyLimit {
  /** Returns the maximum number of tokens in the bucket; 0 to 2^53 − 1. */
  long capacityTokens();

  /** Returns whether a full bucket has enough tokens for the cost. */
  default boolean canHold(long costTokens) {
    return costTokens <= capacityTokens();
  }

  /** Returns the algorithm. */
  LimitAlgorithm algorithm();

  /** Returns the arithmetic of one bucket under this limit. */
  BucketArithmetic arithmetic();

  /**
   * Returns the bucket in the form in which a decision evaluates it. If the decision also depends
   * on other buckets, the view includes their tokens.
   *
   * @param bucket the bucket's key
   * @param kept the buckets that the cache stores
   */
  default BucketView view(String bucket, KeptBuckets kept, long nowEpochMicros) {
    BucketArithmetic arithmetic = arithmetic();
    return new CountedBucket(
        arithmetic, arithmetic.refill(kept.state(bucket), nowEpochMicros), nowEpochMicros);
  }

  /**
   * Returns the length of a bucket's window. For a bucket that refills, the length is the time in
   * which an empty bucket becomes full.
   *
   * @param period the bucket's period; null if the bucket has no period
   */
  default long windowMicros(PeriodicLimit.@Nullable Span period) {
    return arithmetic().fillMicros();
  }

  /**
   * Returns how long a call holds a slot of the bucket without a renewal; 0 if the bucket has no
   * slots.
   */
  default long leaseMicros() {
    return 0;
  }

  /** Returns whether a call takes one of the bucket's slots instead of tokens. */
  default boolean hasSlots() {
    return leaseMicros() > 0;
  }

  /**
   * Returns the keys of the other buckets on which a decision depends, in the order of their
   * periods. The list is empty if a decision depends on this bucket alone.
   */
  default List<String> otherBuckets(String bucket) {
    return List.of();
  }

  /**
   * Returns the number of keys that the cache reads for a decision: the bucket's key and the keys
   * of the other buckets.
   */
  default int keys() {
    return 1;
  }

  /**
   * Returns the number by which {@code take_tokens.lua} distinguishes the kinds of limits. Returns
   * 0 for limits that need only their {@link BucketArithmetic#parameters}. For a sliding window,
   * the result is the number of sub-windows; every other kind has a fixed number.
   */
  default int scriptKind() {
    return 0;
  }

  /**
   * Returns the integers that {@code take_tokens.lua} reads after the integers of the arithmetic.
   */
  default long[] scriptNumbers() {
    return new long[0];
  }

  /** Returns whether a decision depends on the content of one bucket alone. */
  default boolean decidesAlone() {
    return true;
  }

  /** Returns a limit for this bucket alone, even if a decision also depends on other buckets. */
  default BucketLimit alone() {
    return this;
  }

  /**
   * Returns the rate at which the bucket gains tokens; null if the bucket never gains tokens.
   * Records state when a bucket that gains tokens will be full. For a bucket that never gains
   * tokens, records state the number of tokens used.
   */
  @Nullable Refill refill();

  /** Returns whether the bucket gains tokens. */
  default boolean refills() {
    return refill() != null;
  }

  /**
   * Returns the limit of one node if several nodes share this limit.
   *
   * @param nodes number of nodes that share the limit, ≥ 1
   */
  BucketLimit shareOf(int nodes);

  /**
   * Returns when a bucket will be full if no call takes more tokens, in microseconds since 1970 by
   * the cache's clock. Records state this time as {@code full_at_us}.
   *
   * @param byRefillMicros when the refill makes the bucket full; ignored for a bucket with a
   *     period, which is full again when the period ends
   */
  long fullAtMicros(long byRefillMicros);

  /**
   * Returns the number of whole tokens in a bucket; negative if the bucket is in debt.
   *
   * @param fullAtEpochMicros when the bucket will be full if no call takes more tokens
   * @param usedTokens sum of the tokens taken from the bucket
   * @param nowEpochMicros the approximate current time
   */
  long levelTokens(long fullAtEpochMicros, long usedTokens, long nowEpochMicros);

  /**
   * Returns the number that determines how full a bucket should be according to the records. For a
   * bucket that refills, the result is the time at which the bucket is full; for a bucket that
   * never refills, the number of tokens used.
   */
  default long truth(long fullAtEpochMicros, long usedTokens) {
    return refills() ? fullAtEpochMicros : usedTokens;
  }

  /**
   * Returns whether the bucket's period has ended at the given time; false for a bucket without a
   * period.
   */
  boolean isOverAt(long epochMicros);

  /**
   * Writes the members of this limit, {@code capacity} first. {@link LimitAlgorithm#read} reads the
   * members.
   *
   * @param <E> the exception that the sink may throw
   */
  <E extends Exception> void writeTo(MemberSink<E> sink) throws E;
}
