// SPDX-License-Identifier: Apache-2.0
package io.weir.decision;

import io.weir.topics.model.BucketLimit;
import io.weir.topics.model.QuotaLimit;
import io.weir.topics.model.TokenBucketLimit;
import org.jspecify.annotations.Nullable;

/**
 * The arithmetic of a bucket with one limit: the reference that every cache answers to. Immutable;
 * the state comes in and goes out. Times are microseconds since 1970 by the clock of the cache, 1
 * to 2^53 − 1.
 *
 * <p>A bucket's <em>level</em> is its content in units: at most the capacity, below zero when it is
 * in debt. Less than 2^53 units are ever missing to the capacity.
 */
public sealed interface BucketArithmetic permits TokenBucket, QuotaBucket {
  /**
   * Longest time that is reported, 2^52 µs (142 years): added to a time of our days it stays below
   * 2^53. What takes longer is reported as this.
   */
  long MAX_WAIT_MICROS = 1L << 52;

  /**
   * How much longer than its time to full a bucket is kept. Covers rounding and lets the epoch of a
   * client that keeps calling live on; a bucket that is gone is full, so the length is no matter of
   * correctness.
   */
  long TTL_MARGIN_MILLIS = 10_000;

  /** The arithmetic of a limit. */
  static BucketArithmetic of(BucketLimit limit) {
    return limit instanceof QuotaLimit quota
        ? new QuotaBucket(quota)
        : TokenBucket.of((TokenBucketLimit) limit);
  }

  /** Most tokens the bucket holds. */
  long capacityTokens();

  /** Units of a full bucket. */
  long capacityUnits();

  /** Units a token is worth. */
  long unitsPerToken();

  /** Content of a refilled bucket in units; negative when it is in debt. */
  long levelUnits(BucketState refilled);

  /**
   * A bucket, in the life it is in, at a level that is known.
   *
   * @param levelUnits more than capacity − 2^53, at most the capacity
   */
  BucketState atLevel(BucketState kept, long levelUnits, long nowEpochMicros);

  /** The bucket as it stands now; full and without an epoch when nothing is kept. */
  BucketState refill(@Nullable BucketState kept, long nowEpochMicros);

  /**
   * Takes the cost.
   *
   * @param refilled the bucket as {@link #refill} gave it for this time; must hold the cost
   */
  BucketState charge(BucketState refilled, long costTokens, long nowEpochMicros);

  /** Time until a refilled bucket is full if nothing is taken meanwhile. */
  long resetMicros(BucketState refilled, long nowEpochMicros);

  /** Time until a refilled bucket holds the cost: 0 when it does, −1 when it never can. */
  long retryAfterMicros(BucketState refilled, long costTokens, long nowEpochMicros);

  /** Whether a bucket of this limit can ever hold the cost. */
  default boolean canHold(long costTokens) {
    return costTokens <= capacityTokens();
  }

  /** Whether a refilled bucket holds the cost. */
  default boolean holds(BucketState refilled, long costTokens) {
    return canHold(costTokens) && levelUnits(refilled) >= costTokens * unitsPerToken();
  }

  /** Whole tokens in a refilled bucket; 0 when it is in debt. */
  default long remainingTokens(BucketState refilled) {
    return Math.max(0, levelUnits(refilled) / unitsPerToken());
  }

  /** How long a cache must keep a bucket it has written: time to full and a margin, rounded up. */
  default long ttlMillis(BucketState written, long nowEpochMicros) {
    return (resetMicros(written, nowEpochMicros) + 999) / 1_000 + TTL_MARGIN_MILLIS;
  }
}
