// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import io.weir.limits.BucketKey;
import io.weir.limits.correction.Correction.Cause;
import java.util.List;
import java.util.Map;

/**
 * The accuracy of one partition's decisions, judged afterwards by the exact records. All figures
 * are cumulative from the partition's first record, except those called "now" or "open". Immutable.
 *
 * @param partition the partition
 * @param asOfEpochMillis the broker's time of the last record judged
 * @param policies figures by policy (as in the bucket's key, see {@link BucketKey#policy})
 * @param corrections corrections published, by cause; causes without any are absent
 * @param delays times from the disturbed decision until a decision reflected the correction: counts
 *     by {@link #DELAY_BOUNDS_MILLIS}, with one more for longer delays
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
   * @param decided decisions by the cache: charges and refusals
   * @param wronglyAdmitted calls that the cache admitted although the true bucket did not hold them
   * @param wronglyDenied calls that the cache refused although the true bucket held them
   * @param driftNowTokens sum over the live buckets of |true level − level in the cache|, as far as
   *     it is known and not seen to be corrected
   * @param outageTokens tokens let through without the cache
   * @param outageOpenTokens those of them that no decision has shown to be taken back yet
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
