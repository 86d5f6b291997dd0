// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.topics.model.TokenBucketLimit;
import java.math.BigInteger;

/**
 * What a token bucket holds, from the moment it will be full: level(t) = capacity − (full_at − t)⁺
 * · refill / period, rounded down, as decision 0005 has it. Negative when the bucket owes.
 * Stateless.
 */
final class BucketLevels {
  private BucketLevels() {}

  /**
   * Whole tokens in a bucket.
   *
   * <p>With 100 tokens a minute in bursts of at most 100, a bucket that will be full 600 ms after
   * {@code now} lacks one token and holds 99; 601 ms before it holds 98.
   *
   * @param fullAtEpochMicros when it will be full if nothing more is taken; 0 when it is
   */
  static long level(TokenBucketLimit limit, long fullAtEpochMicros, long nowEpochMicros) {
    long away = fullAtEpochMicros - nowEpochMicros;
    if (away <= 0) {
      return limit.capacityTokens();
    }
    BigInteger[] lacking =
        BigInteger.valueOf(away)
            .multiply(BigInteger.valueOf(limit.refillTokens()))
            .divideAndRemainder(BigInteger.valueOf(limit.refillPeriodMicros()));
    BigInteger roundedUp = lacking[0].add(BigInteger.valueOf(lacking[1].signum()));
    return BigInteger.valueOf(limit.capacityTokens())
        .subtract(roundedUp)
        .max(BigInteger.valueOf(-TokenBucketLimit.EXACT_BELOW))
        .longValueExact();
  }
}
