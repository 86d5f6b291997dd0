// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

/** What has come of holding a slot for another lease. Every case is immutable. */
public sealed interface SlotRenewal {
  /**
   * The slot is held for another lease.
   *
   * @param slot what renews and releases it from now on
   */
  record Renewed(HeldSlot slot) implements SlotRenewal {}

  /**
   * The slot is not held any more.
   *
   * @param detail why, in a sentence
   */
  record Ended(String detail) implements SlotRenewal {}

  /**
   * It is not known whether the slot was renewed; it is held until its lease ends at least.
   *
   * @param detail why, in a sentence
   */
  record Unavailable(String detail) implements SlotRenewal {}
}
