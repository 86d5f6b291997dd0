// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.aggregator.watermark.Interval;
import io.weir.aggregator.watermark.NodeWatermarks;
import io.weir.topics.model.CallEvent;
import java.util.List;
import java.util.Objects;

/**
 * The rows in which the calls and settlements of a partition are counted: those of open windows,
 * and, for windows that are closed, adjustments that are written to the ledger. Not thread-safe.
 */
final class WindowRows {
  private final CountSettings settings;
  private final OpenRows open;
  private final LateUsage late = new LateUsage();
  private final Ledger ledger;
  private final NodeWatermarks nodes;
  private final PartitionState state;

  WindowRows(
      CountSettings settings,
      OpenRows open,
      Ledger ledger,
      NodeWatermarks nodes,
      PartitionState state) {
    this.settings = settings;
    this.open = open;
    this.ledger = ledger;
    this.nodes = nodes;
    this.state = state;
  }

  /** Returns the row in which an event is counted. */
  RowKey of(CallEvent event) {
    long start = settings.boundaryAtOrBefore(event.decidedAtEpochMillis());
    return new RowKey(start, event.client(), event.meter(), event.endpoint());
  }

  private boolean isLate(RowKey key) {
    return key.windowStartEpochMillis() + settings.windowMillis() <= state.boundaryEpochMillis();
  }

  /** Returns whether an event leaves the quantity of its row in range. */
  boolean hasRoomFor(RowKey key, CallEvent event) {
    return isLate(key)
        ? late.hasRoomFor(key, event, ledger::quantityOf)
        : open.hasRoomFor(key, event);
  }

  /** Counts an event in its row. */
  void count(RowKey key, CallEvent event) {
    state.hasOwnPeriods |= event.billing() != null;
    boolean isOfOtherPeriod;
    if (isLate(key)) {
      state.lateAdjusted++;
      isOfOtherPeriod = late.isOfOtherPeriod(key, event, ledger::periodOf);
      late.add(key, event, state.offset);
    } else {
      state.counted++;
      OpenRow row = open.add(key, event, state.offset);
      isOfOtherPeriod = !Objects.equals(row.ownPeriod, key.ownPeriod(event));
    }
    if (isOfOtherPeriod) {
      state.periodConflicts++;
    }
  }

  /** Drops an event that was counted before, which its row records if it is still open. */
  void drop(RowKey key) {
    state.duplicate++;
    OpenRow row = isLate(key) ? null : open.find(key);
    if (row != null) {
      open.addDuplicate(row);
    }
  }

  /** Writes what a record has changed. */
  void write() {
    open.saveTouched();
    if (!late.isEmpty()) {
      List<Interval> gaps = nodes.possibleGaps(state.newestLowWatermarkEpochMillis);
      late.forEach(
          (part, sum) -> {
            sum.tally().markLate();
            ledger.adjust(part.key(), sum, part.reason(), gaps);
          });
    }
    late.clear();
  }
}
