// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

/**
 * How a node may take tokens of a policy's buckets in advance, to decide calls without asking the
 * cache. Immutable.
 *
 * @param tokens most tokens of one bucket that a node takes at a time, ≥ 1
 * @param micros for how long it may give them to calls, from before it asked for them; {@value
 *     #MIN_MICROS} to {@value #MAX_MICROS}
 */
public record LeaseTerms(long tokens, long micros) {
  /** Shortest lease. */
  public static final long MIN_MICROS = 1_000;

  /** Longest lease: for as long the low watermark of the node stands still. */
  public static final long MAX_MICROS = 1_000_000;

  public LeaseTerms {
    if (tokens < 1) {
      throw new IllegalArgumentException("a lease must be of at least 1 token, is of " + tokens);
    }
    if (micros < MIN_MICROS || micros > MAX_MICROS) {
      throw new IllegalArgumentException(
          "a lease must be for " + MIN_MICROS + " to " + MAX_MICROS + " µs, is for " + micros);
    }
  }
}
