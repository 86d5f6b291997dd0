// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

/** What has come of giving a slot back. */
public enum SlotRelease {
  /** The slot is free. */
  RELEASED,
  /** The slot was free already. */
  ALREADY_FREE,
  /** It is not known whether the slot is free; its lease ends by itself. */
  UNAVAILABLE
}
