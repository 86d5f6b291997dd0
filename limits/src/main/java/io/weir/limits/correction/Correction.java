// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.correction;

import io.weir.limits.BucketLimit;
import io.weir.limits.Numbers;
import java.util.Locale;

/**
 * The truth about one bucket, for the decision cache: "when your counter of this epoch stood at
 * {@code chargedTokens}, the bucket should have been this full". What the cache has charged since
 * is its own to add, so that a correction may be late, and may be applied while calls are decided.
 *
 * <p>Absolute, so that it may be repeated: a cache applies it only when (epoch, version) is greater
 * than what it has.
 *
 * @param bucket the bucket's key in the decision cache
 * @param limit the bucket's limit as the newest record tells it
 * @param epoch the life of the bucket that is spoken of; a bucket that is gone, or has gone back
 *     behind that, begins a new life with the correction
 * @param version counts the corrections of the bucket, from 1; greater ones replace lesser ones
 * @param chargedTokens the cache's counter up to which records are included
 * @param fullAtEpochMicros when the bucket will be full if nothing more is taken: for a token
 *     bucket this tells how full it is. The end of the period for a quota
 * @param totalTokens tokens of all records of the bucket since it was last known to be full; of the
 *     whole period for a quota, whose true rest is capacity − total
 * @param driftTokens exact − charged by the cache in this epoch, cumulative: what the cache missed
 *     (positive) or invented (negative)
 * @param cause why it was published
 * @param disturbedAtEpochMillis when the oldest call was decided that this correction takes into
 *     account for the first time
 * @param asOfEpochMillis when it was computed, by the broker's clock
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
    long asOfEpochMillis) {

  /** Why cache and records disagree. */
  public enum Cause {
    /** Charged, but never recorded: a crash between the two, or a reply that came too late. */
    GAP,
    /** Recorded, but the cache has gone back behind it: a failover, a restart from old data. */
    OVERLAP,
    /** Let through without the cache: fail-open or local mode. */
    UNSTAMPED,
    /** The bucket came back as new although it could not be full: a flush, an eviction. */
    FRESH_EPOCH,
    /** A call was settled at another cost than was charged. */
    SETTLE,
    /**
     * The cache has lost its state, or a quota's limit has changed; cache and records need not
     * disagree.
     */
    RESTORE;

    /** The lower-case word on the wire. */
    public String wireName() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** The cause of a wire name. */
    public static Cause ofWireName(String wireName) {
      for (Cause cause : values()) {
        if (cause.wireName().equals(wireName)) {
          return cause;
        }
      }
      throw new IllegalArgumentException("reason is not known: '" + wireName + "'");
    }
  }

  public Correction {
    Numbers.require("epoch", epoch, 1);
    Numbers.require("version", version, 1);
    Numbers.require("charged", chargedTokens, 0);
    Numbers.require("full_at_us", fullAtEpochMicros, 0);
  }

  /**
   * The same correction of the bucket under another limit.
   *
   * @param otherFullAtEpochMicros when the bucket will be full by that limit
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
        asOfEpochMillis);
  }
}
