// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

/** A part of a call each of whose values has a bucket of its own. */
public enum KeyPart {
  CLIENT,
  ENDPOINT
}
