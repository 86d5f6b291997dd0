// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import org.jspecify.annotations.Nullable;

/**
 * The arithmetic of a bucket with one limit: the reference that every cache answers to. Immutable;
 * the state comes in and goes out. Times are microseconds since 1970 by the clock of the cache, 1
 * to 2^53 − 1.
 *
 * <p>A bucket's <em>level</em> is its content in units: at most the capacity, below zero when it is
 * in debt. Less than 2^53 units are ever missing to the capacity.
 */
public sealed interface BucketArithmetic permits TokenBucket, PeriodBucket {
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

  /**
   * The integers that a store computes by which has this arithmetic in its own language; see {@code
   * bucket.lua}.
   *
   * @param tickMicros length of a tick; for a bucket that never refills, when its period ends
   * @param unitsPerTick units that a tick adds; 0 for a bucket that never refills
   * @param unitsPerToken units a token is worth
   * @param capacityUnits units of a full bucket
   */
  record Parameters(long tickMicros, long unitsPerTick, long unitsPerToken, long capacityUnits) {}

  /** The integers that a store computes by. */
  Parameters parameters();

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

  /** Time from empty to full; 0 for a bucket that never refills. */
  long fillMicros();

  /**
   * Time until a bucket holds a token more than it does, or one when it is in debt: never too
   * early, and exact to a tick.
   *
   * @param remainingTokens whole tokens that it holds
   * @param resetMicros time until it is full
   */
  long moreMicros(long remainingTokens, long resetMicros);

  /**
   * What a bucket lacks of its capacity by the records alone; a tick that has begun is lacking.
   *
   * @param truth what {@link BucketLimit#truth} made of the records
   * @return units ≥ 0, at most 2^53
   */
  long missingUnits(long truth, long nowEpochMicros);

  /**
   * What a bucket that was full by the records alone would have gained since, if it could hold it.
   *
   * @param truth what {@link BucketLimit#truth} made of the records
   * @return units ≥ 0, at most 2^53
   */
  long refilledUnits(long truth, long nowEpochMicros);

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
