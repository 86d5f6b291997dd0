// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

import java.time.Duration;

/** The result of settling a call at its actual cost. Immutable. */
public sealed interface Settlement {
  /**
   * The call is settled, and billed at its actual cost.
   *
   * @param cost cost of the call when it was decided
   * @param actualCost cost at which the call is billed
   * @param changed whether this request changed the bill; false if the call was settled before
   */
  record Settled(long cost, long actualCost, boolean changed) implements Settlement {}

  /**
   * The settlement is recorded, but has no verdict yet. Repeat the request to get the verdict.
   *
   * @param cost cost of the call when it was decided
   * @param actualCost cost at which the call will be billed if the verdict accepts the settlement
   */
  record Recorded(long cost, long actualCost) implements Settlement {}

  /**
   * The call cannot be settled at this cost: it was not found, was denied, or was settled before at
   * another cost.
   *
   * @param reason the reason as in the check API, such as {@code settled-before}
   * @param detail a sentence that explains the reason
   */
  record Refused(String reason, String detail) implements Settlement {}

  /**
   * The client does not know whether the settlement is recorded. Repeating the request is safe,
   * because a call can be settled only once.
   *
   * @param detail a sentence that explains the failure
   * @param retryAfter minimum time to wait before the next try
   */
  record Unavailable(String detail, Duration retryAfter) implements Settlement {}
}
