// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

/**
 * How a bucket gains tokens: so many, evenly, over each period. Immutable.
 *
 * <p>Converts between tokens and the time in which they are gained, for those who judge a bucket by
 * the time at which it is full. That is the same bucket as {@link TokenBucket}'s, seen through
 * times instead of contents, and needs no bound on what is owed: sums of any size are in range as
 * times. Rounded to a microsecond and computed in binary64, so off by 1 µs at 2^52 µs.
 *
 * @param tokens tokens gained each period; 1 to 2^53 − 1
 * @param periodMicros length of a period in microseconds; 1 µs to 366 days
 */
public record Refill(long tokens, long periodMicros) {
  /** Tokens that are gained in a time. */
  public double tokensIn(long micros) {
    return (double) micros * tokens / periodMicros;
  }

  /** The time in which so many tokens are gained; at most what a long holds. */
  public long microsFor(double gainedTokens) {
    return Math.round(gainedTokens * periodMicros / tokens);
  }

  /** The time in which so many tokens are gained, or lost when negative; at most 2^53 µs. */
  public long boundedMicrosFor(long gainedTokens) {
    double micros = (double) gainedTokens * periodMicros / tokens;
    double most = Numbers.MAX + 1;
    return Math.round(Math.max(-most, Math.min(micros, most)));
  }
}
