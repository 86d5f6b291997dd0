// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.aggregator.audit.PartitionTime;
import io.weir.aggregator.state.ByteStore;
import io.weir.aggregator.state.Packer;
import io.weir.aggregator.state.Unpacker;
import io.weir.aggregator.watermark.Interval;
import io.weir.topics.model.PartitionProgress.Counters;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * The state of the counting of one partition, apart from its rows and nodes: counters, times and
 * boundaries. Stored as one entry of the progress store. Not thread-safe.
 */
final class PartitionState implements PartitionTime {
  private static final int VERSION = 5;

  /**
   * Without the number of endpoints, of the lines of those that are beyond it, and of the lines
   * that say another billing period than their row; every row is of a month of UTC.
   */
  private static final int VERSION_OF_MONTHS = 3;

  /** Without the number of endpoints, and of the lines of those that are beyond it. */
  private static final int VERSION_WITHOUT_ENDPOINTS = 4;

  private static final byte[] KEY = {'p'};

  /** Lines by their outcome: the terms of the written equation. */
  long received;

  long counted;
  long duplicate;
  long lateAdjusted;
  long quarantined;

  /** Calls that came under the id of another call; they are counted. */
  long idConflicts;

  /** Lines that say another billing period than the row in which they are counted. */
  long periodConflicts;

  /** Lines of {@code counted} and {@code lateAdjusted} in rows of endpoints without their own. */
  long inOtherRows;

  /** Offset of the last record taken; −1 before the first. */
  long offset = -1;

  /**
   * The broker's time of that record, as far as it is believed; never decreases once a node has
   * sent a record. A broker's clock may be wrong by days, and its time would be remembered for
   * good: it is believed up to {@link CountSettings#maxAheadOfNodesMillis} beyond the newest low
   * watermark of any node.
   */
  long appendEpochMillis;

  /** The broker's time of that record, as the broker stamped it. */
  long stampEpochMillis;

  private boolean brokerIsAhead;

  /**
   * The time by which work is paced: the broker's time of that record if it may be right, else the
   * newest low watermark of any node. May decrease.
   */
  long nowEpochMillis;

  /** The greatest low watermark in any record that may be right. */
  long newestNodeEpochMillis;

  /** Stored by versions that did not keep the time, of a log that had lost its beginning. */
  private static final long HELD_FROM_UNKNOWN = 1;

  /** Since when the log held every record; 0 when it held its first. */
  private long heldFromEpochMillis;

  /** The greatest low watermark of any journal that is believed. */
  long newestLowWatermarkEpochMillis;

  long watermarkEpochMillis;

  /** The boundary of the last CLOSE row that was written. */
  long closedThroughEpochMillis;

  /** The boundaries after it, ascending, whose CLOSE is still to be written. */
  final Deque<PendingClose> pending = new ArrayDeque<>();

  /** Control totals for the next CLOSE. */
  long rowsSinceClose;

  long quantitySinceClose;

  /**
   * Notes when the broker took the next record, and the node's time in it.
   *
   * @param lowWatermarkEpochMillis the low watermark in the record; 0 when it has none
   */
  void observe(long brokerEpochMillis, long lowWatermarkEpochMillis, CountSettings settings) {
    stampEpochMillis = brokerEpochMillis;
    long ahead = settings.maxAheadOfNodesMillis();
    if (lowWatermarkEpochMillis <= brokerEpochMillis + ahead) {
      newestNodeEpochMillis = Math.max(newestNodeEpochMillis, lowWatermarkEpochMillis);
    }
    brokerIsAhead = newestNodeEpochMillis > 0 && brokerEpochMillis > newestNodeEpochMillis + ahead;
    nowEpochMillis = brokerIsAhead ? newestNodeEpochMillis : brokerEpochMillis;
    long newest = Math.max(appendEpochMillis, brokerEpochMillis);
    appendEpochMillis =
        newestNodeEpochMillis == 0 ? newest : Math.min(newest, newestNodeEpochMillis + ahead);
  }

  /**
   * Notes the first record that is taken. Records before it that have expired were appended before
   * it, and concerned nothing that began much later.
   */
  void beginsWith(SourceRecord first) {
    heldFromEpochMillis =
        first.offset() > 0 ? first.appendEpochMillis() + CountSettings.MAX_AHEAD_MILLIS : 0;
  }

  @Override
  public boolean mayLackRecordsSince(long beganEpochMillis) {
    return heldFromEpochMillis == HELD_FROM_UNKNOWN || beganEpochMillis <= heldFromEpochMillis;
  }

