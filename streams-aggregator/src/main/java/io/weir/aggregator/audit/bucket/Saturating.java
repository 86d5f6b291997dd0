// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

/**
 * Saturating addition and subtraction, which return a bound instead of an overflowed result. A
 * client may send any number of calls to one bucket, each with a cost of up to 2^53 − 1. The sum
 * must not overflow, and must not stop the aggregator with an exception. Billed quantities do not
 * use this class, because the aggregator quarantines calls whose quantities would leave the valid
 * range. Stateless and thread-safe.
 */
final class Saturating {
  /** Maximum absolute value of a result. The sum of two results does not overflow. */
  static final long BOUND = (1L << 62) - 1;

  private Saturating() {}

  /**
   * Returns the sum of two numbers, limited to the range from −{@link #BOUND} to {@link #BOUND}.
   * Both numbers must be in this range.
   */
  static long add(long one, long other) {
    return bounded(one + other);
  }

  /**
   * Returns the difference of two numbers, limited to the range from −{@link #BOUND} to {@link
   * #BOUND}. Both numbers must be in this range.
   */
  static long subtract(long one, long other) {
    return bounded(one - other);
  }

  private static long bounded(long sum) {
    return Math.max(-BOUND, Math.min(sum, BOUND));
  }
}
