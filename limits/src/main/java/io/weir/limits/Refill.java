// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

/**
 * The rate at which a bucket gains tokens: a number of tokens, evenly over each period. Immutable.
 *
 * <p>Converts between tokens and the time in which they are gained. Code that represents a bucket
 * by the time at which it is full uses it. Such a bucket equals that of {@link TokenBucket}, but
 * needs no bound on debt: sums of any size are in range as times. Results are computed in binary64
 * and rounded to a microsecond, so they are off by 1 µs at 2^52 µs.
 *
 * @param tokens tokens gained each period; 1 to 2^53 − 1
 * @param periodMicros length of a period in microseconds; 1 µs to 366 days
 */
public record Refill(long tokens, long periodMicros) {
  /** Returns the tokens gained in a time. */
  public double tokensIn(long micros) {
    return (double) micros * tokens / periodMicros;
  }

  /** Returns the time in which the tokens are gained; at most {@link Long#MAX_VALUE}. */
  public long microsFor(double gainedTokens) {
    return Math.round(gainedTokens * periodMicros / tokens);
  }

  /** Returns the time in which the tokens are gained, or lost if negative; at most 2^53 µs. */
  public long boundedMicrosFor(long gainedTokens) {
    double micros = (double) gainedTokens * periodMicros / tokens;
    double most = Numbers.MAX + 1;
    return Math.round(Math.max(-most, Math.min(micros, most)));
  }
}
