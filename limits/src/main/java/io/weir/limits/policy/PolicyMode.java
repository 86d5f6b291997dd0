// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

/** The effect of a policy's verdict on a call. */
public enum PolicyMode {
  /** The policy denies calls. */
  ENFORCE,
  /** The policy is evaluated, charged and counted, but never denies a call. */
  SHADOW,
  /** The policy is not evaluated. */
  OFF
}
