// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

/** The result of a request to release a slot. */
public enum SlotRelease {
  /** The slot is free. */
  RELEASED,
  /** The slot was already free. */
  ALREADY_FREE,
  /**
   * The client does not know whether the slot is free. The slot becomes free when its lease ends.
   */
  UNAVAILABLE
}
