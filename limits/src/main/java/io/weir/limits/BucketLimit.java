// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import io.weir.limits.LimitAlgorithm.MemberSink;
import org.jspecify.annotations.Nullable;

/**
 * How much one bucket holds and how it fills again. What differs from one algorithm to another is
 * said here and in {@link BucketArithmetic}, and nowhere else: a new algorithm does not compile
 * until it has answered all of it. Immutable.
 */
public sealed interface BucketLimit permits TokenBucketLimit, PeriodLimit {
  /** Most tokens the bucket holds; 0 to 2^53 − 1. */
  long capacityTokens();

  /** The algorithm. */
  LimitAlgorithm algorithm();

  /** The arithmetic of its buckets. */
  BucketArithmetic arithmetic();

  /**
   * How the bucket gains tokens while it lives; null when it gains none. A bucket that gains tokens
   * is judged by the time at which it is full, another one by the sum of what was used.
   */
  @Nullable Refill refill();

  /** Whether what was used comes back while the bucket lives. */
  default boolean refills() {
    return refill() != null;
  }

  /**
   * One node's part of the limit when several share the traffic.
   *
   * @param nodes how many share it, ≥ 1
   */
  BucketLimit shareOf(int nodes);

  /**
   * When a bucket will be full if nothing more is taken, as records state it: in microseconds since
   * 1970 by the cache's clock.
   *
   * @param byRefillMicros when it is by its refill; a bucket that gains nothing is full again when
   *     its period ends
   */
  long fullAtMicros(long byRefillMicros);

  /**
   * Whole tokens in a bucket, negative when it owes.
   *
   * @param fullAtEpochMicros when it will be full if nothing more is taken
   * @param usedTokens Σ tokens taken from it
   * @param nowEpochMicros about when
   */
  long levelTokens(long fullAtEpochMicros, long usedTokens, long nowEpochMicros);

  /**
   * The one number in which records state how full a bucket should be: the time at which it is full
   * when it refills, else the tokens that were used.
   */
  default long truth(long fullAtEpochMicros, long usedTokens) {
    return refills() ? fullAtEpochMicros : usedTokens;
  }

  /** Whether the bucket's period has ended by then; never for one that has none. */
  boolean isOverAt(long epochMicros);

  /**
   * Writes the members that {@link LimitAlgorithm#read} makes the same limit of, {@code capacity}
   * first.
   *
   * @param <E> what the sink throws
   */
  <E extends Exception> void writeTo(MemberSink<E> sink) throws E;
}
