// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

/**
 * A part of a bucket's key: each value of this part of a call has its own bucket. The order is that
 * of the parts in a key.
 */
public enum KeyPart {
  CLIENT,

  /** The client's plan; absent if the client has no plan. */
  PLAN,
  ENDPOINT,

  /** The caller's network; absent if the call has no address. */
  IP
}
