// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

/**
 * The number of tokens that a node may take from a bucket in advance, and the time for which the
 * node may use these tokens. With these tokens, the node decides calls without a request to the
 * cache. Immutable.
 *
 * @param tokens maximum number of tokens that a node takes from one bucket at a time, ≥ 1
 * @param micros time for which the node may use the tokens, in microseconds; this time begins
 *     before the node requests the tokens; {@value #MIN_MICROS} to {@value #MAX_MICROS}
 */
public record LeaseTerms(long tokens, long micros) {
  /** Shortest lease: 1 ms. */
  public static final long MIN_MICROS = 1_000;

  /** Longest lease: 1 s. The node's low watermark may be behind by up to this time. */
  public static final long MAX_MICROS = 1_000_000;

  public LeaseTerms {
    if (tokens < 1) {
      throw new IllegalArgumentException("lease tokens must be at least 1, but are " + tokens);
    }
    if (micros < MIN_MICROS || micros > MAX_MICROS) {
      throw new IllegalArgumentException(
          "a lease must last between %s and %s µs, but lasts %s"
              .formatted(MIN_MICROS, MAX_MICROS, micros));
    }
  }
}
