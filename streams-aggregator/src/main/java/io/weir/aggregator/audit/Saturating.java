// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit;

/**
 * Sums that stop at a bound. A caller may send any number of calls, each with a cost of up to 2^53
 * − 1, to one bucket; what a bucket owes must then be "very much", and never a number that has
 * wrapped around or an exception that stops the counting. Bills are not summed so: a sum of theirs
 * that could leave its range is refused before it is made. Stateless and safe for threads.
 */
final class Saturating {
  /** Greatest magnitude of a sum; two of them can be added without overflow. */
  static final long BOUND = (1L << 62) - 1;

  private Saturating() {}

  /** The sum of two numbers between −{@link #BOUND} and {@link #BOUND}, kept there. */
  static long add(long one, long other) {
    return bounded(one + other);
  }

  /** The difference of two numbers between −{@link #BOUND} and {@link #BOUND}, kept there. */
  static long subtract(long one, long other) {
    return bounded(one - other);
  }

  private static long bounded(long sum) {
    return Math.max(-BOUND, Math.min(sum, BOUND));
  }
}
