// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

/** The handling of calls that no policy matches. */
public enum DefaultVerdict {
  /** Allow and count the calls. */
  ALLOW,

  /** Deny the calls. */
  REFUSE
}
