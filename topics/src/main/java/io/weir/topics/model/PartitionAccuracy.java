// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import io.weir.limits.BucketKey;
import io.weir.limits.correction.Correction.Cause;
import java.util.List;
import java.util.Map;

/**
 * The accuracy of one partition's decisions, computed afterwards from the exact records. All
 * figures are cumulative from the partition's first record, except those named "now" or "open".
 * Immutable.
 *
 * @param partition the partition
 * @param asOfEpochMillis the broker's time of the last record judged
 * @param policies figures by policy (as in the bucket's key, see {@link BucketKey#policy})
 * @param corrections number of published corrections, by cause; causes without corrections are
 *     absent
 * @param delays histogram of the time from the disturbed decision to the first decision that
 *     reflects the correction: counts by {@link #DELAY_BOUNDS_MILLIS}, and one count of longer
 *     delays
 */
public record PartitionAccuracy(
    int partition,
    long asOfEpochMillis,
    Map<String, Figures> policies,
    Map<Cause, Long> corrections,
    List<Long> delays) {
  /** Upper bounds of the classes of delays, in milliseconds. */
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
          "delays has " + delays.size() + " classes, not " + (DELAY_BOUNDS_MILLIS.size() + 1));
    }
  }

  /**
   * The figures of one policy.
   *
   * @param decided decisions by the cache: charges and denials
   * @param wronglyAdmitted calls that the cache admitted although the true bucket did not hold them
   * @param wronglyDenied calls that the cache denied although the true bucket held them
   * @param driftNowTokens sum over the live buckets of |true level − level in the cache|, as far as
   *     known and not confirmed as corrected
   * @param outageTokens tokens admitted without the cache
   * @param outageOpenTokens those of them that no decision has confirmed as taken back yet
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
