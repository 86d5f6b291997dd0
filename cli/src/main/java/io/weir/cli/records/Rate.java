// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.records;

import java.math.BigInteger;

/**
 * The numbers of one limit. A token is worth {@code unitsPerToken} units and a tick adds {@code
 * unitsPerTick} (decision 0002). The end of a period is not a member, because the bucket's key
 * contains this time.
 *
 * @param algorithm the wire name of the algorithm
 * @param capacityTokens maximum number of tokens of the bucket
 * @param refillTokens tokens gained each refill period; for a sliding window the number of
 *     sub-windows; 0 for other buckets that do not refill
 * @param refillPeriodMicros length of the refill period; for a fixed window the length of the
 *     window
 * @param tickMicros length of a tick
 * @param unitsPerTick units that a tick adds; 0 for a bucket that does not refill
 * @param unitsPerToken units of a token
 */
public record Rate(
    String algorithm,
    long capacityTokens,
    long refillTokens,
    long refillPeriodMicros,
    long tickMicros,
    long unitsPerTick,
    long unitsPerToken) {
  public static final String TOKEN_BUCKET = "token-bucket";
  public static final String QUOTA = "quota";
  public static final String FIXED_WINDOW = "fixed-window";
  public static final String SLIDING_WINDOW = "sliding-window";

  /** Longest refill period: 366 days. */
  private static final long MAX_PERIOD_MICROS = 366L * 86_400 * 1_000_000;

  private static final long MAX_SUB_WINDOWS = 60;
  private static final long[] TICKS_MICROS = {1, 1_000, 1_000_000};

  /**
   * Returns the rate of a limit.
   *
   * @param refillTokens for a sliding window the number of sub-windows
   * @throws IllegalArgumentException if the limit cannot be counted in integers below 2^53
   */
  public static Rate of(String algorithm, long capacity, long refillTokens, long periodMicros) {
    switch (algorithm) {
      case TOKEN_BUCKET -> {
        return ofTokenBucket(capacity, refillTokens, periodMicros);
      }
      case SLIDING_WINDOW -> require("sub_windows", refillTokens, 1, MAX_SUB_WINDOWS);
      case QUOTA, FIXED_WINDOW -> {}
      default -> throw new IllegalArgumentException("algorithm is not known");
    }
    require("capacity", capacity, 1, CallLine.MAX_NUMBER);
    if (!algorithm.equals(QUOTA)) {
      require("window_us", periodMicros, 1, CallLine.MAX_NUMBER);
    }
    boolean isSliding = algorithm.equals(SLIDING_WINDOW);
    if (isSliding && !isWeighable(capacity, periodMicros)) {
      throw new IllegalArgumentException("the window cannot be weighted in integers below 2^53");
    }
    return new Rate(algorithm, capacity, isSliding ? refillTokens : 0, periodMicros, 1, 0, 1);
  }

  /** Returns whether the capacity times the ticks of a sub-window stays below 2^53. */
  private static boolean isWeighable(long capacity, long windowMicros) {
    for (long tick : TICKS_MICROS) {
      if (windowMicros % tick == 0 && capacity <= CallLine.MAX_NUMBER / (windowMicros / tick)) {
        return true;
      }
    }
    return false;
  }

  private static Rate ofTokenBucket(long capacity, long refillTokens, long periodMicros) {
    require("capacity", capacity, 0, CallLine.MAX_NUMBER);
    require("refill_tokens", refillTokens, 1, CallLine.MAX_NUMBER);
    require("refill_period_us", periodMicros, 1, MAX_PERIOD_MICROS);
    for (long tick : TICKS_MICROS) {
      if (periodMicros % tick != 0) {
        break;
      }
      long ticks = periodMicros / tick;
      long divisor = BigInteger.valueOf(ticks).gcd(BigInteger.valueOf(refillTokens)).longValue();
      long perTick = refillTokens / divisor;
      long perToken = ticks / divisor;
      BigInteger full = BigInteger.valueOf(capacity).multiply(BigInteger.valueOf(perToken));
      if (full.add(BigInteger.valueOf(perTick)).bitLength() <= 53) {
        return new Rate(
            TOKEN_BUCKET, capacity, refillTokens, periodMicros, tick, perTick, perToken);
      }
    }
    throw new IllegalArgumentException("the limit cannot be counted in integers below 2^53");
  }

  private static void require(String member, long value, long least, long most) {
    if (value < least || value > most) {
      throw new IllegalArgumentException(member + " is out of range");
    }
  }

  /**
   * Returns whether one bucket alone decides a call. In a sliding window, the buckets of earlier
   * sub-windows also count.
   */
  public boolean decidesAlone() {
    return !algorithm.equals(SLIDING_WINDOW);
  }

  public boolean refills() {
    return unitsPerTick > 0;
  }

  public long capacityUnits() {
    return capacityTokens * unitsPerToken;
  }

  /**
   * Converts tokens to units. The result is at most 2^60, which is more than any bucket can lack.
   */
  public long units(long tokens) {
    return tokens > (1L << 60) / unitsPerToken ? 1L << 60 : tokens * unitsPerToken;
  }

  /** Returns the shortest time of whole ticks that adds at least {@code units}; at most 2^60 µs. */
  public long microsFor(long units) {
    long ticks = Math.floorDiv(units - 1, unitsPerTick) + 1;
    return micros(ticks);
  }

  /** Returns the longest time of whole ticks that adds at most {@code units}; at most 2^60 µs. */
  public long wholeMicrosFor(long units) {
    return micros(Math.floorDiv(units, unitsPerTick));
  }

  private long micros(long ticks) {
    return ticks > (1L << 60) / tickMicros ? 1L << 60 : ticks * tickMicros;
  }

  /** Returns the number of ticks that begin in a duration; 0 if the duration is not positive. */
  public long ticksIn(long micros) {
    return micros <= 0 ? 0 : (micros - 1) / tickMicros + 1;
  }

  @Override
  public String toString() {
    return refills()
        ? capacityTokens + " (" + refillTokens + " per " + refillPeriodMicros + " us)"
        : algorithm + " " + capacityTokens;
  }
}
