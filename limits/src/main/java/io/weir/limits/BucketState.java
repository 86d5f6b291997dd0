// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

/**
 * The stored state of one bucket. A bucket without a stored state is full and has no epoch.
 * Immutable.
 *
 * @param units content of a token bucket in units, −2^53 + 1 to 2^53 − 1; negative if the bucket is
 *     in debt. For a quota, the content is the negated number of tokens used. A changed capacity of
 *     a quota therefore applies to the whole period
 * @param unitsPerToken number of units per token when the content was written; 0 for a quota. If
 *     the current limit has another number of units per token, the limit has changed since the
 *     write
 * @param lastEpochMicros time up to which the content includes the refill, in microseconds since
 *     1970 by the cache's clock. The refill advances the time by whole ticks, so no fraction of a
 *     tick is lost. For a quota, the time when the state was created
 * @param epoch the bucket epoch, in microseconds since 1970 by the cache's clock; 0 for a bucket
 *     that was never charged. The epoch is the time of the first charge, or of the correction that
 *     created the bucket again
 * @param correctedEpoch the epoch to which the last applied correction refers; 0 without a
 *     correction. A correction that began the current epoch refers to the previous epoch
 * @param version version of the last applied correction; 0 without a correction
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

  /** Returns the version of the last correction of this epoch; 0 without a correction. */
  public long versionOfThisEpoch() {
    return correctedEpoch == epoch ? version : 0;
  }

  /**
   * Returns whether the bucket has a period, so that its units are the negated number of tokens
   * used.
   */
  boolean isOfPeriod() {
    return unitsPerToken == 0;
  }

  /** Returns this state with another {@link #lastEpochMicros}. */
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

  /**
   * Returns this state in a new epoch that a correction begins: the same content, and no charged
   * tokens.
   */
  public BucketState begun(long newEpoch) {
    return new BucketState(
        units, unitsPerToken, lastEpochMicros, newEpoch, correctedEpoch, version, 0);
  }

  /** Returns this state after a correction that refers to the given epoch. */
  public BucketState corrected(long lifeEpoch, long correctionVersion) {
    return new BucketState(
        units, unitsPerToken, lastEpochMicros, epoch, lifeEpoch, correctionVersion, chargedTokens);
  }

  /**
   * Returns the state after a charge. The counter of charged tokens includes the charge. The charge
   * begins a new epoch if it is the bucket's first charge, or if the counter would exceed its
   * range.
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
      throw new IllegalArgumentException(
          field + " must be between " + min + " and 2^53 − 1, but is " + value);
    }
  }
}
