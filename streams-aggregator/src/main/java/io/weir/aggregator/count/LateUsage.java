// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Settlement;
import io.weir.topics.model.UsageRow;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.ToLongFunction;

/**
 * Sums of what one batch has for closed windows, by row and reason, in the order in which these
 * first appeared, so that a replay writes alike. Not safe for threads; reused from batch to batch.
 */
final class LateUsage {
  private final Map<Part, Tally> tallies = new LinkedHashMap<>();
  private final Map<RowKey, Long> quantities = new HashMap<>();

  /**
   * What one adjustment is made of.
   *
   * @param key the row that is adjusted
   * @param reason late calls, settlements and voids are told apart
   */
  record Part(RowKey key, UsageRow.Reason reason) {}

  void add(RowKey key, CallEvent call, long offset) {
    tallies.computeIfAbsent(new Part(key, reason(call)), absent -> new Tally()).add(call, offset);
    quantities.computeIfPresent(key, (row, quantity) -> quantity + call.quantity());
  }

  private static UsageRow.Reason reason(CallEvent call) {
    Settlement settlement = call.settlement();
    if (settlement == null) {
      return UsageRow.Reason.LATE;
    }
    return settlement.actualCost() == 0 ? UsageRow.Reason.VOID : UsageRow.Reason.SETTLE;
  }

  /**
   * Whether a call leaves the quantity of its row in range; to be asked before it is added.
   *
   * @param quantityBefore the quantity of a row without what is folded here; asked once a row
   */
  boolean hasRoomFor(RowKey key, CallEvent call, ToLongFunction<RowKey> quantityBefore) {
    if (call.quantity() == 0) {
      return true;
    }
    long quantity = quantities.computeIfAbsent(key, quantityBefore::applyAsLong);
    return Tally.isInRange(quantity, call.quantity());
  }

  boolean isEmpty() {
    return tallies.isEmpty();
  }

  void forEach(BiConsumer<Part, Tally> action) {
    tallies.forEach(action);
  }

  void clear() {
    tallies.clear();
    quantities.clear();
  }
}
