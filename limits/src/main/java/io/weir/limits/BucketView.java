// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

/** A bucket at the moment of a decision. Immutable. */
public sealed interface BucketView permits CountedBucket, CacheOnlyBucket {
  /** Returns whether the bucket could ever hold the cost. */
  boolean canHold(long costTokens);

  /** Returns whether the bucket holds the cost. */
  boolean holds(long costTokens);

  /**
   * Returns the tokens in the bucket, including the fraction of a token; negative if it is in debt.
   */
  double levelTokens();

  /** Returns the whole tokens in the bucket; 0 if it is in debt. */
  long remainingTokens();

  /** Returns the time until the bucket is full if nothing is taken meanwhile. */
  long resetMicros();

  /** Returns the time until the bucket holds the cost: 0 if it does now, −1 if it never can. */
  long retryAfterMicros(long costTokens);

  /**
   * Returns the bucket after the cost was taken.
   *
   * @throws IllegalArgumentException if the bucket does not hold the cost
   */
  BucketView charged(long costTokens);

  /** Returns how long a cache must keep the bucket. */
  long ttlMillis();

  /** Returns the bucket's epoch; 0 if it was never charged or has no epoch. */
  long epoch();

  /** Returns the version of the last correction of this epoch; 0 if there was none. */
  long version();

  /** Returns the tokens taken in this epoch. */
  long chargedTokens();
}
