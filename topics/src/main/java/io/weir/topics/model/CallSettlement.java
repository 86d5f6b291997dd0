// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import io.weir.limits.Numbers;
import org.jspecify.annotations.Nullable;

/**
 * The actual cost of a call, which a caller reports after the decision. If the actual cost is
 * greater than the call's cost, Weir charges the difference. If the actual cost is smaller, Weir
 * refunds the difference. An actual cost of 0 voids the call. A call can be settled only once.
 * Immutable.
 *
 * @param actualCost number of units to bill instead of the call's cost, 0 to {@link
 *     CallEvent#MAX_QUANTITY}
 * @param settledAtEpochMillis when the node recorded the settlement, by its estimate of the
 *     decision cache's clock; after the call's decision unless clocks differ
 * @param call position of the line that recorded the call, in the same partition; only a counted
 *     line can be settled. In records of older nodes, the position is null, and the aggregator
 *     refuses the settlement
 */
public record CallSettlement(
    long actualCost, long settledAtEpochMillis, @Nullable UsagePosition call) {
  public CallSettlement {
    if (actualCost < 0 || actualCost > CallEvent.MAX_QUANTITY) {
      throw new IllegalArgumentException(
          "actual_cost must be between 0 and " + CallEvent.MAX_QUANTITY + ", but is " + actualCost);
    }
    Numbers.require("settled_at_ms", settledAtEpochMillis, 0, Numbers.MAX_EPOCH_MILLIS);
  }

  /** Creates a settlement without the position of its call, as older nodes recorded it. */
  public CallSettlement(long actualCost, long settledAtEpochMillis) {
    this(actualCost, settledAtEpochMillis, null);
  }
}
