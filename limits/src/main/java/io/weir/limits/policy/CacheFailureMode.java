// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

/** The behaviour of a policy while the decision cache is unavailable. */
public enum CacheFailureMode {
  /** Admit the call; it is recorded and billed. */
  OPEN,
  /** Reject the call with 503. */
  CLOSED,
  /**
   * Decide on this node by its share of the limit; the call is recorded, billed and debited later.
   */
  LOCAL
}
