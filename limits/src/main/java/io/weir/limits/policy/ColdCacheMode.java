// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

/**
 * The behaviour of a quota while the cache has lost its state and is not restored yet. Token
 * buckets have no such choice: a lost one admits at most one capacity too much, and recovers by
 * itself.
 */
public enum ColdCacheMode {
  /** Decide by the state that the cache has; tokens admitted in excess are taken back later. */
  ALLOW,
  /** Do not decide by the cache: the policy's failure mode applies until the cache is restored. */
  HOLD
}
