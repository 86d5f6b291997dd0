// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.aggregator.watermark.Interval;
import io.weir.aggregator.watermark.NodeWatermarks;
import io.weir.topics.model.CallEvent;
import java.util.List;
import java.util.Objects;

/**
 * The rows that sum the calls and settlements of a partition. Usage of an open window is added to
 * an open row. Usage of a closed window becomes an adjustment in the ledger. Not thread-safe.
 *
 * <p>In each window, the first {@link CountSettings#maxEndpoints} endpoints of a client and meter
 * have their own rows. The order of the endpoints is the order in which the counter first counts
 * them. All other endpoints share the others row. In one window, all lines of an endpoint,
 * including settlements, duplicates and late calls, are in the row of the endpoint's first line.
 */
final class WindowRows {
  private final CountSettings settings;
  private final OpenRows open;
  private final EndpointRows endpoints;
  private final LateUsage late = new LateUsage();
  private final Ledger ledger;
  private final NodeWatermarks nodes;
  private final PartitionState state;

  WindowRows(
      CountSettings settings,
      OpenRows open,
      EndpointRows endpoints,
      Ledger ledger,
      NodeWatermarks nodes,
      PartitionState state) {
    this.settings = settings;
    this.open = open;
    this.endpoints = endpoints;
    this.ledger = ledger;
    this.nodes = nodes;
    this.state = state;
  }

  /** Returns the key of the row to which an event belongs. The row may not exist yet. */
  RowKey of(CallEvent event) {
    long start = settings.boundaryAtOrBefore(event.decidedAtEpochMillis());
    RowKey own = new RowKey(start, event.client(), event.meter(), event.endpoint());
    if (exists(own)) {
      return own;
    }
    RowKey others = own.others();
    return endpoints.hasRoom(others) ? own : others;
  }

  private boolean exists(RowKey key) {
    if (!isLate(key)) {
      return open.find(key) != null;
    }
    // late lines usually arrive in groups, so the first condition avoids most reads of the stores
    return late.contains(key) || open.find(key) != null || ledger.hasClosed(key);
  }

  private boolean isLate(RowKey key) {
    return key.windowStartEpochMillis() + settings.windowMillis() <= state.boundaryEpochMillis();
  }

  /** Returns whether the quantity of a row remains in range if an event is added. */
  boolean hasRoomFor(RowKey key, CallEvent event) {
    return isLate(key)
        ? late.hasRoomFor(key, event, ledger::quantityOf)
        : open.hasRoomFor(key, event);
  }

  /**
   * Adds an event to its row.
   *
   * @param digest digest of the event's line
   */
  void count(RowKey key, CallEvent event, long digest) {
    state.inOtherRows += key.isOthers() ? 1 : 0;
    boolean isOfOtherPeriod;
    if (isLate(key)) {
      state.lateAdjusted++;
      isOfOtherPeriod = countLate(key, event, digest);
    } else {
      state.counted++;
      isOfOtherPeriod = countOpen(key, event, digest);
    }
    state.periodConflicts += isOfOtherPeriod ? 1 : 0;
  }

  /**
   * Adds an event of an open window. Returns whether the billing periods of the event and the row
   * differ.
   */
  private boolean countOpen(RowKey key, CallEvent event, long digest) {
    OpenRow row = open.find(key);
    if (row == null) {
      row = open.create(key, event);
      begin(key);
    }
    open.add(row, event, state.offset, digest);
    return !Objects.equals(row.ownPeriod, key.ownPeriod(event));
  }

  /**
   * Adds an event of a closed window. Returns whether the billing periods of the event and the row
   * differ.
   */
  private boolean countLate(RowKey key, CallEvent event, long digest) {
    if (!exists(key)) {
      begin(key);
    }
    return late.add(key, event, state.offset, digest, ledger::periodOf);
  }

  private void begin(RowKey key) {
    if (!key.isOthers()) {
      endpoints.added(key);
    }
  }

  /** Drops a duplicate. If the window is open, increases the number of duplicates of the row. */
  void drop(RowKey key) {
    state.duplicate++;
    OpenRow row = isLate(key) ? null : open.find(key);
    if (row != null) {
      open.addDuplicate(row);
    }
  }

  /** Stores the changed open rows. */
  void save() {
    open.saveTouched();
    endpoints.trim();
  }

  /** Returns the number of open rows whose changes are not stored yet. */
  int unsaved() {
    return open.touched();
  }

  /** Writes the adjustments of a record. */
  void adjust() {
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
