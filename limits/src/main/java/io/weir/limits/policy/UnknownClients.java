// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

/** The handling of calls of clients without settings. */
public enum UnknownClients {
  /** Decide them by the policies of the default plan and those of no plan. */
  ALLOW,

  /**
   * Decide them like {@link #ALLOW}, but let all unknown clients share the buckets of one client.
   */
  LIMIT,

  /** Deny the calls. */
  REFUSE
}
