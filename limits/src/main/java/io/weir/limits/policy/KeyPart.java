// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

/**
 * A property of a call that is part of the key of the call's bucket. Each value of the property has
 * its own bucket. The constants have the order of the parts in a key.
 */
public enum KeyPart {
  CLIENT,

  /** The client's plan; absent if the client has no plan. */
  PLAN,
  ENDPOINT,

  /** The caller's network; absent if the call has no address. */
  IP
}
