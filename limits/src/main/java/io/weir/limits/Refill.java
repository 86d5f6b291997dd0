// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

/**
 * The rate at which a bucket gains tokens: a number of tokens per period, evenly over the period.
 * Immutable.
 *
 * <p>Methods convert a number of tokens to the time in which the bucket gains these tokens, and
 * back. The records represent a bucket by the time at which the bucket is full, so the debt of a
 * bucket needs no bound. In all other respects, the bucket equals the bucket of {@link
 * TokenBucket}. Results are computed in binary64 and rounded to a microsecond, so a result of 2^52
 * µs may be wrong by 1 µs.
 *
 * @param tokens tokens gained each period; 1 to 2^53 − 1
 * @param periodMicros length of a period in microseconds; 1 µs to 366 days
 */
public record Refill(long tokens, long periodMicros) {
  /** Returns the number of tokens that the bucket gains in the given time. */
  public double tokensIn(long micros) {
    return (double) micros * tokens / periodMicros;
  }

  /** Returns the time in which the bucket gains the tokens; at most {@link Long#MAX_VALUE}. */
  public long microsFor(double gainedTokens) {
    return Math.round(gainedTokens * periodMicros / tokens);
  }

  /**
   * Returns the time in which the bucket gains the tokens; negative for a negative number. The
   * absolute value is at most 2^53 µs.
   */
  public long boundedMicrosFor(long gainedTokens) {
    double micros = (double) gainedTokens * periodMicros / tokens;
    double most = Numbers.MAX + 1;
    return Math.round(Math.max(-most, Math.min(micros, most)));
  }
}
