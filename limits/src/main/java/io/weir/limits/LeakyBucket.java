// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import java.time.Duration;
import java.time.temporal.ChronoUnit;
import org.jspecify.annotations.Nullable;

/**
 * A leaky bucket: calls add their cost, it leaks evenly, and a call that would make it overflow is
 * denied. Its content equals the tokens missing from a token bucket of the same capacity and rate
 * (Turner, "New directions in communications", IEEE Communications Magazine 24 (1986); ITU-T
 * I.371). The cache and the records therefore count it as that token bucket.
 *
 * <p>As a queue it also returns a delay to each admitted call: the time until the earlier content
 * of the bucket has leaked. Calls that wait for the delay proceed one by one, at the rate.
 * Immutable.
 *
 * @param mirror the token bucket whose missing tokens are the content of this bucket
 * @param isQueue whether admitted calls receive a delay
 */
public record LeakyBucket(TokenBucketLimit mirror, boolean isQueue) implements PolicyLimit {
  @Override
  public long capacityTokens() {
    return mirror.capacityTokens();
  }

  @Override
  public boolean refills() {
    return true;
  }

  @Override
  public BucketLimit lasting() {
    return mirror;
  }

  @Override
  public BucketLimit ofBucket(PeriodicLimit.@Nullable Span period) {
    return mirror;
  }

  @Override
  public boolean isNoWiderThan(PolicyLimit other) {
    return mirror.isNoWiderThan(other.counted());
  }

  @Override
  public PolicyLimit counted() {
    return mirror;
  }

  @Override
  public String describe() {
    return String.format(
        "%s of %d, %d leak per %s",
        isQueue ? "queue" : "leaky bucket",
        mirror.capacityTokens(),
        mirror.refillTokens(),
        Duration.of(mirror.refillPeriodMicros(), ChronoUnit.MICROS));
  }

  /**
   * Returns how long an admitted call has to wait until the earlier content of the bucket has
   * leaked. The result is never too long, and too short by less than a tick of the mirror's
   * arithmetic. A tick is a microsecond unless the numbers are very large.
   *
   * @param limit the limit by which the call was admitted: the mirror, or a node's share of it
   * @param pouredTokens the call's cost if the bucket already contains it; otherwise 0, as for a
   *     peek
   * @param resetMicros time until the bucket is empty
   */
  public static long delayMicros(BucketLimit limit, long pouredTokens, long resetMicros) {
    BucketArithmetic.Parameters by = limit.arithmetic().parameters();
    long units = pouredTokens * by.unitsPerToken();
    long ticks = units / by.unitsPerTick() + (units % by.unitsPerTick() == 0 ? 0 : 1);
    return ticks >= resetMicros / by.tickMicros() + 1
        ? 0
        : Math.max(0, resetMicros - ticks * by.tickMicros());
  }
}
