// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

/** What a policy does with a call while the decision cache cannot answer. */
public enum FailureMode {
  /** Let the call pass; it is recorded and billed. */
  OPEN,
  /** Refuse the call with 503. */
  CLOSED,
  /** Decide on this node alone, by its share of the limit; recorded, billed and debited later. */
  LOCAL
}
