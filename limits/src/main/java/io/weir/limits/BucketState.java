// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

/**
 * What is kept of one bucket. A bucket that is not kept is full and has no epoch. Made by the
 * {@link BucketArithmetic} of its limit.
 *
 * @param units content of a token bucket, in units of which {@code unitsPerToken} make a token;
 *     negative when it is in debt. Of a quota minus the tokens used, so that a changed capacity
 *     comes right. −2^53 + 1 to 2^53 − 1
 * @param unitsPerToken worth of a token when the content was written; a limit that has changed
 *     since is recognised by it. 0 for a quota
 * @param lastEpochMicros up to when refill has been added, in microseconds since 1970 by the
 *     cache's clock; advances by whole ticks, so that the part of a tick is carried. Of a quota
 *     when its state was begun
 * @param epoch this life of the bucket: microseconds since 1970 by the cache's clock when it was
 *     first charged, or made anew by a correction; 0 for a bucket that never was
 * @param correctedEpoch the life that the last correction applied spoke of: this one, or the one
 *     before when that correction began this one; 0 when none was applied
 * @param version of that correction; 0 when none was applied
 * @param chargedTokens tokens taken in this epoch
 */
public record BucketState(
    long units,
    long unitsPerToken,
    long lastEpochMicros,
    long epoch,
    long correctedEpoch,
    long version,
    long chargedTokens) {
  /** Of a bucket that never was. */
  public static final BucketState NONE = new BucketState(0, 0, 0, 0, 0, 0, 0);

  public BucketState {
    requireRange("units", units, 1 - TokenBucketLimit.EXACT_BELOW);
    requireRange("unitsPerToken", unitsPerToken, 0);
    requireRange("lastEpochMicros", lastEpochMicros, 0);
    requireRange("epoch", epoch, 0);
    requireRange("correctedEpoch", correctedEpoch, 0);
    requireRange("version", version, 0);
    requireRange("chargedTokens", chargedTokens, 0);
  }

  /** Version of the last correction that spoke of this life; 0 when none has. */
  public long versionOfThisEpoch() {
    return correctedEpoch == epoch ? version : 0;
  }

  /** True for the state of a period, whose units are minus the tokens used. */
  boolean isOfPeriod() {
    return unitsPerToken == 0;
  }

  /** The same life with another content. */
  BucketState withContent(long newUnits, long newUnitsPerToken, long newLastEpochMicros) {
    return new BucketState(
        newUnits,
        newUnitsPerToken,
        newLastEpochMicros,
        epoch,
        correctedEpoch,
        version,
        chargedTokens);
  }

  /** The same content in another life, in which nothing was taken, begun by a correction. */
  public BucketState begun(long newEpoch) {
    return new BucketState(
        units, unitsPerToken, lastEpochMicros, newEpoch, correctedEpoch, version, 0);
  }

  /** The same bucket, after a correction of a life was applied. */
  public BucketState corrected(long lifeEpoch, long correctionVersion) {
    return new BucketState(
        units, unitsPerToken, lastEpochMicros, epoch, lifeEpoch, correctionVersion, chargedTokens);
  }

  /** The state after a charge; counts it, in a new epoch when this is the first or one too many. */
  BucketState charged(
      long unitsAfter, long lastAfterEpochMicros, long costTokens, long nowEpochMicros) {
    long chargedAfterTokens = chargedTokens + costTokens;
    boolean newEpoch = epoch == 0 || chargedAfterTokens >= TokenBucketLimit.EXACT_BELOW;
    return new BucketState(
        unitsAfter,
        unitsPerToken,
        lastAfterEpochMicros,
        newEpoch ? Math.max(nowEpochMicros, epoch + 1) : epoch,
        newEpoch ? 0 : correctedEpoch,
        newEpoch ? 0 : version,
        newEpoch ? costTokens : chargedAfterTokens);
  }

  private static void requireRange(String field, long value, long min) {
    if (value < min || value >= TokenBucketLimit.EXACT_BELOW) {
      throw new IllegalArgumentException(field + " must be " + min + " to 2^53 − 1, is " + value);
    }
  }
}
