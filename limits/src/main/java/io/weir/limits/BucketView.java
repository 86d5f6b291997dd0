// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

/** A bucket at the time of a decision. Immutable. */
public sealed interface BucketView permits CountedBucket, CacheOnlyBucket {
  /** Returns whether the bucket can ever have enough tokens for the cost. */
  boolean canHold(long costTokens);

  /** Returns whether the bucket has enough tokens for the cost. */
  boolean holds(long costTokens);

  /**
   * Returns the number of tokens in the bucket, with the fraction; negative if the bucket is in
   * debt.
   */
  double levelTokens();

  /** Returns the number of whole tokens in the bucket; 0 if the bucket is in debt. */
  long remainingTokens();

  /** Returns the time until the bucket is full if no call takes tokens meanwhile. */
  long resetMicros();

  /**
   * Returns the time until the bucket has enough tokens for the cost. Returns 0 if the bucket has
   * enough tokens now, and −1 if the bucket's capacity is below the cost.
   */
  long retryAfterMicros(long costTokens);

  /**
   * Returns the bucket after a call has taken the cost.
   *
   * @throws IllegalArgumentException if the bucket has too few tokens for the cost
   */
  BucketView charged(long costTokens);

  /** Returns how long the cache must keep the bucket. */
  long ttlMillis();

  /** Returns the bucket epoch; 0 if the bucket was never charged, or exists only in the cache. */
  long epoch();

  /** Returns the version of the last correction of this epoch; 0 without a correction. */
  long version();

  /** Returns the number of tokens taken in this epoch. */
  long chargedTokens();
}
