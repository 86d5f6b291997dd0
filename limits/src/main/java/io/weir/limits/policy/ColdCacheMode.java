// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

/**
 * What a quota does while the cache has lost its state and the exact figure is not back yet. Token
 * buckets do not have the choice: a lost one costs a capacity at most, and heals.
 */
public enum ColdCacheMode {
  /** Decide by what the cache has; what is admitted too much is taken back. */
  ALLOW,
  /**
   * Do not decide by the cache: the policy's failure mode answers until the exact figure is back.
   */
  HOLD
}
