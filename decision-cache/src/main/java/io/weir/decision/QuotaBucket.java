// SPDX-License-Identifier: Apache-2.0
package io.weir.decision;

import io.weir.topics.model.QuotaLimit;
import org.jspecify.annotations.Nullable;

/**
 * The arithmetic of one period of a quota: a bucket that begins full, never refills, and ends with
 * its period. What is kept is how much was used, so a capacity that changes while the period runs
 * counts from its beginning: of 100 tokens 70 were used; with 120 now 50 are left, with 60 none,
 * and 10 are owed.
 *
 * <p>A period that is over by the cache's clock, asked by a node whose clock lags, goes on as it
 * was: waiting times are 1 µs then, and what is written is kept for the margin.
 */
final class QuotaBucket implements BucketArithmetic {
  private final long capacityTokens;
  private final long endsAtEpochMicros;

  QuotaBucket(QuotaLimit limit) {
    this.capacityTokens = limit.capacityTokens();
    this.endsAtEpochMicros = limit.endsAtEpochMicros();
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
    if (kept == null || !kept.isOfQuota()) {
      return atLevel(BucketState.NONE, capacityTokens, nowEpochMicros);
    }
    return kept.withContent(Math.min(kept.units(), 0), 0, kept.lastEpochMicros());
  }

  @Override
  public BucketState charge(BucketState refilled, long costTokens, long nowEpochMicros) {
    if (!holds(refilled, costTokens)) {
      throw new IllegalArgumentException(
          "the quota does not hold the cost " + costTokens + ": " + refilled);
    }
    return refilled.charged(
        refilled.units() - costTokens, refilled.lastEpochMicros(), costTokens, nowEpochMicros);
  }

  /** Time until the period ends, whatever is left of the quota; 1 µs when it is over. */
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
