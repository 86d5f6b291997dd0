// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

/** The result of renewing a slot. Every case is immutable. */
public sealed interface SlotRenewal {
  /**
   * The slot is held for another lease.
   *
   * @param slot the slot with its new token
   */
  record Renewed(HeldSlot slot) implements SlotRenewal {}

  /**
   * The slot is no longer held.
   *
   * @param detail a sentence that explains why
   */
  record Ended(String detail) implements SlotRenewal {}

  /**
   * It is unknown whether the slot was renewed. It is held at least until its lease ends.
   *
   * @param detail a sentence that explains the failure
   */
  record Unavailable(String detail) implements SlotRenewal {}
}
