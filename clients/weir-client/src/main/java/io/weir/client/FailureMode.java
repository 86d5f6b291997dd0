// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

/**
 * The client's decision when no node has decided a call within its deadline. It does not apply when
 * a node has refused to decide: see {@link Decision.Cause}.
 */
public enum FailureMode {
  /** The call may pass. It is not limited and usually not recorded. */
  OPEN,
  /** The call is refused. */
  CLOSED
}
