// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

/** The result of releasing a slot. */
public enum SlotRelease {
  /** The slot is free. */
  RELEASED,
  /** The slot was already free. */
  ALREADY_FREE,
  /** It is unknown whether the slot is free; it becomes free when its lease ends. */
  UNAVAILABLE
}
