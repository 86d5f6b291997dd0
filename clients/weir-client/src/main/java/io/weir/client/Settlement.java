// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

import java.time.Duration;

/** The result of a request to settle a call at its actual cost. Immutable. */
public sealed interface Settlement {
  /**
   * The call is settled, and Weir bills its actual cost.
   *
   * @param cost cost of the call when it was decided
   * @param actualCost cost that Weir bills for the call
   * @param changed whether this request changed the bill; false if an earlier request settled the
   *     call
   */
  record Settled(long cost, long actualCost, boolean changed) implements Settlement {}

  /**
   * The settlement is recorded, but the aggregator has not accepted or refused it yet. Repeat the
   * request to get the aggregator's verdict.
   *
   * @param cost cost of the call when it was decided
   * @param actualCost cost that Weir will bill if the aggregator accepts the settlement
   */
  record Recorded(long cost, long actualCost) implements Settlement {}

  /**
   * The call cannot be settled at this cost: the call was not found, was denied, or was settled
   * before at another cost.
   *
   * @param reason the reason in the node's response, such as {@code settled-before}
   * @param detail a sentence that explains the reason
   */
  record Refused(String reason, String detail) implements Settlement {}

  /**
   * The client does not know whether the settlement is recorded. A repetition of the request is
   * safe, because a call can be settled only once.
   *
   * @param detail a sentence that explains the failure
   * @param retryAfter minimum time to wait before the next try
   */
  record Unavailable(String detail, Duration retryAfter) implements Settlement {}
}
