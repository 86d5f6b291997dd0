// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

/**
 * The behaviour of a quota from a loss of the cache's state until the cache is restored. Token
 * buckets do not need this setting. After a loss, a token bucket admits at most its capacity in
 * excess, and then recovers by its refill.
 */
public enum ColdCacheMode {
  /**
   * Decide by the current state of the cache. A correction later takes the tokens that were
   * admitted in excess.
   */
  ALLOW,
  /** Do not decide by the cache. The policy's failure mode applies until the cache is restored. */
  HOLD
}
