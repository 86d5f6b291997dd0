// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import io.weir.limits.TokenBucketLimit.Scale;
import org.jspecify.annotations.Nullable;

/**
 * The arithmetic of a token bucket under one limit. Immutable.
 *
 * <p>Example: a bucket of capacity 10 gains one token per 100 ms and holds 4 tokens. A call of cost
 * 6 is denied and may retry after 200 ms. A retry after 199.999 ms is denied; a retry after 200 ms
 * is allowed.
 *
 * <p>Bound: in any interval T of the cache's clock, calls take at most capacity + rate × T tokens.
 * The bound is exact for every limit, unless the cache loses the state.
 */
/*
 * The token bucket as in Turner, "New directions in communications (or which way to the information
 * age?)", IEEE Communications Magazine 24(10), 1986, refilled lazily whenever it is read.
 *
 * Why the bound is exact: let the level be the units plus the elapsed fraction of the current tick.
 * The level grows exactly at the rate, and a charge reduces it by the cost. If the current tick
 * would raise the level above the capacity, a charge drops the elapsed fraction (see charge). The
 * level is therefore never above the capacity at a charge.
 */
public final class TokenBucket implements BucketArithmetic {
  private final Scale scale;
  private final long capacityTokens;
  private final long fillMicros;

  private TokenBucket(TokenBucketLimit limit) {
    this.scale = limit.scale();
    this.capacityTokens = limit.capacityTokens();
    this.fillMicros = boundedMicros(ticksFor(scale.capacityUnits()), 0);
  }

  /** Returns the arithmetic of a limit. */
  public static TokenBucket of(TokenBucketLimit limit) {
    return new TokenBucket(limit);
  }

  @Override
  public Parameters parameters() {
    return new Parameters(
        scale.tickMicros(), scale.unitsPerTick(), scale.unitsPerToken(), scale.capacityUnits());
  }

  @Override
  public long fillMicros() {
    return fillMicros;
  }

  /**
   * {@inheritDoc}
   *
   * <p>The result is the time until the bucket is full, minus the time for all missing tokens
   * except the first.
   */
  @Override
  public long moreMicros(long remainingTokens, long resetMicros) {
    if (resetMicros >= MAX_WAIT_MICROS) {
      return resetMicros;
    }
    long tokensBehind = Math.max(0, capacityTokens - remainingTokens - 1);
    long ticksBehind = tokensBehind * scale.unitsPerToken() / scale.unitsPerTick();
    return Math.max(0, resetMicros - ticksBehind * scale.tickMicros());
  }

  @Override
  public long missingUnits(long fullAtEpochMicros, long nowEpochMicros) {
    long waitMicros = Math.max(0, fullAtEpochMicros - nowEpochMicros);
    long ticks = (waitMicros + scale.tickMicros() - 1) / scale.tickMicros();
    return Numbers.boundedProduct(ticks, scale.unitsPerTick());
  }

  @Override
  public long refilledUnits(long fullAtEpochMicros, long nowEpochMicros) {
    long fullForMicros = Math.max(0, nowEpochMicros - fullAtEpochMicros);
    return Numbers.boundedProduct(fullForMicros / scale.tickMicros(), scale.unitsPerTick());
  }

  @Override
  public long capacityTokens() {
    return capacityTokens;
  }

  @Override
  public long capacityUnits() {
    return scale.capacityUnits();
  }

  @Override
  public long unitsPerToken() {
    return scale.unitsPerToken();
  }

  @Override
  public long levelUnits(BucketState refilled) {
    return refilled.units();
  }

  @Override
  public BucketState atLevel(BucketState kept, long levelUnits, long nowEpochMicros) {
    return kept.withContent(levelUnits, scale.unitsPerToken(), nowEpochMicros);
  }

  @Override
  public boolean countsAsNow(@Nullable BucketState kept, long nowEpochMicros) {
    return kept != null
        && !kept.isOfPeriod()
        && kept.lastEpochMicros() - nowEpochMicros > fillMicros;
  }

