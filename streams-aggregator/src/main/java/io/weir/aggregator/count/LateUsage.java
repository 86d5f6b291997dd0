// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.limits.BillingPeriod;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Settlement;
import io.weir.topics.model.UsageRow;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * The usage in one batch that belongs to closed windows, summed by row and reason. Iterates in the
 * order in which rows and reasons first appeared, so that a replay writes the same rows. Reused
 * from batch to batch. Not thread-safe.
 */
final class LateUsage {
  private final Map<Part, Late> sums = new LinkedHashMap<>();
  private final Map<RowKey, Long> quantities = new HashMap<>();

  /** The billing period of each row for which something is summed. */
  private final Map<RowKey, RowPeriod> periods = new HashMap<>();

  /**
   * What one adjustment is for.
   *
   * @param key the row that is adjusted
   * @param reason why: late calls, settlements and voids are adjusted separately
   */
  record Part(RowKey key, UsageRow.Reason reason) {}

  /**
   * What an adjustment says.
   *
   * @param tally the sum of its calls and settlements
   * @param ownPeriod the billing period of the first of them, for a window that has no row yet;
   *     null for the month of UTC
   */
  record Late(Tally tally, @Nullable BillingPeriod ownPeriod) {}

  /**
   * The billing period of a row.
   *
   * @param own null for the month of UTC
   */
  record RowPeriod(@Nullable BillingPeriod own) {}

  /**
   * Adds a call, or a settlement, that stood in the record with this offset.
   *
   * @param digest digest of the line
   * @param known gives the period of the row that there is, or null if there is none: the first
   *     call in it decides; called once a row
   * @return whether the call says another billing period than its row has
   */
  boolean add(
      RowKey key,
      CallEvent call,
      long offset,
      long digest,
      Function<RowKey, @Nullable RowPeriod> known) {
    RowPeriod said = new RowPeriod(key.ownPeriod(call));
    RowPeriod ofRow =
        periods.computeIfAbsent(key, row -> Objects.requireNonNullElse(known.apply(row), said));
    sums.computeIfAbsent(
            new Part(key, reason(call)), absent -> new Late(new Tally(), key.ownPeriod(call)))
        .tally()
        .add(call, offset, digest);
    quantities.computeIfPresent(key, (row, quantity) -> quantity + call.quantity());
    return !ofRow.equals(said);
  }

  private static UsageRow.Reason reason(CallEvent call) {
    Settlement settlement = call.settlement();
    if (settlement == null) {
      return UsageRow.Reason.LATE;
    }
    return settlement.actualCost() == 0 ? UsageRow.Reason.VOID : UsageRow.Reason.SETTLE;
  }

  /**
   * Returns whether a call leaves the quantity of its row in range; to be asked before {@link
   * #add}.
   *
   * @param quantityBefore gives the quantity of a row without what is summed here; called once a
   *     row
   */
  boolean hasRoomFor(RowKey key, CallEvent call, ToLongFunction<RowKey> quantityBefore) {
    if (call.quantity() == 0) {
      return true;
    }
    long quantity = quantities.computeIfAbsent(key, quantityBefore::applyAsLong);
    return Tally.isInRange(quantity, call.quantity());
  }

  /** Returns whether something is summed for a row. */
  boolean contains(RowKey key) {
    return periods.containsKey(key);
  }

  /** Returns whether the batch had nothing for closed windows. */
  boolean isEmpty() {
    return sums.isEmpty();
  }

  /** Passes each part and its sum to an action. */
  void forEach(BiConsumer<Part, Late> action) {
    sums.forEach(action);
  }

  /** Forgets everything, for the next batch. */
  void clear() {
    sums.clear();
    quantities.clear();
    periods.clear();
  }
}
