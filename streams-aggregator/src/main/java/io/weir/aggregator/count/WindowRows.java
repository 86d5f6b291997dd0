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
 *
 * <p>In each window the first endpoints of a client and meter, in the order in which they are
 * counted, have rows of their own; once there are {@link CountSettings#maxEndpoints} of them, every
 * further endpoint is counted in one row of the others. An endpoint is therefore always found in
 * the same row of a window, that of its first line: settlements, repetitions and late calls follow
 * it there.
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

  /** Returns the row in which an event is counted, which may not exist yet. */
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
    // late lines mostly come many at a time: only the first one of a row reads the stores
    return late.contains(key) || open.find(key) != null || ledger.hasClosed(key);
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

  /** Counts an event of an open window; returns whether it says another period than its row. */
  private boolean countOpen(RowKey key, CallEvent event, long digest) {
    OpenRow row = open.find(key);
    if (row == null) {
      row = open.create(key, event);
      begin(key);
    }
    open.add(row, event, state.offset, digest);
    return !Objects.equals(row.ownPeriod, key.ownPeriod(event));
  }

  /** Counts an event of a closed window; returns whether it says another period than its row. */
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
    endpoints.trim();
  }
}
