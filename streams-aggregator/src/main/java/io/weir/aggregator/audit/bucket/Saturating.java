// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

/**
 * Sums and differences that stop at a bound instead of overflowing. A caller may send any number of
 * calls, each with a cost of up to 2^53 − 1, to one bucket; what the bucket owes must then be a
 * very large number, not one that has wrapped around or an exception that stops the counting.
 * Billed quantities are not summed like this: a sum that would leave its range is refused before it
 * is made. Stateless and thread-safe.
 */
final class Saturating {
  /** Greatest magnitude of a sum; two of them can be added without overflow. */
  static final long BOUND = (1L << 62) - 1;

  private Saturating() {}

  /**
   * Returns the sum of two numbers between −{@link #BOUND} and {@link #BOUND}, clamped to these.
   */
  static long add(long one, long other) {
    return bounded(one + other);
  }

  /**
   * Returns one number minus the other, both between −{@link #BOUND} and {@link #BOUND}, clamped.
   */
  static long subtract(long one, long other) {
    return bounded(one - other);
  }

  private static long bounded(long sum) {
    return Math.max(-BOUND, Math.min(sum, BOUND));
  }
}
