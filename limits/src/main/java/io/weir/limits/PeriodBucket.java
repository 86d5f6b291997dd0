// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import org.jspecify.annotations.Nullable;

/**
 * The arithmetic of one period of a quota or of one window. The bucket begins full, never refills,
 * and ends with its period. The state of the bucket is the number of tokens used. If the capacity
 * changes during the period, the new capacity therefore applies to the whole period. Example: 70 of
 * 100 tokens are used. If the capacity becomes 120, 50 tokens are left. If the capacity becomes 60,
 * the bucket has a debt of 10 tokens.
 *
 * <p>A node whose clock is behind can request a period that has ended by the cache's clock. The
 * bucket of the ended period then still decides. The waiting times of an ended period are 1 µs, and
 * the cache keeps the state for {@link #TTL_MARGIN_MILLIS}. Immutable.
 */
final class PeriodBucket implements BucketArithmetic {
  private final long capacityTokens;
  private final long endsAtEpochMicros;

  PeriodBucket(long capacityTokens, long endsAtEpochMicros) {
    this.capacityTokens = capacityTokens;
    this.endsAtEpochMicros = endsAtEpochMicros;
  }

  /** Returns parameters with 0 units per tick, which means that the bucket never refills. */
  @Override
  public Parameters parameters() {
    return new Parameters(endsAtEpochMicros, 0, 1, capacityTokens);
  }

  @Override
  public long fillMicros() {
    return 0;
  }

  @Override
  public long moreMicros(long remainingTokens, long resetMicros) {
    return resetMicros;
  }

  @Override
  public long missingUnits(long usedTokens, long nowEpochMicros) {
    return usedTokens;
  }

  @Override
  public long refilledUnits(long usedTokens, long nowEpochMicros) {
    return 0;
  }

  @Override
  public long capacityTokens() {
    return capacityTokens;
  }

  @Override
  public long capacityUnits() {
    return capacityTokens;
  }

  @Override
  public long unitsPerToken() {
    return 1;
  }

  @Override
  public long levelUnits(BucketState refilled) {
    return capacityTokens + refilled.units();
  }

  @Override
  public BucketState atLevel(BucketState kept, long levelUnits, long nowEpochMicros) {
    return kept.withContent(levelUnits - capacityTokens, 0, nowEpochMicros);
  }

  @Override
  public BucketState refill(@Nullable BucketState kept, long nowEpochMicros) {
    if (kept == null || !kept.isOfPeriod()) {
      return atLevel(BucketState.NONE, capacityTokens, nowEpochMicros);
    }
    return kept.withContent(Math.min(kept.units(), 0), 0, kept.lastEpochMicros());
  }

  @Override
  public BucketState charge(BucketState refilled, long costTokens, long nowEpochMicros) {
    if (!holds(refilled, costTokens)) {
      throw new IllegalArgumentException(
          "the bucket has too few tokens for the cost " + costTokens + ": " + refilled);
    }
    return refilled.charged(
        refilled.units() - costTokens, refilled.lastEpochMicros(), costTokens, nowEpochMicros);
  }

  /** Returns the time until the period ends, whatever the content; 1 µs if the period has ended. */
  @Override
  public long resetMicros(BucketState refilled, long nowEpochMicros) {
    return Math.min(MAX_WAIT_MICROS, Math.max(1, endsAtEpochMicros - nowEpochMicros));
  }

  @Override
  public long retryAfterMicros(BucketState refilled, long costTokens, long nowEpochMicros) {
    if (!canHold(costTokens)) {
      return -1;
    }
    return holds(refilled, costTokens) ? 0 : resetMicros(refilled, nowEpochMicros);
  }
}
