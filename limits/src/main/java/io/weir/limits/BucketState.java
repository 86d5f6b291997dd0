// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

/**
 * The stored state of one bucket. A bucket without stored state is full and has no epoch. Created
 * by the {@link BucketArithmetic} of the bucket's limit. Immutable.
 *
 * @param units for a token bucket its content ({@code unitsPerToken} units are one token), negative
 *     if the bucket is in debt; for a quota the negated number of tokens used, so that a changed
 *     capacity applies to the whole period; −2^53 + 1 to 2^53 − 1
 * @param unitsPerToken units per token when the content was written; a different value shows that
 *     the limit has changed since; 0 for a quota
 * @param lastEpochMicros time up to which refill has been added, in microseconds since 1970 by the
 *     cache's clock; advances by whole ticks, so that the fraction of a tick is carried over. For a
 *     quota, when its state was created
 * @param epoch the bucket's epoch: microseconds since 1970 by the cache's clock when it was first
 *     charged, or recreated by a correction; 0 for a bucket that was never charged
 * @param correctedEpoch the epoch that the last applied correction referred to: this epoch, or the
 *     previous epoch if the correction began this epoch; 0 if none was applied
 * @param version version of that correction; 0 if none was applied
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
  /** The state of a bucket that was never charged. */
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

  /** Returns the version of the last correction of this epoch; 0 if there was none. */
  public long versionOfThisEpoch() {
    return correctedEpoch == epoch ? version : 0;
  }

  /**
   * Returns whether this is the state of a period. Its units are then the negated number of tokens
   * used.
   */
  boolean isOfPeriod() {
    return unitsPerToken == 0;
  }

  /** Returns this state with another time up to which refill has been added. */
  public BucketState withLast(long newLastEpochMicros) {
    return withContent(units, unitsPerToken, newLastEpochMicros);
  }

  /** Returns this state with another content, in the same epoch. */
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

  /** Returns the same content in a new epoch without charges, which a correction begins. */
  public BucketState begun(long newEpoch) {
    return new BucketState(
        units, unitsPerToken, lastEpochMicros, newEpoch, correctedEpoch, version, 0);
  }

  /** Returns this state after a correction of an epoch was applied. */
  public BucketState corrected(long lifeEpoch, long correctionVersion) {
    return new BucketState(
        units, unitsPerToken, lastEpochMicros, epoch, lifeEpoch, correctionVersion, chargedTokens);
  }

  /**
   * Returns the state after a charge, including the charge in the counter. The charge begins a new
   * epoch if it is the first one, or if the counter of the current epoch would leave its range.
   */
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
