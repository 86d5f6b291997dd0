// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import org.jspecify.annotations.Nullable;

/**
 * The arithmetic of a bucket under one limit: the reference that every implementation of the cache
 * follows. Immutable; the state is an argument and a result. Times are microseconds since 1970 by
 * the clock of the cache, 1 to 2^53 − 1.
 *
 * <p>A bucket's <em>level</em> is its content in units: at most the capacity, and negative when the
 * bucket is in debt. The level is always less than 2^53 units below the capacity.
 */
public sealed interface BucketArithmetic permits TokenBucket, PeriodBucket, SlidingBucket {
  /**
   * The longest time that is reported, 2^52 µs (142 years). Added to a present-day time it stays
   * below 2^53. Longer times are reported as this value.
   */
  long MAX_WAIT_MICROS = 1L << 52;

  /**
   * How long a bucket is kept beyond its time to full. Covers rounding, and keeps the epoch of a
   * client that calls regularly. A bucket that has expired is full, so the length of the margin
   * does not affect correctness.
   */
  long TTL_MARGIN_MILLIS = 10_000;

  /**
   * The integers for a store that implements this arithmetic in its own language; see {@code
   * bucket.lua}.
   *
   * @param tickMicros length of a tick; for a bucket that never refills, the time at which its
   *     period ends
   * @param unitsPerTick units that a tick adds; 0 for a bucket that never refills
   * @param unitsPerToken units per token
   * @param capacityUnits units of a full bucket
   */
  record Parameters(long tickMicros, long unitsPerTick, long unitsPerToken, long capacityUnits) {}

  /** Returns the integers for a store that implements this arithmetic. */
  Parameters parameters();

  /** Returns the most tokens that the bucket holds. */
  long capacityTokens();

  /** Returns the units of a full bucket. */
  long capacityUnits();

  /** Returns the units per token. */
  long unitsPerToken();

  /** Returns the content of a refilled bucket in units; negative if the bucket is in debt. */
  long levelUnits(BucketState refilled);

  /**
   * Returns the bucket in its current epoch with the given level.
   *
   * @param levelUnits more than capacity − 2^53, at most the capacity
   */
  BucketState atLevel(BucketState kept, long levelUnits, long nowEpochMicros);

  /**
   * Returns whether the time of a stored bucket counts as now. It does if it is ahead of the clock
   * by more than the bucket's fill time: the clock has stepped back since the bucket was written.
   * The bucket must then be written, even by a denial, so that refill accrues from now.
   */
  default boolean countsAsNow(@Nullable BucketState kept, long nowEpochMicros) {
    return false;
  }

  /** Returns the bucket as of now; a full bucket without an epoch if no state is stored. */
  BucketState refill(@Nullable BucketState kept, long nowEpochMicros);

  /**
   * Takes the cost from the bucket.
   *
   * @param refilled the bucket as returned by {@link #refill} for this time; must hold the cost
   * @throws IllegalArgumentException if the bucket does not hold the cost
   */
  BucketState charge(BucketState refilled, long costTokens, long nowEpochMicros);

  /** Returns the time until a refilled bucket is full if nothing is taken meanwhile. */
  long resetMicros(BucketState refilled, long nowEpochMicros);

  /**
   * Returns the time until a refilled bucket holds the cost: 0 if it does now, −1 if it never can.
   */
  long retryAfterMicros(BucketState refilled, long costTokens, long nowEpochMicros);

  /** Returns the time from empty to full; 0 for a bucket that never refills. */
  long fillMicros();

  /**
   * Returns the time until the bucket holds one more token than now, or one token if it is in debt.
   * The result is never too short, and exact to a tick.
   *
   * @param remainingTokens whole tokens in the bucket
   * @param resetMicros time until the bucket is full
   */
  long moreMicros(long remainingTokens, long resetMicros);

  /**
   * Returns the units that are missing from a full bucket according to the records alone. The
   * current tick counts as missing.
   *
   * @param truth the value that {@link BucketLimit#truth} computed from the records
   * @return units ≥ 0, at most 2^53
   */
  long missingUnits(long truth, long nowEpochMicros);

  /**
   * Returns the units that a bucket would have gained since it was full according to the records,
   * if it had room for them.
   *
   * @param truth the value that {@link BucketLimit#truth} computed from the records
   * @return units ≥ 0, at most 2^53
   */
  long refilledUnits(long truth, long nowEpochMicros);

  /**
   * Returns a time in which the bucket gains at most the given tokens, in whole ticks; 0 for a
   * bucket that never refills.
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

  /** Returns whether a bucket of this limit can ever hold the cost. */
  default boolean canHold(long costTokens) {
    return costTokens <= capacityTokens();
  }

  /** Returns whether a refilled bucket holds the cost. */
  default boolean holds(BucketState refilled, long costTokens) {
    return canHold(costTokens) && levelUnits(refilled) >= costTokens * unitsPerToken();
  }

  /** Returns the whole tokens in a refilled bucket; 0 if it is in debt. */
  default long remainingTokens(BucketState refilled) {
    return Math.max(0, levelUnits(refilled) / unitsPerToken());
  }

  /**
   * Returns how long a cache must keep a bucket it has written: the time to full, rounded up to a
   * millisecond, plus the margin.
   */
  default long ttlMillis(BucketState written, long nowEpochMicros) {
    return (resetMicros(written, nowEpochMicros) + 999) / 1_000 + TTL_MARGIN_MILLIS;
  }
}
