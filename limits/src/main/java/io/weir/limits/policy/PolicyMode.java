// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

/** What a policy's verdict does to a call. */
public enum PolicyMode {
  /** A denied call is refused. */
  ENFORCE,
  /** The verdict is evaluated, charged and counted, but never refuses a call. */
  SHADOW,
  /** The policy is not evaluated. */
  OFF
}
