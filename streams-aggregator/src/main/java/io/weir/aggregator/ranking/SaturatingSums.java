// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.ranking;

/**
 * Functions that compute sums of non-negative figures, and bounds of the difference of two sums.
 * {@link Long#MAX_VALUE} also represents all greater values.
 */
final class SaturatingSums {
  private SaturatingSums() {}

  static long sum(long one, long other) {
    long sum = one + other;
    return sum < 0 ? Long.MAX_VALUE : sum;
  }

  /** Returns a lower bound of the first sum minus the second sum. */
  static long least(long one, long other) {
    return other == Long.MAX_VALUE ? -Long.MAX_VALUE : one - other;
  }

  /** Returns an upper bound of the first sum minus the second sum. */
  static long greatest(long one, long other) {
    return one == Long.MAX_VALUE ? Long.MAX_VALUE : one - other;
  }
}
