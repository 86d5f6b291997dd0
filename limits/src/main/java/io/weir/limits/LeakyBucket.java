// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import java.time.Duration;
import java.time.temporal.ChronoUnit;
import org.jspecify.annotations.Nullable;

/**
 * A bucket into which calls pour their cost, and which leaks evenly; what would make it overflow is
 * denied. What it holds is what a token bucket of the same capacity and rate lacks (Turner, "New
 * directions in communications", IEEE Communications Magazine 24 (1986); ITU-T I.371), so it is
 * counted as one, in the cache and in the records.
 *
 * <p>As a queue it also tells each admitted call how long to wait until what was in the bucket
 * before it has leaked: calls that keep to it leave one by one, at the rate. Immutable.
 *
 * @param mirror the token bucket that lacks what this bucket holds
 * @param isQueue whether admitted calls are told to wait
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
   * Returns how long an admitted call has to wait until everything that was in the bucket before it
   * has leaked. Never too long, and too short by less than a tick of the mirror's arithmetic, which
   * is a microsecond unless the numbers are very large.
   *
   * @param limit the limit by which the call was admitted: the mirror, or a node's share of it
   * @param pouredTokens the call's cost, if it is in the bucket already; else 0, as for a peek
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
