// SPDX-License-Identifier: Apache-2.0
package io.weir.decision;

import io.weir.topics.model.TokenBucketLimit;
import io.weir.topics.model.TokenBucketLimit.Scale;
import org.jspecify.annotations.Nullable;

/**
 * The arithmetic of a token bucket with one limit: the reference that every cache answers to.
 * Immutable; the state comes in and goes out. Times are microseconds since 1970 by the clock of the
 * cache, 1 to 2^53 − 1.
 *
 * <p>Example: capacity 10, one token per 100 ms, 4 left, cost 6: not held, retry after 200 ms; a
 * try at 199.999 ms fails, the one at 200 ms succeeds.
 *
 * <p>Bound: in any interval T of the cache's clock at most capacity + rate × T tokens are taken,
 * exactly, for every limit, as long as the state is not lost.
 */
/*
 * The token bucket as in Turner, "New directions in communications (or which way to the information
 * age?)", IEEE Communications Magazine 24(10), 1986, refilled lazily when it is looked at.
 *
 * Why the bound is exact: let the level be the units plus the part of the running tick. It grows at
 * the rate exactly and falls by the cost at a charge. A charge at a moment when the running tick
 * would lift the level above capacity drops that part of the tick (see charge), so no charge ever
 * finds a level above capacity.
 */
public final class TokenBucket {
  /**
   * Longest time that is reported, 2^52 µs (142 years): added to a time of our days it stays below
   * 2^53. A bucket that takes longer to fill reports this.
   */
  public static final long MAX_WAIT_MICROS = 1L << 52;

  /**
   * How much longer than its time to full a bucket is kept. Covers rounding and lets the epoch of a
   * client that keeps calling live on; a bucket that is gone is full, so the length is no matter of
   * correctness.
   */
  public static final long TTL_MARGIN_MILLIS = 10_000;

  private final Scale scale;
  private final long capacityTokens;
  private final long fillMicros;

  private TokenBucket(TokenBucketLimit limit) {
    this.scale = limit.scale();
    this.capacityTokens = limit.capacityTokens();
    this.fillMicros = boundedMicros(ticksFor(scale.capacityUnits()), 0);
  }

  /** The arithmetic of a limit. */
  public static TokenBucket of(TokenBucketLimit limit) {
    return new TokenBucket(limit);
  }

  /**
   * The bucket as it stands now.
   *
   * <ul>
   *   <li>Nothing kept: full, epoch 0.
   *   <li>The clock stepped back: nothing is refilled until it has caught up, unless {@code last}
   *       is further ahead than an empty bucket takes to fill; then it is pulled back to now.
   *   <li>The limit changed: whole tokens are carried over, a part of a token is dropped, content
   *       above the new capacity is dropped. Time since {@code last} refills at the new speed.
   * </ul>
   */
  public BucketState refill(@Nullable BucketState kept, long nowEpochMicros) {
    if (kept == null) {
      return new BucketState(scale.capacityUnits(), scale.unitsPerToken(), nowEpochMicros, 0, 0);
    }
    long units = inThisScale(kept);
    long last = kept.lastEpochMicros();
    if (last - nowEpochMicros > fillMicros) {
      last = nowEpochMicros;
    } else if (last < nowEpochMicros) {
      long ticks = (nowEpochMicros - last) / scale.tickMicros();
      boolean full = ticks >= ticksFor(scale.capacityUnits() - units);
      units = full ? scale.capacityUnits() : units + ticks * scale.unitsPerTick();
      last += ticks * scale.tickMicros();
    }
    return new BucketState(units, scale.unitsPerToken(), last, kept.epoch(), kept.chargedTokens());
  }

  private long inThisScale(BucketState kept) {
    if (kept.unitsPerToken() == scale.unitsPerToken()) {
      return Math.min(kept.units(), scale.capacityUnits());
    }
    long tokens = kept.units() / kept.unitsPerToken();
    return tokens < capacityTokens ? tokens * scale.unitsPerToken() : scale.capacityUnits();
  }

  /** Whether a bucket of this limit can ever hold the cost. */
  public boolean canHold(long costTokens) {
    return costTokens <= capacityTokens;
  }

  /** Whether a refilled bucket holds the cost. */
  public boolean holds(BucketState refilled, long costTokens) {
    return canHold(costTokens) && refilled.units() >= costTokens * scale.unitsPerToken();
  }

  /**
   * Takes the cost.
   *
   * @param refilled the bucket as {@link #refill} gave it for this time; must hold the cost
   */
  public BucketState charge(BucketState refilled, long costTokens, long nowEpochMicros) {
    if (!holds(refilled, costTokens)) {
      throw new IllegalArgumentException(
          "the bucket does not hold the cost " + costTokens + ": " + refilled);
    }
    boolean tickWouldOverflow = refilled.units() + scale.unitsPerTick() > scale.capacityUnits();
    long last = refilled.lastEpochMicros();
    long chargedTokens = refilled.chargedTokens() + costTokens;
    boolean newEpoch = refilled.epoch() == 0 || chargedTokens >= TokenBucketLimit.EXACT_BELOW;
    return new BucketState(
        refilled.units() - costTokens * scale.unitsPerToken(),
        scale.unitsPerToken(),
        tickWouldOverflow ? Math.max(last, nowEpochMicros) : last,
        newEpoch ? Math.max(nowEpochMicros, refilled.epoch() + 1) : refilled.epoch(),
        newEpoch ? costTokens : chargedTokens);
  }

  /** Whole tokens in a refilled bucket. */
  public long remainingTokens(BucketState refilled) {
    return refilled.units() / scale.unitsPerToken();
  }

  /** Time until a refilled bucket is full if nothing is taken meanwhile; 0 when it is. */
  public long resetMicros(BucketState refilled, long nowEpochMicros) {
    return waitMicros(scale.capacityUnits() - refilled.units(), refilled, nowEpochMicros);
  }

  /**
   * Time until a refilled bucket holds the cost: rounded up, counting the part of the tick that has
   * passed and a {@code last} that is ahead. 0 when it holds it, −1 when it never can.
   */
  public long retryAfterMicros(BucketState refilled, long costTokens, long nowEpochMicros) {
    return canHold(costTokens)
        ? waitMicros(
            costTokens * scale.unitsPerToken() - refilled.units(), refilled, nowEpochMicros)
        : -1;
  }

  /** How long a cache must keep a bucket it has written: time to full and a margin, rounded up. */
  public long ttlMillis(BucketState written, long nowEpochMicros) {
    return (resetMicros(written, nowEpochMicros) + 999) / 1_000 + TTL_MARGIN_MILLIS;
  }

  private long waitMicros(long missingUnits, BucketState refilled, long nowEpochMicros) {
    if (missingUnits <= 0) {
      return 0;
    }
    return boundedMicros(ticksFor(missingUnits), nowEpochMicros - refilled.lastEpochMicros());
  }

  /** Ticks that add at least these units. */
  private long ticksFor(long units) {
    return (units + scale.unitsPerTick() - 1) / scale.unitsPerTick();
  }

  /**
   * Length of the ticks less what has passed of them.
   *
   * @param passedMicros less than a tick; negative when the first tick begins in the future
   */
  private long boundedMicros(long ticks, long passedMicros) {
    boolean tooLong = ticks > MAX_WAIT_MICROS / scale.tickMicros() + 1;
    return tooLong
        ? MAX_WAIT_MICROS
        : Math.min(MAX_WAIT_MICROS, ticks * scale.tickMicros() - passedMicros);
  }
}
