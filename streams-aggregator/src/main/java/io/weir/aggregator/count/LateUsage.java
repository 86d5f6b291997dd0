// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.limits.BillingPeriod;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CallSettlement;
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
 * The usage of closed windows in one batch, summed by row and reason. The iteration follows the
 * order in which rows and reasons first occur, so a repeated count writes the same rows. The object
 * is reused for each batch. Not thread-safe.
 */
final class LateUsage {
  private final Map<Part, Late> sums = new LinkedHashMap<>();
  private final Map<RowKey, Long> quantities = new HashMap<>();

  /** The billing period of each row with a sum. */
  private final Map<RowKey, RowPeriod> periods = new HashMap<>();

  /**
   * The subject of one adjustment.
   *
   * @param key the adjusted row
   * @param reason the reason; each reason has its own adjustment
   */
  record Part(RowKey key, UsageRow.Reason reason) {}

  /**
   * The content of one adjustment.
   *
   * @param tally the sum of the adjustment's calls and settlements
   * @param ownPeriod the billing period of the first call or settlement; null if it is the month in
   *     UTC. A row that does not exist yet gets this period
   */
  record Late(UsageTally tally, @Nullable BillingPeriod ownPeriod) {}

  /**
   * The billing period of a row.
   *
   * @param own the billing period of the client's own calendar; null if it is the month in UTC
   */
  record RowPeriod(@Nullable BillingPeriod own) {}

  /**
   * Adds a call or a settlement.
   *
   * @param offset offset of the record that contains the line
   * @param digest digest of the line
   * @param known returns the billing period of an existing row, or null if the row does not exist;
   *     called once per row
   * @return whether the call and its row have different billing periods
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
            new Part(key, reason(call)), absent -> new Late(new UsageTally(), key.ownPeriod(call)))
        .tally()
        .add(call, offset, digest);
    quantities.computeIfPresent(key, (row, quantity) -> quantity + call.quantity());
    return !ofRow.equals(said);
  }

  private static UsageRow.Reason reason(CallEvent call) {
    CallSettlement settlement = call.settlement();
    if (settlement == null) {
      return UsageRow.Reason.LATE;
    }
    return settlement.actualCost() == 0 ? UsageRow.Reason.VOID : UsageRow.Reason.SETTLE;
  }

  /**
   * Returns whether the quantity of a row remains in range if a call is added. Must be called
   * before {@link #add}.
   *
   * @param quantityBefore returns the quantity of a row without this batch; called once per row
   */
  boolean hasRoomFor(RowKey key, CallEvent call, ToLongFunction<RowKey> quantityBefore) {
    if (call.quantity() == 0) {
      return true;
    }
    long quantity = quantities.computeIfAbsent(key, quantityBefore::applyAsLong);
    return UsageTally.isInRange(quantity, call.quantity());
  }

  /** Returns whether the batch contains usage of a row. */
  boolean contains(RowKey key) {
    return periods.containsKey(key);
  }

  /** Returns whether the batch contains no usage of closed windows. */
  boolean isEmpty() {
    return sums.isEmpty();
  }

  /** Calls an action with each row and reason, and the sum of their usage. */
  void forEach(BiConsumer<Part, Late> action) {
    sums.forEach(action);
  }

  /** Clears all sums for the next batch. */
  void clear() {
    sums.clear();
    quantities.clear();
    periods.clear();
  }
}
