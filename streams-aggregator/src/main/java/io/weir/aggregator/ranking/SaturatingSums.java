// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.ranking;

/**
 * Sums of non-negative figures, and bounds of differences of such sums. {@link Long#MAX_VALUE}
 * represents all greater values.
 */
final class SaturatingSums {
  private SaturatingSums() {}

  static long sum(long one, long other) {
    long sum = one + other;
    return sum < 0 ? Long.MAX_VALUE : sum;
  }

  /** Returns a lower bound of the difference. */
  static long least(long one, long other) {
    return other == Long.MAX_VALUE ? -Long.MAX_VALUE : one - other;
  }

  /** Returns an upper bound of the difference. */
  static long greatest(long one, long other) {
    return one == Long.MAX_VALUE ? Long.MAX_VALUE : one - other;
  }
}
