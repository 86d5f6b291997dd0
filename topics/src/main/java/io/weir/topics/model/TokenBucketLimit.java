// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import java.math.BigInteger;

/**
 * A token bucket's size and speed, as integers: a bucket holds at most {@code capacityTokens} and
 * gains {@code refillTokens} evenly over each {@code refillPeriodMicros}. "100 a minute, in bursts
 * of at most 20" is capacity 20, refill 100, period 60,000,000.
 *
 * <p>Arithmetic is exact, without a remainder to carry: with refillTokens / refillTicks in lowest
 * terms, a token is worth {@code unitsPerToken} = refillTicks units and every tick adds {@code
 * unitsPerTick} = refillTokens units. A tick is the shortest of 1 µs, 1 ms and 1 s for which a full
 * bucket stays below 2^53, the largest range of integers that a Lua number holds exactly.
 *
 * @param capacityTokens most tokens the bucket holds, which is the largest burst; 0 to 2^53 − 1,
 *     where 0 denies every call
 * @param refillTokens tokens gained each period; 1 to 2^53 − 1
 * @param refillPeriodMicros length of a period in microseconds; 1 µs to 366 days
 */
public record TokenBucketLimit(long capacityTokens, long refillTokens, long refillPeriodMicros)
    implements BucketLimit, PolicyLimit {
  /** Integers below this are exact in a Lua number (IEEE 754 binary64). */
  public static final long EXACT_BELOW = 1L << 53;

  /** Longest refill period: 366 days. */
  public static final long MAX_PERIOD_MICROS = 366L * 86_400 * 1_000_000;

  /** Denies every call: a bucket without room. */
  public static final TokenBucketLimit DENY = new TokenBucketLimit(0, 1, 1_000_000);

  public TokenBucketLimit {
    requireRange("capacity", capacityTokens, 0, EXACT_BELOW - 1);
    requireRange("refill_tokens", refillTokens, 1, EXACT_BELOW - 1);
    requireRange("refill_period (µs)", refillPeriodMicros, 1, MAX_PERIOD_MICROS);
    Scale.of(capacityTokens, refillTokens, refillPeriodMicros);
  }

  private static void requireRange(String field, long value, long min, long max) {
    if (value < min || value > max) {
      throw new IllegalArgumentException(
          field + " must be " + min + " to " + max + ", is " + value);
    }
  }

  /** The integers the arithmetic runs on. */
  public Scale scale() {
    return Scale.of(capacityTokens, refillTokens, refillPeriodMicros);
  }

  /**
   * The integers the arithmetic runs on.
   *
   * @param tickMicros length of a tick: 1, 1,000 or 1,000,000 µs
   * @param unitsPerTick units a tick adds
   * @param unitsPerToken units a token is worth
   * @param capacityUnits units of a full bucket; capacityUnits + unitsPerTick &lt; 2^53
   */
  public record Scale(long tickMicros, long unitsPerTick, long unitsPerToken, long capacityUnits) {
    private static final long[] TICKS_MICROS = {1, 1_000, 1_000_000};

    static Scale of(long capacityTokens, long refillTokens, long refillPeriodMicros) {
      for (long tick : TICKS_MICROS) {
        if (refillPeriodMicros % tick != 0) {
          break;
        }
        long periodTicks = refillPeriodMicros / tick;
        long gcd =
            BigInteger.valueOf(refillTokens).gcd(BigInteger.valueOf(periodTicks)).longValue();
        long unitsPerTick = refillTokens / gcd;
        long unitsPerToken = periodTicks / gcd;
        BigInteger full =
            BigInteger.valueOf(capacityTokens).multiply(BigInteger.valueOf(unitsPerToken));
        if (full.add(BigInteger.valueOf(unitsPerTick)).bitLength() <= 53) {
          return new Scale(tick, unitsPerTick, unitsPerToken, full.longValue());
        }
      }
      throw new IllegalArgumentException(
          "capacity "
              + capacityTokens
              + " with refill "
              + refillTokens
              + " per "
              + refillPeriodMicros
              + " µs cannot be counted exactly below 2^53;"
              + " choose rounder numbers, a smaller capacity or a shorter period");
    }
  }
}
