// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.topics.model.CallEvent;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.ToLongFunction;

/**
 * Sums of the late calls of one batch, by row, in the order in which the rows first appeared, so
 * that a replay writes alike. Not safe for threads; reused from batch to batch.
 */
final class Fold {
  private final Map<RowKey, Tally> tallies = new LinkedHashMap<>();
  private final Map<RowKey, Long> quantitiesBefore = new HashMap<>();

  void add(RowKey key, CallEvent call, long offset) {
    tallies.computeIfAbsent(key, absent -> new Tally()).add(call, offset);
  }

  /**
   * Whether a call leaves the quantity of its row in range.
   *
   * @param quantityBefore the quantity of a row without what is folded here; asked once a row
   */
  boolean hasRoomFor(RowKey key, CallEvent call, ToLongFunction<RowKey> quantityBefore) {
    if (!call.allowed()) {
      return true;
    }
    long before = quantitiesBefore.computeIfAbsent(key, quantityBefore::applyAsLong);
    Tally tally = tallies.get(key);
    long quantity = tally == null ? before : before + tally.quantity();
    return quantity <= CallEvent.MAX_QUANTITY - call.cost();
  }

  boolean isEmpty() {
    return tallies.isEmpty();
  }

  void forEach(BiConsumer<RowKey, Tally> action) {
    tallies.forEach(action);
  }

  void clear() {
    tallies.clear();
    quantitiesBefore.clear();
  }
}
