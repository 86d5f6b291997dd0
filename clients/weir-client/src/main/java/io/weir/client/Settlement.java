// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

import java.time.Duration;

/** What has come of telling Weir what a call turned out to cost. Every case is immutable. */
public sealed interface Settlement {
  /**
   * The call is billed at its actual cost.
   *
   * @param cost what the call cost when it was decided
   * @param actualCost what it is billed at
   * @param changed whether this request has changed the bill; false if it was so already
   */
  record Settled(long cost, long actualCost, boolean changed) implements Settlement {}

  /**
   * The settlement is recorded and not judged yet; ask again to learn how it is.
   *
   * @param cost what the call cost when it was decided
   * @param actualCost what it is to be billed at
   */
  record Recorded(long cost, long actualCost) implements Settlement {}

  /**
   * The call cannot be settled so: it was not found, was denied, or was settled before at another
   * cost.
   *
   * @param reason a word of the check API, such as {@code settled-before}
   * @param detail why, in a sentence
   */
  record Refused(String reason, String detail) implements Settlement {}

  /**
   * It is not known whether the settlement is recorded. A repetition is safe: a call is settled
   * once.
   *
   * @param detail why, in a sentence
   * @param retryAfter when to try again
   */
  record Unavailable(String detail, Duration retryAfter) implements Settlement {}
}
