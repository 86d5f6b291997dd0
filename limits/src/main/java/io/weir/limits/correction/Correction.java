// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.correction;

import io.weir.limits.BucketLimit;
import io.weir.limits.Numbers;
import java.util.Locale;

/**
 * The true state of one bucket, for the decision cache. It states how full the bucket should have
 * been when the cache's counter of this epoch was {@code chargedTokens}. The cache itself accounts
 * for its charges since then. A correction may therefore arrive late, and may be applied while
 * calls are decided.
 *
 * <p>The state is absolute, so that a correction may be repeated. A cache applies it only if
 * (epoch, version) is greater than that of the last applied correction. Immutable.
 *
 * @param bucket the bucket's key in the decision cache
 * @param limit the bucket's limit according to the newest record
 * @param epoch the epoch of the bucket to which the correction refers. A bucket that is missing, or
 *     that has reverted to a state before {@code chargedTokens}, begins a new epoch with the
 *     correction
 * @param version number of the correction among those of the bucket, from 1; a greater version
 *     replaces a lesser one
 * @param chargedTokens the value of the cache's counter up to which records are included
 * @param fullAtEpochMicros when the bucket will be full if nothing more is taken; for a token
 *     bucket this determines its content, for a quota it is the end of the period
 * @param totalTokens tokens of all records of the bucket since it was last known to be full; for a
 *     quota those of the whole period, so that capacity − total tokens are left
 * @param driftTokens exact sum − sum charged by the cache in this epoch, cumulative: positive for
 *     tokens that the cache missed, negative for tokens that it charged without a record
 * @param cause why the correction was published
 * @param disturbedAtEpochMillis decision time of the oldest call that this correction includes for
 *     the first time
 * @param asOfEpochMillis when the correction was computed, by the broker's clock
 * @param knownThroughEpochMicros time by the cache's clock of the newest charge or stamp that the
 *     correction includes. If the cache's clock is behind it by more than the bucket takes to fill,
 *     the clock has stepped back since, and this time counts as now. 0 if it is not known
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

  /** Why the cache and the records disagree. */
  public enum Cause {
    /**
     * A charge was never recorded: the node crashed between charge and record, or the reply came
     * too late.
     */
    GAP,
    /**
     * A call was recorded, but the cache reverted to a state before it: a failover, or a restart
     * from old data.
     */
    OVERLAP,
    /** A call was admitted without the cache: fail-open or local mode. */
    UNSTAMPED,
    /** The bucket was recreated as full although it could not be full: a flush or an eviction. */
    FRESH_EPOCH,
    /** A call was settled at a cost other than the charged cost. */
    SETTLE,
    /**
     * The cache has lost its state, or a quota's limit has changed; the cache and the records need
     * not disagree.
     */
    RESTORE;

    /** Returns the lower-case wire name. */
    public String wireName() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /**
     * Returns the cause with the given wire name.
     *
     * @throws IllegalArgumentException if there is none
     */
    public static Cause ofWireName(String wireName) {
      for (Cause cause : values()) {
        if (cause.wireName().equals(wireName)) {
          return cause;
        }
      }
      throw new IllegalArgumentException("unknown reason '" + wireName + "'");
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
   * @param otherFullAtEpochMicros when the bucket will be full under that limit
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
