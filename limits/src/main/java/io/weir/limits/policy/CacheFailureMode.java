// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

/** The behaviour of a policy while the decision cache is unavailable. */
public enum CacheFailureMode {
  /** Allow the call, and record and bill it. */
  OPEN,
  /** Reject the call with 503. */
  CLOSED,
  /**
   * Decide by the node's share of the limit. An allowed call is recorded and billed, and later
   * debited from the bucket.
   */
  LOCAL
}
