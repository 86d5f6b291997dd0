// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

/**
 * The decision of {@link WeirClient} if no node decides a call before the deadline. Some causes
 * refuse a call in every failure mode; see {@link Decision.Cause}.
 */
public enum FailureMode {
  /** The call may pass. Weir does not limit the call, and usually does not record it. */
  OPEN,
  /** The call is refused. */
  CLOSED
}
