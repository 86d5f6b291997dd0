// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

/**
 * Addition and subtraction that stop at a bound instead of overflowing. A client may send any
 * number of calls, each with a cost of up to 2^53 − 1, to one bucket. The debt of the bucket must
 * then be a very large number; it must not wrap around or stop the aggregator with an exception.
 * Billed quantities do not use this class: the aggregator quarantines a call before their sum could
 * leave its range. Stateless and thread-safe.
 */
final class Saturating {
  /** Maximum magnitude of a sum; two sums can be added without overflow. */
  static final long BOUND = (1L << 62) - 1;

  private Saturating() {}

  /**
   * Returns the sum of two numbers, both between −{@link #BOUND} and {@link #BOUND}, clamped to
   * these bounds.
   */
  static long add(long one, long other) {
    return bounded(one + other);
  }

  /**
   * Returns the difference of two numbers, both between −{@link #BOUND} and {@link #BOUND}, clamped
   * to these bounds.
   */
  static long subtract(long one, long other) {
    return bounded(one - other);
  }

  private static long bounded(long sum) {
    return Math.max(-BOUND, Math.min(sum, BOUND));
  }
}
