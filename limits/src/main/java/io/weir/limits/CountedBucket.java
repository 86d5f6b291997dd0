// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

/**
 * A bucket whose content is a counter, at the time of a decision. Immutable.
 *
 * @param arithmetic the arithmetic of the bucket's limit
 * @param state the bucket's state, refilled up to now
 * @param nowEpochMicros time by the cache's clock
 */
public record CountedBucket(BucketArithmetic arithmetic, BucketState state, long nowEpochMicros)
    implements BucketView {
  @Override
  public boolean canHold(long costTokens) {
    return arithmetic.canHold(costTokens);
  }

  @Override
  public boolean holds(long costTokens) {
    return arithmetic.holds(state, costTokens);
  }

  @Override
  public double levelTokens() {
    return (double) arithmetic.levelUnits(state) / arithmetic.unitsPerToken();
  }

  @Override
  public long remainingTokens() {
    return arithmetic.remainingTokens(state);
  }

  @Override
  public long resetMicros() {
    return arithmetic.resetMicros(state, nowEpochMicros);
  }

  @Override
  public long retryAfterMicros(long costTokens) {
    return arithmetic.retryAfterMicros(state, costTokens, nowEpochMicros);
  }

  @Override
  public CountedBucket charged(long costTokens) {
    return new CountedBucket(
        arithmetic, arithmetic.charge(state, costTokens, nowEpochMicros), nowEpochMicros);
  }

  @Override
  public long ttlMillis() {
    return arithmetic.ttlMillis(state, nowEpochMicros);
  }

  @Override
  public long epoch() {
    return state.epoch();
  }

  @Override
  public long version() {
    return state.versionOfThisEpoch();
  }

  @Override
  public long chargedTokens() {
    return state.chargedTokens();
  }
}
