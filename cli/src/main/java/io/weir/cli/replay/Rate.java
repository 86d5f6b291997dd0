// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import io.weir.limits.BucketLimit;
import io.weir.limits.FixedWindowLimit;
import io.weir.limits.SlidingWindowLimit;
import io.weir.limits.TokenBucketLimit;
import java.math.BigInteger;

/**
 * The numbers of one limit. A token is worth {@code unitsPerToken} units and a tick adds {@code
 * unitsPerTick} (decision 0002). The bucket's key has the end of a period, so it is not a member.
 *
 * @param algorithm the wire name of the algorithm
 * @param capacityTokens maximum number of tokens of the bucket
 * @param refillTokens tokens gained each period; 0 for a bucket that does not refill
 * @param refillPeriodMicros length of that period; for a fixed window the length of the window
 * @param tickMicros length of a tick
 * @param unitsPerTick units that a tick adds; 0 for a bucket that does not refill
 * @param unitsPerToken units of a token
 */
record Rate(
    String algorithm,
    long capacityTokens,
    long refillTokens,
    long refillPeriodMicros,
    long tickMicros,
    long unitsPerTick,
    long unitsPerToken) {
  static final String TOKEN_BUCKET = "token-bucket";
  static final String QUOTA = "quota";
  static final String FIXED_WINDOW = "fixed-window";
  static final String SLIDING_WINDOW = "sliding-window";

  /** 2^53 − 1, the greatest number in a record. */
  static final long MAX_NUMBER = (1L << 53) - 1;

  private static final long[] TICKS_MICROS = {1, 1_000, 1_000_000};

  /**
   * Returns the rate of a limit.
   *
   * @throws IllegalArgumentException if it cannot be counted in integers below 2^53
   */
  static Rate of(String algorithm, long capacity, long refillTokens, long periodMicros) {
    if (capacity > 0 && (algorithm.equals(QUOTA) || algorithm.equals(FIXED_WINDOW))) {
      return new Rate(algorithm, capacity, 0, periodMicros, 1, 0, 1);
    }
    if (capacity > 0 && algorithm.equals(SLIDING_WINDOW)) {
      return new Rate(algorithm, capacity, refillTokens, periodMicros, 1, 0, 1);
    }
    if (!algorithm.equals(TOKEN_BUCKET)
        || capacity < 0
        || refillTokens < 1
        || periodMicros < 1
        || Math.max(capacity, Math.max(refillTokens, periodMicros)) > MAX_NUMBER) {
      throw new IllegalArgumentException("the numbers are not a limit");
    }
    for (long tick : TICKS_MICROS) {
      if (periodMicros % tick != 0) {
        break;
      }
      long ticks = periodMicros / tick;
      long divisor = BigInteger.valueOf(ticks).gcd(BigInteger.valueOf(refillTokens)).longValue();
      BigInteger full = BigInteger.valueOf(capacity).multiply(BigInteger.valueOf(ticks / divisor));
      if (full.add(BigInteger.valueOf(refillTokens / divisor)).bitLength() <= 53) {
        return new Rate(
            algorithm,
            capacity,
            refillTokens,
            periodMicros,
            tick,
            refillTokens / divisor,
            ticks / divisor);
      }
    }
    throw new IllegalArgumentException("the limit cannot be counted in integers below 2^53");
  }

  /** Returns the rate of a limit of a policy. */
  static Rate of(BucketLimit limit) {
    if (limit instanceof TokenBucketLimit bucket) {
      return of(
          TOKEN_BUCKET,
          bucket.capacityTokens(),
          bucket.refillTokens(),
          bucket.refillPeriodMicros());
    }
    if (limit instanceof SlidingWindowLimit sliding) {
      return of(
          SLIDING_WINDOW, sliding.capacityTokens(), sliding.subWindows(), sliding.windowMicros());
    }
    return limit instanceof FixedWindowLimit window
        ? of(FIXED_WINDOW, window.capacityTokens(), 0, window.windowMicros())
        : of(QUOTA, limit.capacityTokens(), 0, 0);
  }

  /**
   * Returns whether a bucket's content alone decides if it has enough tokens for a cost. In a
   * sliding window earlier sub-windows also count.
   */
  boolean decidesAlone() {
    return !algorithm.equals(SLIDING_WINDOW);
  }

  boolean refills() {
    return unitsPerTick > 0;
  }

  long capacityUnits() {
    return capacityTokens * unitsPerToken;
  }

  /** Returns the units of tokens, at most 2^60, which is more than any bucket can lack. */
  long units(long tokens) {
    return tokens > (1L << 60) / unitsPerToken ? 1L << 60 : tokens * unitsPerToken;
  }

  /** Returns the time of the least number of ticks that add the units, at most 2^60 µs. */
  long microsFor(long units) {
    long ticks = Math.floorDiv(units - 1, unitsPerTick) + 1;
    return micros(ticks);
  }

  /** Returns the time of the whole ticks that add at most the units, at most 2^60 µs. */
  long wholeMicrosFor(long units) {
    return micros(Math.floorDiv(units, unitsPerTick));
  }

  private long micros(long ticks) {
    return ticks > (1L << 60) / tickMicros ? 1L << 60 : ticks * tickMicros;
  }

  /** Returns the number of ticks that begin in a duration; 0 if it is not positive. */
  long ticksIn(long micros) {
    return micros <= 0 ? 0 : (micros - 1) / tickMicros + 1;
  }

  @Override
  public String toString() {
    return refills()
        ? capacityTokens + " (" + refillTokens + " per " + refillPeriodMicros + " us)"
        : algorithm + " " + capacityTokens;
  }
}
