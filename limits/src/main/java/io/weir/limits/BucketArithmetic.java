// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import org.jspecify.annotations.Nullable;

/**
 * The arithmetic of a bucket under one limit. Every implementation of the cache must compute the
 * same results. Methods receive the state of the bucket and return the new state. Times are
 * microseconds since 1970 by the clock of the cache, 1 to 2^53 − 1. Immutable.
 *
 * <p>A bucket's <em>level</em> is its content in units. The level is at most the capacity, and
 * negative if the bucket is in debt. The level is always greater than capacity − 2^53.
 */
public sealed interface BucketArithmetic permits TokenBucket, PeriodBucket, SlidingBucket {
  /**
   * Longest waiting time that methods return: 2^52 µs (142 years). Methods return this value for
   * longer times, too. The current time plus this value is below 2^53 µs.
   */
  long MAX_WAIT_MICROS = 1L << 52;

  /**
   * Time for which the cache keeps a bucket after the bucket is full. The margin covers rounding,
   * and preserves the bucket epoch of a client that calls regularly. An expired bucket counts as
   * full, so the length of the margin does not affect correctness.
   */
  long TTL_MARGIN_MILLIS = 10_000;

  /**
   * The integers that an implementation in another language needs; see {@code bucket.lua}.
   *
   * @param tickMicros length of a tick; for a bucket that never refills, the time at which its
   *     period ends
   * @param unitsPerTick units that a tick adds; 0 for a bucket that never refills
   * @param unitsPerToken units per token
   * @param capacityUnits units of a full bucket
   */
  record Parameters(long tickMicros, long unitsPerTick, long unitsPerToken, long capacityUnits) {}

  /** Returns the integers that an implementation in another language needs. */
  Parameters parameters();

  /** Returns the maximum number of tokens in the bucket. */
  long capacityTokens();

  /** Returns the number of units in a full bucket. */
  long capacityUnits();

  /** Returns the number of units per token. */
  long unitsPerToken();

  /** Returns the content of a refilled bucket in units; negative if the bucket is in debt. */
  long levelUnits(BucketState refilled);

  /**
   * Returns the bucket with the given level, in its current epoch.
   *
   * @param levelUnits more than capacity − 2^53, at most the capacity
   */
  BucketState atLevel(BucketState kept, long levelUnits, long nowEpochMicros);

  /**
   * Returns whether the time of a stored bucket counts as now. A stored time counts as now if it is
   * ahead of the clock by more than the bucket's fill time, because the clock has then stepped
   * back. If the stored time counts as now, even a denial must write the bucket, so that the bucket
   * refills from now on.
   */
  default boolean countsAsNow(@Nullable BucketState kept, long nowEpochMicros) {
    return false;
  }

  /**
   * Returns the stored bucket, refilled up to now. Without a stored state, returns a full bucket
   * without an epoch.
   */
  BucketState refill(@Nullable BucketState kept, long nowEpochMicros);

  /**
   * Takes the cost from the bucket.
   *
   * @param refilled the bucket as returned by {@link #refill} for this time; must have enough
   *     tokens for the cost
   * @throws IllegalArgumentException if the bucket has too few tokens for the cost
   */
  BucketState charge(BucketState refilled, long costTokens, long nowEpochMicros);

  /** Returns the time until a refilled bucket is full if no call takes tokens meanwhile. */
  long resetMicros(BucketState refilled, long nowEpochMicros);

  /**
   * Returns the time until a refilled bucket has enough tokens for the cost. Returns 0 if the
   * bucket has enough tokens now, and −1 if the bucket's capacity is below the cost.
   */
  long retryAfterMicros(BucketState refilled, long costTokens, long nowEpochMicros);

  /** Returns the time in which an empty bucket becomes full; 0 for a bucket that never refills. */
  long fillMicros();

  /**
   * Returns the time until the bucket holds one more token than now; for a bucket in debt, the time
   * until the bucket holds one token. The result is never too short, and at most one tick too long.
   *
   * @param remainingTokens whole tokens in the bucket
   * @param resetMicros time until the bucket is full
   */
  long moreMicros(long remainingTokens, long resetMicros);

  /**
   * Returns the number of units by which the bucket is below its capacity, computed from the
   * records alone. The units that the current tick will add count as missing.
   *
   * @param truth the value that {@link BucketLimit#truth} computed from the records
   * @return units ≥ 0, at most 2^53
   */
  long missingUnits(long truth, long nowEpochMicros);

  /**
   * Returns how many units the refill has added since the bucket was full, computed from the
   * records alone. The result can exceed the capacity.
   *
   * @param truth the value that {@link BucketLimit#truth} computed from the records
   * @return units ≥ 0, at most 2^53
   */
  long refilledUnits(long truth, long nowEpochMicros);

  /**
   * Returns the time in which the bucket gains the given tokens, rounded down to whole ticks; 0 for
   * a bucket that never refills.
   *
   * @param tokens 0 to the capacity
   */
  default long refillMicros(long tokens) {
    Parameters by = parameters();
    if (by.unitsPerTick() == 0) {
      return 0;
    }
    long ticks = tokens * by.unitsPerToken() / by.unitsPerTick();
    return ticks > MAX_WAIT_MICROS / by.tickMicros() ? MAX_WAIT_MICROS : ticks * by.tickMicros();
  }

  /** Returns whether a bucket of this limit can ever have enough tokens for the cost. */
  default boolean canHold(long costTokens) {
    return costTokens <= capacityTokens();
  }

  /** Returns whether a refilled bucket has enough tokens for the cost. */
  default boolean holds(BucketState refilled, long costTokens) {
    return canHold(costTokens) && levelUnits(refilled) >= costTokens * unitsPerToken();
  }

  /** Returns the number of whole tokens in a refilled bucket; 0 if it is in debt. */
  default long remainingTokens(BucketState refilled) {
    return Math.max(0, levelUnits(refilled) / unitsPerToken());
  }

  /**
   * Returns how long the cache must keep a bucket after a write. The result is the time until the
   * bucket is full, rounded up to a millisecond, plus {@link #TTL_MARGIN_MILLIS}.
   */
  default long ttlMillis(BucketState written, long nowEpochMicros) {
    return (resetMicros(written, nowEpochMicros) + 999) / 1_000 + TTL_MARGIN_MILLIS;
  }
}