  @Override
  public boolean isBrokerAhead() {
    return brokerIsAhead;
  }

  @Override
  public long nowEpochMillis() {
    return nowEpochMillis;
  }

  @Override
  public long watermarkEpochMillis() {
    return watermarkEpochMillis;
  }

  @Override
  public long newestNodeEpochMillis() {
    return newestNodeEpochMillis;
  }

  /** Returns the boundary before which everything is closed by definition. */
  long boundaryEpochMillis() {
    PendingClose last = pending.peekLast();
    return last == null ? closedThroughEpochMillis : last.boundaryEpochMillis();
  }

  /** Returns the pending boundary that closed the window with this end. */
  PendingClose closingOf(long windowEndEpochMillis) {
    for (PendingClose close : pending) {
      if (windowEndEpochMillis <= close.boundaryEpochMillis()) {
        return close;
      }
    }
    throw new IllegalStateException(
        "no pending boundary closes the window that ends at " + windowEndEpochMillis);
  }

  /** Returns the counters; throws if the equation does not hold. */
  Counters counters() {
    return new Counters(received, counted, duplicate, lateAdjusted, quarantined);
  }

  /**
   * Loads the state.
   *
   * @throws OtherWindowException when the state was counted with another window size
   * @throws OtherEndpointsException when it was counted with another number of endpoints
   */
  static PartitionState load(ByteStore store, CountSettings settings) {
    PartitionState state = new PartitionState();
    byte[] bytes = store.get(KEY);
    if (bytes == null) {
      return state;
    }
    Unpacker value = Unpacker.ofVersions(bytes, VERSION_OF_MONTHS, VERSION);
    long windowMillis = value.integer();
    if (windowMillis != settings.windowMillis()) {
      throw new OtherWindowException(windowMillis, settings.windowMillis());
    }
    if (value.version() == VERSION) {
      long maxEndpoints = value.integer();
      if (maxEndpoints != settings.maxEndpoints()) {
        throw new OtherEndpointsException(maxEndpoints, settings.maxEndpoints());
      }
      state.inOtherRows = value.integer();
    }
    state.received = value.integer();
    state.counted = value.integer();
    state.duplicate = value.integer();
    state.lateAdjusted = value.integer();
    state.quarantined = value.integer();
    state.idConflicts = value.integer();
    state.offset = value.integer();
    state.appendEpochMillis = value.integer();
    state.newestNodeEpochMillis = value.integer();
    state.nowEpochMillis = state.appendEpochMillis;
    state.heldFromEpochMillis = value.integer();
    state.newestLowWatermarkEpochMillis = value.integer();
    state.watermarkEpochMillis = value.integer();
    state.closedThroughEpochMillis = value.integer();
    state.rowsSinceClose = value.integer();
    state.quantitySinceClose = value.integer();
    int closes = value.count();
    for (int i = 0; i < closes; i++) {
      long boundary = value.integer();
      long at = value.integer();
      boolean hasGap = value.bool();
      state.pending.add(
          new PendingClose(
              boundary, at, hasGap ? new Interval(value.integer(), value.integer()) : null));
    }
    if (value.version() >= VERSION_WITHOUT_ENDPOINTS) {
      state.periodConflicts = value.integer();
    }
    return state;
  }

  void save(ByteStore store, CountSettings settings, Packer value) {
    value
        .reset()
        .integer(VERSION)
        .integer(settings.windowMillis())
        .integer(settings.maxEndpoints())
        .integer(inOtherRows)
        .integer(received)
        .integer(counted)
        .integer(duplicate)
        .integer(lateAdjusted)
        .integer(quarantined)
        .integer(idConflicts)
        .integer(offset)
        .integer(appendEpochMillis)
        .integer(newestNodeEpochMillis)
        .integer(heldFromEpochMillis)
        .integer(newestLowWatermarkEpochMillis)
        .integer(watermarkEpochMillis)
        .integer(closedThroughEpochMillis)
        .integer(rowsSinceClose)
        .integer(quantitySinceClose)
        .integer(pending.size());
    for (PendingClose close : pending) {
      Interval gap = close.possibleGap();
      value.integer(close.boundaryEpochMillis()).integer(close.atEpochMillis()).bool(gap != null);
      if (gap != null) {
        value.integer(gap.fromEpochMillis()).integer(gap.untilEpochMillis());
      }
    }
    store.put(KEY, value.integer(periodConflicts).toBytes());
  }
}
