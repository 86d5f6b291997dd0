// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.aggregator.watermark.Interval;
import io.weir.aggregator.watermark.NodeWatermarks;
import io.weir.topics.model.CallEvent;
import java.util.List;
import java.util.Objects;

/**
 * The rows that count the calls and settlements of a partition: rows of open windows, and
 * adjustments of closed windows in the ledger. Not thread-safe.
 *
 * <p>In each window, the first {@link CountSettings#maxEndpoints} endpoints of a client and meter,
 * in counting order, have their own rows. All other endpoints share the others row. An endpoint
 * stays in the row of its first line in a window, also for settlements, duplicates and late calls.
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

  /** Returns the key of the row that counts an event; the row may not exist yet. */
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
    // late lines usually arrive in groups: only the first line of a row reads the stores
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
   * Counts an event in its row.
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
   * Counts an event of an open window; returns whether its billing period differs from its row's.
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
   * Counts an event of a closed window; returns whether its billing period differs from its row's.
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

  /** Drops a duplicate; its row counts the duplicate if the window is open. */
  void drop(RowKey key) {
    state.duplicate++;
    OpenRow row = isLate(key) ? null : open.find(key);
    if (row != null) {
      open.addDuplicate(row);
    }
  }

  /** Writes all rows and adjustments that a record has changed. */
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
    endpoints.trim();
  }
}
