// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.aggregator.audit.PartitionTime;
import io.weir.aggregator.state.ByteStore;
import io.weir.aggregator.state.Packer;
import io.weir.aggregator.state.StoredMembers;
import io.weir.aggregator.state.Unpacker;
import io.weir.aggregator.watermark.Interval;
import io.weir.topics.model.PartitionProgress.Counters;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * The counters, times and boundaries of one partition. This state is stored as one entry of the
 * progress store. Rows and nodes have their own state. Not thread-safe.
 */
final class PartitionState implements PartitionTime {
  private static final int VERSION = 5;

  private static final byte[] KEY = {'p'};

  /**
   * The numbers of lines by outcome: received = counted + duplicate + lateAdjusted + quarantined.
   */
  long received;

  long counted;
  long duplicate;
  long lateAdjusted;
  long quarantined;

  /** Number of calls with the id of another call. These calls are counted. */
  long idConflicts;

  /** Number of lines whose billing period differs from the billing period of their row. */
  long periodConflicts;

  /** Number of counted and late-adjusted lines in others rows. */
  long inOtherRows;

  /** Offset of the last counted record, or −1 if no record was counted. */
  long offset = -1;

  /**
   * The latest broker's time of all counted records, limited to {@link
   * CountSettings#maxAheadOfNodesMillis} after the newest low watermark of all nodes. The limit is
   * necessary because the counter stores this time permanently, and a broker's clock may be wrong
   * by days. This time never decreases after the first record of a node.
   */
  long appendEpochMillis;

  /** The unchanged timestamp of the last counted record, from the broker. */
  long stampEpochMillis;

  private boolean brokerIsAhead;

  /**
   * The current time of the partition. The current time is the broker's time of the last counted
   * record, or the newest low watermark of all nodes if the broker's time is implausible. The
   * current time can decrease.
   */
  long nowEpochMillis;

  /** The greatest plausible low watermark of all records. */
  long newestNodeEpochMillis;

  /** Time since which the log contains every record; 0 if the first counted record has offset 0. */
  private long heldFromEpochMillis;

  /** The greatest trusted low watermark of all journals. */
  long newestLowWatermarkEpochMillis;

  long watermarkEpochMillis;

  /** The boundary of the last written CLOSE row. */
  long closedThroughEpochMillis;

  /** The boundaries whose CLOSE row is not written yet, in ascending order. */
  final Deque<PendingClose> pending = new ArrayDeque<>();

  /** Control totals for the next CLOSE row. */
  long rowsSinceClose;

  long quantitySinceClose;

  /**
   * Updates the times with the broker's time and the low watermark of the next record.
   *
   * @param lowWatermarkEpochMillis the low watermark in the record; 0 if the record has none
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
   * Computes the time since which the log contains every record, from the first counted record.
   * Records that Kafka deleted before the first read are older than this time.
   */
  void beginsWith(SourceRecord first) {
    heldFromEpochMillis =
        first.offset() > 0 ? first.appendEpochMillis() + CountSettings.MAX_AHEAD_MILLIS : 0;
  }

  @Override
  public boolean mayLackRecordsSince(long beganEpochMillis) {
    return beganEpochMillis <= heldFromEpochMillis;
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

  /**
   * Returns the newest boundary. All windows that end at or before this boundary are closed,
   * although their rows may not be written yet.
   */
  long boundaryEpochMillis() {
    PendingClose last = pending.peekLast();
    return last == null ? closedThroughEpochMillis : last.boundaryEpochMillis();
  }

  /** Returns the pending boundary that closed the window with this end time. */
  PendingClose closingOf(long windowEndEpochMillis) {
    for (PendingClose close : pending) {
      if (windowEndEpochMillis <= close.boundaryEpochMillis()) {
        return close;
      }
    }
    throw new IllegalStateException(
        "no pending boundary closes the window that ends at " + windowEndEpochMillis);
  }

  /**
   * Returns the counters. Throws an exception if {@code received} is not the sum of the other
   * counters.
   */
  Counters counters() {
    return new Counters(received, counted, duplicate, lateAdjusted, quarantined);
  }

  /**
   * Loads the state.
   *
   * @throws OtherWindowException if the state was counted with another window length
   * @throws OtherEndpointsException if the state was counted with another maximum number of
   *     endpoints
   */
  static PartitionState load(ByteStore store, CountSettings settings) {
    PartitionState state = new PartitionState();
    byte[] bytes = store.get(KEY);
    if (bytes == null) {
      return state;
    }
    Unpacker value = Unpacker.ofVersion(bytes, VERSION);
    long windowMillis = value.integer();
    if (windowMillis != settings.windowMillis()) {
      throw new OtherWindowException(windowMillis, settings.windowMillis());
    }
    long maxEndpoints = value.integer();
    if (maxEndpoints != settings.maxEndpoints()) {
      throw new OtherEndpointsException(maxEndpoints, settings.maxEndpoints());
    }
    state.store(value.members());
    state.nowEpochMillis = state.appendEpochMillis;
    int closes = value.count();
    for (int i = 0; i < closes; i++) {
      long boundary = value.integer();
      long at = value.integer();
      boolean hasGap = value.bool();
      state.pending.add(
          new PendingClose(
              boundary, at, hasGap ? new Interval(value.integer(), value.integer()) : null));
    }
    state.periodConflicts = value.integer();
    return state;
  }

  /** Writes or reads the members before the pending boundaries. */
  private void store(StoredMembers members) {
    inOtherRows = members.integer(inOtherRows);
    received = members.integer(received);
    counted = members.integer(counted);
    duplicate = members.integer(duplicate);
    lateAdjusted = members.integer(lateAdjusted);
    quarantined = members.integer(quarantined);
    idConflicts = members.integer(idConflicts);
    offset = members.integer(offset);
    appendEpochMillis = members.integer(appendEpochMillis);
    newestNodeEpochMillis = members.integer(newestNodeEpochMillis);
    heldFromEpochMillis = members.integer(heldFromEpochMillis);
    newestLowWatermarkEpochMillis = members.integer(newestLowWatermarkEpochMillis);
    watermarkEpochMillis = members.integer(watermarkEpochMillis);
    closedThroughEpochMillis = members.integer(closedThroughEpochMillis);
    rowsSinceClose = members.integer(rowsSinceClose);
    quantitySinceClose = members.integer(quantitySinceClose);
  }

  void save(ByteStore store, CountSettings settings, Packer value) {
    value
        .reset()
        .integer(VERSION)
        .integer(settings.windowMillis())
        .integer(settings.maxEndpoints());
    store(value.members());
    value.integer(pending.size());
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
