// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

/** The result of releasing a slot. */
public enum SlotRelease {
  /** The slot is free. */
  RELEASED,
  /** The slot was already free. */
  ALREADY_FREE,
  /** The client does not know whether the slot is free. It becomes free when its lease ends. */
  UNAVAILABLE
}
