// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import org.jspecify.annotations.Nullable;

/**
 * What a changed limit does to a bucket that refills, in times to full: the tokens that were left
 * at the newest charge are carried over, at most the new capacity, and a debt as it is; since then
 * the bucket refills at the new speed. Where a token is worth another number of units, the part of
 * a token that was left is dropped.
 *
 * <p>Example: capacity 1,000 at one token an hour, 900 missing, lowered to 10: 100 were left, so
 * that the bucket is full. Raised again to 1,000: 990 are missing.
 *
 * <p>The cache does the same to the bucket it keeps, when it first decides by the new limit.
 * Immutable.
 */
public final class LimitChange {
  private final BucketLimit before;
  private final BucketLimit after;
  private final Refill refillBefore;
  private final Refill refillAfter;
  private final long chargedAtMicros;

  private LimitChange(
      BucketLimit before,
      Refill refillBefore,
      BucketLimit after,
      Refill refillAfter,
      long chargedAtMicros) {
    this.before = before;
    this.refillBefore = refillBefore;
    this.after = after;
    this.refillAfter = refillAfter;
    this.chargedAtMicros = chargedAtMicros;
  }

  /**
   * The change from one limit to another; null when one of them does not refill, so that no time to
   * full is to be carried over.
   *
   * @param before the limit that was followed until now
   * @param after the limit to follow
   * @param chargedAtMicros when the newest charge was made, in microseconds since 1970
   */
  public static @Nullable LimitChange of(
      BucketLimit before, BucketLimit after, long chargedAtMicros) {
    Refill then = before.refill();
    Refill now = after.refill();
    return then == null || now == null
        ? null
        : new LimitChange(before, then, after, now, chargedAtMicros);
  }

  /** When the bucket is full by the new limit, given when it would have been by the old one. */
  public long fullAtMicros(long fullAtBeforeMicros) {
    double left =
        (double) before.capacityTokens()
            - refillBefore.tokensIn(Math.max(0, fullAtBeforeMicros - chargedAtMicros));
    if (before.arithmetic().unitsPerToken() != after.arithmetic().unitsPerToken()) {
      left = Math.floor(left);
    }
    double missing = Math.max(0, (double) after.capacityTokens() - left);
    if (missing == 0) {
      return Math.min(fullAtBeforeMicros, chargedAtMicros);
    }
    long wait = Math.min(refillAfter.microsFor(missing), Numbers.MAX);
    return Math.min(chargedAtMicros + wait, Numbers.MAX);
  }

  /**
   * A time in which the old limit refilled some tokens, as the time in which the new one does; at
   * most {@link Numbers#MAX} either way.
   */
  public long sameTokensMicros(long beforeMicros) {
    long micros = refillAfter.microsFor(refillBefore.tokensIn(beforeMicros));
    return Math.max(-Numbers.MAX, Math.min(micros, Numbers.MAX));
  }
}
