// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

/**
 * The behaviour of a quota while the cache has lost its state and is not restored. Token buckets do
 * not need this setting: a lost token bucket admits at most one capacity too much, and recovers by
 * itself.
 */
public enum ColdCacheMode {
  /** Decide by the current state of the cache; tokens admitted in excess are taken back later. */
  ALLOW,
  /** Do not decide by the cache: the policy's failure mode applies until the cache is restored. */
  HOLD
}
