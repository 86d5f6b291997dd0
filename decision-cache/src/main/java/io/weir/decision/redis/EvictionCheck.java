// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

/**
 * The result of the check whether a server may evict buckets before they expire. An evicted bucket
 * is full again at the next call. The client can then exceed its limit. Immutable.
 *
 * @param maxMemoryBytes {@code maxmemory} of the server; 0 for no bound, −1 if the value is unknown
 * @param policy {@code maxmemory-policy} of the server; empty if the policy is unknown
 */
public record EvictionCheck(Result result, long maxMemoryBytes, String policy) {
  /** The results. */
  public enum Result {
    /**
     * The server evicts no buckets. The server's memory is unbounded, or the server rejects writes
     * when its memory is full.
     */
    SAFE,
    /**
     * The server may evict buckets. The server's memory is bounded, and its policy evicts keys with
     * a TTL. All buckets have a TTL.
     */
    MAY_EVICT,
    /** The server does not report its settings, or has not replied yet. */
    UNKNOWN
  }

  static final EvictionCheck NOT_KNOWN = new EvictionCheck(Result.UNKNOWN, -1, "");

  /**
   * Returns the result for the fields of {@code INFO memory}.
   *
   * @param maxMemoryBytes {@code maxmemory}; −1 if the server does not report the value
   * @param policy {@code maxmemory_policy}; empty if the server does not report the policy
   */
  static EvictionCheck of(long maxMemoryBytes, String policy) {
    if (maxMemoryBytes < 0 || policy.isEmpty()) {
      return NOT_KNOWN;
    }
    boolean safe = maxMemoryBytes == 0 || policy.equals("noeviction");
    return new EvictionCheck(safe ? Result.SAFE : Result.MAY_EVICT, maxMemoryBytes, policy);
  }

  /** Returns a sentence about the result for a log or a health page. */
  public String describe() {
    return switch (result) {
      case SAFE -> "the server evicts no buckets";
      case UNKNOWN -> "the server does not report whether it may evict buckets";
      case MAY_EVICT ->
          "the server may evict buckets: maxmemory="
              + maxMemoryBytes
              + " maxmemory-policy="
              + policy
              + "; set maxmemory-policy to noeviction";
    };
  }
}
