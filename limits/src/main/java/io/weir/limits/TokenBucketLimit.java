// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import io.weir.limits.LimitAlgorithm.MemberSink;
import java.math.BigInteger;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import org.jspecify.annotations.Nullable;

/**
 * The capacity and the rate of a token bucket, as integers. A bucket holds at most {@code
 * capacityTokens} and gains {@code refillTokens} evenly over each {@code refillPeriodMicros}.
 * Example: for 100 calls per minute in bursts of at most 20, the capacity is 20, the refill is 100
 * and the period is 60,000,000.
 *
 * <p>The arithmetic uses integers and is exact. Let refillTokens / refillTicks be the rate in
 * lowest terms. A token is {@code unitsPerToken} = refillTicks units, and each tick adds {@code
 * unitsPerTick} = refillTokens units. A tick is the shortest of 1 µs, 1 ms and 1 s for which a full
 * bucket has less than 2^53 units. A Lua number represents all integers below 2^53 exactly.
 *
 * @param capacityTokens maximum tokens in the bucket, which is the largest burst; 0 to 2^53 − 1; 0
 *     denies every call
 * @param refillTokens tokens gained per period; 1 to 2^53 − 1
 * @param refillPeriodMicros length of a period in microseconds; 1 µs to 366 days
 */
public record TokenBucketLimit(long capacityTokens, long refillTokens, long refillPeriodMicros)
    implements BucketLimit, PolicyLimit {
  /** Exclusive bound of the integers that a Lua number (IEEE 754 binary64) represents exactly. */
  public static final long EXACT_BELOW = 1L << 53;

  /** Longest refill period: 366 days. */
  public static final long MAX_PERIOD_MICROS = 366L * 86_400 * 1_000_000;

  /** A limit that denies every call, because its bucket holds no token. */
  public static final TokenBucketLimit DENY = new TokenBucketLimit(0, 1, 1_000_000);

  public TokenBucketLimit {
    requireRange("capacity", capacityTokens, 0, EXACT_BELOW - 1);
    requireRange("refill_tokens", refillTokens, 1, EXACT_BELOW - 1);
    requireRange("refill_period (µs)", refillPeriodMicros, 1, MAX_PERIOD_MICROS);
    Scale.of(capacityTokens, refillTokens, refillPeriodMicros);
  }

  @Override
  public LimitAlgorithm algorithm() {
    return LimitAlgorithm.TOKEN_BUCKET;
  }

  @Override
  public TokenBucket arithmetic() {
    return TokenBucket.of(this);
  }

  @Override
  public Refill refill() {
    return new Refill(refillTokens, refillPeriodMicros);
  }

  @Override
  public boolean refills() {
    return true;
  }

  @Override
  public TokenBucketLimit lasting() {
    return this;
  }

  @Override
  public TokenBucketLimit ofBucket(PeriodicLimit.@Nullable Span period) {
    return this;
  }

  /**
   * Returns one node's share of the limit. The share has 1 / nodes of the capacity, rounded down
   * but at least one token, and 1 / nodes of the rate. Example: 4 nodes share a limit of capacity
   * 100 and 10 tokens per second. Each node gets capacity 25 and 10 tokens per 4 s.
   *
   * <p>Because of rounding, the sum of all shares exceeds the limit in two cases. If the capacity
   * is below the number of nodes, each node gets one token. If the rate is below one token per 366
   * days and node, each node gets one token per 366 days.
   */
  @Override
  public TokenBucketLimit shareOf(int nodes) {
    if (capacityTokens == 0 || nodes == 1) {
      return this;
    }
    long capacity = Math.max(1, capacityTokens / nodes);
    long refill = refillTokens;
    long periodMicros = refillPeriodMicros * nodes;
    if (periodMicros > MAX_PERIOD_MICROS) {
      refill =
          BigInteger.valueOf(refill)
              .multiply(BigInteger.valueOf(MAX_PERIOD_MICROS))
              .divide(BigInteger.valueOf(periodMicros))
              .max(BigInteger.ONE)
              .longValue();
      periodMicros = MAX_PERIOD_MICROS;
    }
    try {
      return new TokenBucketLimit(capacity, refill, periodMicros);
    } catch (IllegalArgumentException notCountable) {
      // only possible for limits at the edge of the exact range; a smaller share is safe
      return new TokenBucketLimit(1, 1, refillPeriodMicros);
    }
  }

  @Override
  public long fullAtMicros(long byRefillMicros) {
    return byRefillMicros;
  }

  /**
   * Returns the number of whole tokens in the bucket, computed from the time at which it will be
   * full. As in decision 0005, level(t) = capacity − (full_at − t)⁺ · refill / period, rounded
   * down.
   *
   * <p>Example: a bucket of capacity 100 gains 100 tokens per minute. If the bucket will be full in
   * 600 ms, it lacks one token and holds 99 tokens. If the bucket will be full in 601 ms, it holds
   * 98 tokens.
   */
  @Override
  public long levelTokens(long fullAtEpochMicros, long usedTokens, long nowEpochMicros) {
    long away = fullAtEpochMicros - nowEpochMicros;
    if (away <= 0) {
      return capacityTokens;
    }
    BigInteger[] lacking =
        BigInteger.valueOf(away)
            .multiply(BigInteger.valueOf(refillTokens))
            .divideAndRemainder(BigInteger.valueOf(refillPeriodMicros));
    BigInteger roundedUp = lacking[0].add(BigInteger.valueOf(lacking[1].signum()));
    return BigInteger.valueOf(capacityTokens)
        .subtract(roundedUp)
        .max(BigInteger.valueOf(-EXACT_BELOW))
        .longValueExact();
  }

  @Override
  public boolean isOverAt(long epochMicros) {
    return false;
  }

  @Override
  public boolean isNoWiderThan(PolicyLimit other) {
    if (capacityTokens == 0) {
      return true;
    }
    // compares refill / period of both limits
    return other.counted() instanceof TokenBucketLimit bucket
        && capacityTokens <= bucket.capacityTokens
        && BigInteger.valueOf(refillTokens)
                .multiply(BigInteger.valueOf(bucket.refillPeriodMicros))
                .compareTo(
                    BigInteger.valueOf(bucket.refillTokens)
                        .multiply(BigInteger.valueOf(refillPeriodMicros)))
            <= 0;
  }

  @Override
  public String describe() {
    return capacityTokens == 0
        ? "denies every call"
        : String.format(
            "capacity %d, %d tokens per %s",
            capacityTokens, refillTokens, Duration.of(refillPeriodMicros, ChronoUnit.MICROS));
  }

  @Override
  public <E extends Exception> void writeTo(MemberSink<E> sink) throws E {
    sink.member("capacity", capacityTokens);
    sink.member("refill_tokens", refillTokens);
    sink.member("refill_period_us", refillPeriodMicros);
  }

  private static void requireRange(String field, long value, long min, long max) {
    if (value < min || value > max) {
      throw new IllegalArgumentException(
          field + " must be between " + min + " and " + max + ", but is " + value);
    }
  }

  /** Returns the integers that the arithmetic uses. */
  public Scale scale() {
    return Scale.of(capacityTokens, refillTokens, refillPeriodMicros);
  }

  /**
   * The integers that the arithmetic uses.
   *
   * @param tickMicros length of a tick: 1, 1,000 or 1,000,000 µs
   * @param unitsPerTick units that a tick adds
   * @param unitsPerToken units per token
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
