// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

/** What is done with calls for which nothing is set. */
public enum DefaultVerdict {
  /** They are decided by the policies that match them, and allowed if none does. */
  ALLOW,

  /** They are denied. */
  REFUSE
}
