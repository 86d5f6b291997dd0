// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

/** The result of a request to renew a slot. Immutable. */
public sealed interface SlotRenewal {
  /**
   * The slot is renewed for another lease.
   *
   * @param slot the slot with a new token
   */
  record Renewed(HeldSlot slot) implements SlotRenewal {}

  /**
   * The call no longer holds the slot.
   *
   * @param detail a sentence that explains the reason
   */
  record Ended(String detail) implements SlotRenewal {}

  /**
   * The client does not know whether the slot was renewed. The call holds the slot at least until
   * the current lease ends.
   *
   * @param detail a sentence that explains the failure
   */
  record Unavailable(String detail) implements SlotRenewal {}
}
