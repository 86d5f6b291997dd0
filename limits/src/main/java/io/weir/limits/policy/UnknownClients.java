// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

/** The handling of calls of clients without settings. */
public enum UnknownClients {
  /** Decide the calls by the policies of the default plan and the policies that no plan names. */
  ALLOW,

  /**
   * Decide the calls as with {@link #ALLOW}, but let all unknown clients share the buckets of one
   * client.
   */
  LIMIT,

  /** Deny the calls. */
  REFUSE
}
