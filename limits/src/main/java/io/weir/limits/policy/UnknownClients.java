// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

/** What is done with calls of clients that have no settings. */
public enum UnknownClients {
  /** They are decided by the policies of the default plan, and by those of no plan. */
  ALLOW,

  /** As allowed, but all of them together have the buckets that a known client has alone. */
  LIMIT,

  /** They are denied. */
  REFUSE
}
