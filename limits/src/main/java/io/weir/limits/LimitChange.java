// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import org.jspecify.annotations.Nullable;

/**
 * The effect of a changed limit on a bucket that refills, expressed in the times at which the
 * bucket is full. The tokens left at the newest charge are carried over, up to the new capacity. A
 * debt is carried over unchanged. From then on the bucket refills at the new rate. If the number of
 * units per token changes, the remaining fraction of a token is dropped.
 *
 * <p>Example: a bucket of capacity 1,000 gains one token an hour and lacks 900. If the capacity is
 * lowered to 10, the 100 remaining tokens fill the bucket. If it is raised to 1,000 again, 990
 * tokens are missing.
 *
 * <p>The cache applies the same change to its bucket when it first decides by the new limit.
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
   * Returns the change from one limit to another; null if one of them does not refill, in which
   * case there is no time to carry over.
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

  /**
   * Returns when the bucket is full under the new limit, given when it would have been full under
   * the old limit.
   */
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
   * tokens. The absolute value is at most {@link Numbers#MAX}.
   */
  public long sameTokensMicros(long beforeMicros) {
    long micros = refillAfter.microsFor(refillBefore.tokensIn(beforeMicros));
    return Math.max(-Numbers.MAX, Math.min(micros, Numbers.MAX));
  }
}
