// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

import java.time.Duration;

/** The result of settling a call at its actual cost. Every case is immutable. */
public sealed interface Settlement {
  /**
   * The call is billed at its actual cost.
   *
   * @param cost cost of the call when it was decided
   * @param actualCost cost at which it is billed
   * @param changed whether this request changed the bill; false if it was settled before
   */
  record Settled(long cost, long actualCost, boolean changed) implements Settlement {}

  /**
   * The settlement is recorded but not judged yet. Repeat the request to get its result.
   *
   * @param cost cost of the call when it was decided
   * @param actualCost cost at which it will be billed
   */
  record Recorded(long cost, long actualCost) implements Settlement {}

  /**
   * The call cannot be settled at this cost: it was not found, was denied, or was settled before at
   * another cost.
   *
   * @param reason a reason of the check API, such as {@code settled-before}
   * @param detail a sentence that explains the reason
   */
  record Refused(String reason, String detail) implements Settlement {}

  /**
   * It is unknown whether the settlement is recorded. A repetition is safe: a call is settled once.
   *
   * @param detail a sentence that explains the failure
   * @param retryAfter time to wait before the next try
   */
  record Unavailable(String detail, Duration retryAfter) implements Settlement {}
}
