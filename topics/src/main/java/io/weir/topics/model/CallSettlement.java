// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import io.weir.limits.Numbers;
import org.jspecify.annotations.Nullable;

/**
 * The actual cost of a call, reported after it was decided: a true-up if it is above the call's
 * cost, a refund if below, a void at 0. A call is settled once. Immutable.
 *
 * @param actualCost units to be billed instead of the call's cost, 0 to {@link
 *     CallEvent#MAX_QUANTITY}
 * @param settledAtEpochMillis when the settlement was recorded, by the node's estimate of the
 *     decision cache's clock; not before the call's decision, except for differences between clocks
 * @param call the position of the line that recorded the call, in the settlement's own partition;
 *     only a counted line can be settled. Null in records of older nodes, which are refused
 */
public record CallSettlement(
    long actualCost, long settledAtEpochMillis, @Nullable UsagePosition call) {
  public CallSettlement {
    if (actualCost < 0 || actualCost > CallEvent.MAX_QUANTITY) {
      throw new IllegalArgumentException(
          "actual_cost must be at least 0 and at most "
              + CallEvent.MAX_QUANTITY
              + ", is "
              + actualCost);
    }
    Numbers.require("settled_at_ms", settledAtEpochMillis, 0, Numbers.MAX_EPOCH_MILLIS);
  }

  /** Creates a settlement without the position of its call, as older nodes write it. */
  public CallSettlement(long actualCost, long settledAtEpochMillis) {
    this(actualCost, settledAtEpochMillis, null);
  }
}
