// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import io.weir.limits.Numbers;
import org.jspecify.annotations.Nullable;

/**
 * What a call turned out to cost, told after it was decided: a true-up when that is more than its
 * cost, a refund when less, a void at 0. A call is settled once.
 *
 * @param actualCost units to be billed in place of the call's cost, 0 to {@link
 *     CallEvent#MAX_QUANTITY}
 * @param settledAtEpochMillis when the settlement was recorded, by the decision cache's clock as
 *     far as the node knows it; at or after the call's decision but for clocks that differ
 * @param call the place of the line that recorded the call, in the settlement's own partition: only
 *     a line that was counted is settled. Null in records of nodes that did not name it; those are
 *     counted without that proof
 */
public record Settlement(long actualCost, long settledAtEpochMillis, @Nullable UsagePosition call) {
  public Settlement {
    if (actualCost < 0 || actualCost > CallEvent.MAX_QUANTITY) {
      throw new IllegalArgumentException(
          "actual_cost must be at least 0 and at most "
              + CallEvent.MAX_QUANTITY
              + ", is "
              + actualCost);
    }
    Numbers.require("settled_at_ms", settledAtEpochMillis, 0, Numbers.MAX_EPOCH_MILLIS);
  }

  /** A settlement as nodes wrote it that did not name the place of its call. */
  public Settlement(long actualCost, long settledAtEpochMillis) {
    this(actualCost, settledAtEpochMillis, null);
  }
}
