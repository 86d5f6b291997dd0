// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.correction;

import io.weir.limits.BucketLimit;
import io.weir.limits.Numbers;
import java.util.Locale;

/**
 * The state that a bucket should have according to the records. A correction states how full the
 * bucket should have been when the cache's counter of this epoch was {@code chargedTokens}. The
 * cache also takes the tokens that it charged after this counter value. A correction may therefore
 * arrive late, and the cache may apply a correction while it decides calls.
 *
 * <p>A correction states an absolute value, and may therefore arrive more than once. The cache
 * applies a correction only if the (epoch, version) is greater than the (epoch, version) of the
 * last applied correction. Immutable.
 *
 * @param bucket the bucket's key in the decision cache
 * @param limit the bucket's limit according to the newest record
 * @param epoch the bucket epoch to which the correction refers. If the bucket is missing, or has
 *     reverted to a state before {@code chargedTokens}, the correction begins a new epoch of the
 *     bucket
 * @param version number of the correction among the corrections of the bucket, from 1; a greater
 *     version replaces a smaller version
 * @param chargedTokens value of the cache's counter up to which the correction includes the records
 * @param fullAtEpochMicros when the bucket will be full if no call takes more tokens; determines
 *     the content of a token bucket. For a quota, the end of the period
 * @param totalTokens tokens of all records since the bucket was last known to be full. For a quota,
 *     the number of tokens used in the whole period; capacity − {@code totalTokens} are left
 * @param driftTokens cumulative difference in this epoch: tokens of the records − tokens that the
 *     cache charged. The difference is positive if the cache charged too few tokens, and negative
 *     if the cache charged tokens without a record
 * @param cause reason for which the correction was published
 * @param disturbedAtEpochMillis decision time of the oldest call that this correction includes for
 *     the first time
 * @param asOfEpochMillis when the correction was computed, by the clock of the Kafka broker
 * @param knownThroughEpochMicros time of the newest charge or stamp that the correction includes,
 *     by the cache's clock; 0 if the time is unknown. If the cache's clock is behind the charge by
 *     more than the bucket's fill time, the clock has stepped back, and the charge counts as made
 *     now
 */
public record Correction(
    String bucket,
    BucketLimit limit,
    long epoch,
    long version,
    long chargedTokens,
    long fullAtEpochMicros,
    long totalTokens,
    long driftTokens,
    Cause cause,
    long disturbedAtEpochMillis,
    long asOfEpochMillis,
    long knownThroughEpochMicros) {

  /** Reason for which a correction was published. */
  public enum Cause {
    /**
     * A charge was never recorded: the node crashed between the charge and the record, or the reply
     * of the cache came too late.
     */
    GAP,
    /**
     * A call was recorded, but the cache reverted to a state before its charge, because of a
     * failover or a restart from old data.
     */
    OVERLAP,
    /** A call was admitted without the cache, in the mode open or local. */
    UNSTAMPED,
    /**
     * The cache created a full bucket although the bucket could not be full. The cause is a flush
     * or an eviction.
     */
    FRESH_EPOCH,
    /** A call was settled at another cost than the charged cost. */
    SETTLE,
    /**
     * The cache has lost its state, or the limit of a quota has changed. The correction is
     * published even if the cache and the records agree.
     */
    RESTORE;

    /** Returns the lower-case wire name. */
    public String wireName() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /**
     * Returns the cause with the given wire name.
     *
     * @throws IllegalArgumentException if there is no such cause
     */
    public static Cause ofWireName(String wireName) {
      for (Cause cause : values()) {
        if (cause.wireName().equals(wireName)) {
          return cause;
        }
      }
      throw new IllegalArgumentException("unknown reason: '" + wireName + "'");
    }
  }

  public Correction {
    Numbers.require("epoch", epoch, 1);
    Numbers.require("version", version, 1);
    Numbers.require("charged", chargedTokens, 0);
    Numbers.require("full_at_us", fullAtEpochMicros, 0);
    Numbers.require("known_through_us", knownThroughEpochMicros, 0);
  }

  /**
   * Returns this correction of the bucket under another limit.
   *
   * @param otherFullAtEpochMicros when the bucket will be full under the other limit
   */
  public Correction withLimit(BucketLimit other, long otherFullAtEpochMicros) {
    return new Correction(
        bucket,
        other,
        epoch,
        version,
        chargedTokens,
        otherFullAtEpochMicros,
        totalTokens,
        driftTokens,
        cause,
        disturbedAtEpochMillis,
        asOfEpochMillis,
        knownThroughEpochMicros);
  }
}
