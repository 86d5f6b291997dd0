// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import org.jspecify.annotations.Nullable;

/**
 * The effect of a changed limit on a bucket that refills. A change converts the time at which the
 * bucket is full under the old limit to the corresponding time under the new limit. The bucket
 * keeps the tokens that it held at the newest charge, up to the new capacity. A debt stays
 * unchanged. From the newest charge on, the bucket refills at the new rate. If the number of units
 * per token changes, the bucket loses its fraction of a token.
 *
 * <p>Example: a bucket of capacity 1,000 gains one token an hour and lacks 900 tokens. If the
 * capacity is lowered to 10, the bucket is full. If the capacity is raised to 1,000 again, the
 * bucket lacks 990 tokens.
 *
 * <p>The cache changes its bucket in the same way at the first decision under the new limit.
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
   * Returns the change from one limit to another limit; null if one of the limits does not refill.
   *
   * @param before the limit that applied until now
   * @param after the limit that applies from now on
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

  /** Returns when the bucket is full under the new limit. */
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
   * Converts a refill time of the old limit into the time in which the new limit refills the same
   * number of tokens. The absolute value of the result is at most {@link Numbers#MAX}.
   */
  public long sameTokensMicros(long beforeMicros) {
    long micros = refillAfter.microsFor(refillBefore.tokensIn(beforeMicros));
    return Math.max(-Numbers.MAX, Math.min(micros, Numbers.MAX));
  }
}