  /**
   * Returns the bucket at the current time.
   *
   * <ul>
   *   <li>No stored state, or the state of a quota: the bucket is full and has epoch 0.
   *   <li>The clock stepped back: the bucket does not refill until the clock reaches {@code last}.
   *       If {@code last} is ahead of the clock by more than the fill time of an empty bucket,
   *       {@code last} {@linkplain #countsAsNow counts as now}. The bucket therefore refills again
   *       at most one fill time after the step.
   *   <li>The limit changed: the bucket keeps its whole tokens up to the new capacity, and loses
   *       the fraction of a token. A debt is rounded up to a whole token. For the time since {@code
   *       last}, the bucket refills at the new rate.
   * </ul>
   */
  @Override
  public BucketState refill(@Nullable BucketState kept, long nowEpochMicros) {
    if (kept == null || kept.isOfPeriod()) {
      return atLevel(BucketState.NONE, scale.capacityUnits(), nowEpochMicros);
    }
    long units = inThisScale(kept);
    long last = kept.lastEpochMicros();
    if (countsAsNow(kept, nowEpochMicros)) {
      last = nowEpochMicros;
    } else if (last < nowEpochMicros) {
      long ticks = (nowEpochMicros - last) / scale.tickMicros();
      boolean full = ticks >= ticksFor(scale.capacityUnits() - units);
      units = full ? scale.capacityUnits() : units + ticks * scale.unitsPerTick();
      last += ticks * scale.tickMicros();
    }
    return kept.withContent(units, scale.unitsPerToken(), last);
  }

  private long inThisScale(BucketState kept) {
    long leastUnits = scale.capacityUnits() - (TokenBucketLimit.EXACT_BELOW - 1);
    long units = kept.units();
    if (kept.unitsPerToken() != scale.unitsPerToken()) {
      long tokens = Math.floorDiv(units, kept.unitsPerToken());
      if (tokens >= capacityTokens) {
        return scale.capacityUnits();
      }
      boolean tooDeep = tokens < -TokenBucketLimit.EXACT_BELOW / scale.unitsPerToken();
      units = tooDeep ? leastUnits : tokens * scale.unitsPerToken();
    }
    return Math.max(leastUnits, Math.min(units, scale.capacityUnits()));
  }

  @Override
  public BucketState charge(BucketState refilled, long costTokens, long nowEpochMicros) {
    if (!holds(refilled, costTokens)) {
      throw new IllegalArgumentException(
          "the bucket has too few tokens for the cost " + costTokens + ": " + refilled);
    }
    boolean tickWouldOverflow = refilled.units() + scale.unitsPerTick() > scale.capacityUnits();
    long last = refilled.lastEpochMicros();
    return refilled.charged(
        refilled.units() - costTokens * scale.unitsPerToken(),
        tickWouldOverflow ? Math.max(last, nowEpochMicros) : last,
        costTokens,
        nowEpochMicros);
  }

  /**
   * Returns the time until a refilled bucket is full if no call takes tokens meanwhile; 0 if it is
   * full.
   */
  @Override
  public long resetMicros(BucketState refilled, long nowEpochMicros) {
    return waitMicros(scale.capacityUnits() - refilled.units(), refilled, nowEpochMicros);
  }

  /**
   * Returns the time until a refilled bucket has enough tokens for the cost, rounded up. Returns 0
   * if the bucket has enough tokens now, and −1 if the bucket's capacity is below the cost. The
   * result accounts for the elapsed fraction of the tick, and for a {@code last} in the future.
   */
  @Override
  public long retryAfterMicros(BucketState refilled, long costTokens, long nowEpochMicros) {
    return canHold(costTokens)
        ? waitMicros(
            costTokens * scale.unitsPerToken() - refilled.units(), refilled, nowEpochMicros)
        : -1;
  }

  private long waitMicros(long missingUnits, BucketState refilled, long nowEpochMicros) {
    if (missingUnits <= 0) {
      return 0;
    }
    return boundedMicros(ticksFor(missingUnits), nowEpochMicros - refilled.lastEpochMicros());
  }

  /** Returns the number of ticks that add the given units, rounded up. */
  private long ticksFor(long units) {
    return (units + scale.unitsPerTick() - 1) / scale.unitsPerTick();
  }

  /**
   * Returns the length of the given number of ticks minus the elapsed time; at most {@link
   * #MAX_WAIT_MICROS}.
   *
   * @param passedMicros elapsed time, less than a tick; negative if the first tick begins in the
   *     future
   */
  private long boundedMicros(long ticks, long passedMicros) {
    boolean tooLong = ticks > MAX_WAIT_MICROS / scale.tickMicros() + 1;
    return tooLong
        ? MAX_WAIT_MICROS
        : Math.min(MAX_WAIT_MICROS, ticks * scale.tickMicros() - passedMicros);
  }
}
