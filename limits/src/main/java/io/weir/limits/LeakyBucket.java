// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import java.time.Duration;
import java.time.temporal.ChronoUnit;
import org.jspecify.annotations.Nullable;

/**
 * A leaky bucket. Calls add their cost to the bucket, and the bucket leaks evenly. Weir denies a
 * call that would make the bucket overflow. The content equals the number of tokens that are
 * missing in a token bucket with the same capacity and rate. The cache and the records therefore
 * store this token bucket, the <em>mirror</em>. Sources: Turner, "New directions in
 * communications", IEEE Communications Magazine 24 (1986); ITU-T I.371.
 *
 * <p>A queue also gives each admitted call a delay: the time until the tokens that were in the
 * bucket before this call have leaked. Calls that wait for their delay proceed one after another,
 * at the rate. Immutable.
 *
 * @param mirror the token bucket whose number of missing tokens is the content of this bucket
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
   * Returns the delay of an admitted call: the time until the tokens that were in the bucket before
   * this call have leaked. The delay can be too short by less than one tick of the mirror's
   * arithmetic, and is never too long. A tick is a microsecond unless the capacity or the rate is
   * very large.
   *
   * @param limit the limit that admitted the call: the mirror, or a node's share of the mirror
   * @param pouredTokens the call's cost if the bucket already contains this cost; otherwise 0, for
   *     example for a peek
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
