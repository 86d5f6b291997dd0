// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

/**
 * A part of a call each of whose values has a bucket of its own. The order is that of a bucket's
 * key.
 */
public enum KeyPart {
  CLIENT,

  /** The client's plan. A call of a client without a plan has none. */
  PLAN,
  ENDPOINT,

  /** The caller's network. A call that gives no address has none. */
  IP
}
