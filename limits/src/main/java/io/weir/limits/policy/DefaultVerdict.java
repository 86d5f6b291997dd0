// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

/** What is done with calls that no policy matches. */
public enum DefaultVerdict {
  /** They are allowed, and counted. */
  ALLOW,

  /** They are denied. */
  REFUSE
}
