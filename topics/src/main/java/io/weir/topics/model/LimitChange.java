// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

/**
 * What a changed limit does to a token bucket, in times to full: the tokens that were left at the
 * newest charge are carried over, at most the new capacity, and a debt as it is; since then the
 * bucket refills at the new speed. Where a token is worth another number of units, the part of a
 * token that was left is dropped.
 *
 * <p>Example: capacity 1,000 at one token an hour, 900 missing, lowered to 10: 100 were left, so
 * that the bucket is full. Raised again to 1,000: 990 are missing.
 *
 * <p>The cache does the same to the bucket it keeps, when it first decides by the new limit.
 * Immutable.
 *
 * @param before the limit that was followed until now
 * @param after the limit to follow
 * @param chargedAtMicros when the newest charge was made, in microseconds since 1970
 */
public record LimitChange(TokenBucketLimit before, TokenBucketLimit after, long chargedAtMicros) {

  /** When the bucket is full by the new limit, given when it would have been by the old one. */
  public long fullAtMicros(long fullAtBeforeMicros) {
    double left =
        (double) before.capacityTokens()
            - tokens(before, Math.max(0, fullAtBeforeMicros - chargedAtMicros));
    if (before.scale().unitsPerToken() != after.scale().unitsPerToken()) {
      left = Math.floor(left);
    }
    double missing = Math.max(0, (double) after.capacityTokens() - left);
    if (missing == 0) {
      return Math.min(fullAtBeforeMicros, chargedAtMicros);
    }
    long wait = Math.min(micros(after, missing), Stamp.MAX_FULL_AT_MICROS);
    return Math.min(chargedAtMicros + wait, Stamp.MAX_FULL_AT_MICROS);
  }

  /** A time in which the old limit refilled some tokens, as the time in which the new one does. */
  public long sameTokensMicros(long beforeMicros) {
    return micros(after, tokens(before, beforeMicros));
  }

  /** Tokens that a limit refills in a time. */
  public static double tokens(TokenBucketLimit limit, long micros) {
    return (double) micros * limit.refillTokens() / limit.refillPeriodMicros();
  }

  /** The time in which a limit refills so many tokens; at most what a long holds. */
  public static long micros(TokenBucketLimit limit, double tokens) {
    return Math.round(tokens * limit.refillPeriodMicros() / limit.refillTokens());
  }
}
