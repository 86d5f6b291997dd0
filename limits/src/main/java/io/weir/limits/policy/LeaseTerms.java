// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

/**
 * Terms on which a node may take tokens of a policy's buckets in advance, to decide calls without a
 * request to the cache. Immutable.
 *
 * @param tokens maximum tokens of one bucket that a node takes at a time, ≥ 1
 * @param micros how long the node may use them, from before its request for them; {@value
 *     #MIN_MICROS} to {@value #MAX_MICROS}
 */
public record LeaseTerms(long tokens, long micros) {
  /** Shortest lease. */
  public static final long MIN_MICROS = 1_000;

  /** Longest lease. The low watermark of the node does not advance for up to this time. */
  public static final long MAX_MICROS = 1_000_000;

  public LeaseTerms {
    if (tokens < 1) {
      throw new IllegalArgumentException("a lease must have at least 1 token, has " + tokens);
    }
    if (micros < MIN_MICROS || micros > MAX_MICROS) {
      throw new IllegalArgumentException(
          "a lease must last " + MIN_MICROS + " to " + MAX_MICROS + " µs, lasts " + micros);
    }
  }
}
