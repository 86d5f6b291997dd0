// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import io.weir.limits.BucketKey;
import io.weir.limits.correction.Correction.Cause;
import java.util.List;
import java.util.Map;

/**
 * The accuracy of one partition's decisions, which the aggregator computes from the records. All
 * figures except {@code driftNowTokens} and {@code outageOpenTokens} are cumulative from the
 * partition's first record. Immutable.
 *
 * @param partition the partition
 * @param asOfEpochMillis time of the last evaluated record, by the broker's clock
 * @param policies figures by policy (as in the bucket's key, see {@link BucketKey#policy})
 * @param corrections number of published corrections, by cause; causes without corrections are
 *     absent
 * @param delays histogram of correction delays: counts by {@link #DELAY_BOUNDS_MILLIS}, and one
 *     count of the delays above the last bound. A delay begins with the first wrong decision and
 *     ends with the first decision that reflects the correction
 */
public record PartitionAccuracy(
    int partition,
    long asOfEpochMillis,
    Map<String, Figures> policies,
    Map<Cause, Long> corrections,
    List<Long> delays) {
  /** Upper bounds of the histogram of delays, in milliseconds. */
  public static final List<Long> DELAY_BOUNDS_MILLIS =
      List.of(
          50L, 75L, 100L, 150L, 200L, 250L, 300L, 400L, 500L, 750L, 1_000L, 2_000L, 5_000L, 10_000L,
          30_000L, 60_000L, 600_000L);

  public PartitionAccuracy {
    policies = Map.copyOf(policies);
    corrections = Map.copyOf(corrections);
    delays = List.copyOf(delays);
    if (delays.size() != DELAY_BOUNDS_MILLIS.size() + 1) {
      throw new IllegalArgumentException(
          "delays must have "
              + (DELAY_BOUNDS_MILLIS.size() + 1)
              + " counts, but has "
              + delays.size());
    }
  }

  /**
   * The figures of one policy.
   *
   * @param decided number of decisions by the cache: charges and denials
   * @param wronglyAdmitted number of calls that the cache admitted although the bucket, by the
   *     records, did not have enough tokens
   * @param wronglyDenied number of calls that the cache denied although the bucket, by the records,
   *     had enough tokens
   * @param driftNowTokens sum of |level by the records − level in the cache| over the live buckets.
   *     The sum includes only known differences that no decision has confirmed as corrected
   * @param outageTokens number of tokens that were admitted without the cache
   * @param outageOpenTokens the part of {@code outageTokens} that, according to the decisions so
   *     far, no correction has taken from the buckets yet
   */
  public record Figures(
      long decided,
      long wronglyAdmitted,
      long wronglyDenied,
      long driftNowTokens,
      long outageTokens,
      long outageOpenTokens) {
    /** The figures before any decision. */
    public static final Figures NONE = new Figures(0, 0, 0, 0, 0, 0);
  }
}
