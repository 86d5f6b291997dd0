// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

/**
 * What the client decides when no node of Weir has decided a call within its deadline. It is not
 * asked when a node has refused to decide: see {@link Decision.Cause}.
 */
public enum FailureMode {
  /** The call may pass. It is neither limited nor, as a rule, recorded. */
  OPEN,
  /** The call is refused. */
  CLOSED
}
