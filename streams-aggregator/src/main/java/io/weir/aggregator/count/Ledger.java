// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.aggregator.state.Budget;
import io.weir.aggregator.state.ByteStore;
import io.weir.aggregator.watermark.Interval;
import io.weir.topics.model.CloseRow;
import io.weir.topics.model.UsageCount;
import io.weir.topics.model.UsageRow;
import io.weir.topics.model.UsageState;
import io.weir.topics.model.UsageWindow;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Writes the ledger of one partition. Writes each row once as FINAL when its window is closed,
 * later usage as ADJUSTMENT, and a CLOSE after all rows of a boundary. Not thread-safe.
 *
 * <p>The content depends only on the records of the calls topic; the time of writing depends on the
 * budget. Only the control totals of a CLOSE, which sum the preceding rows, depend on both.
 */
final class Ledger {
  /** Number of rows read from the store before the first of them is written. */
  private static final int CHUNK_ROWS = 256;

  private final int partition;
  private final CountSettings settings;
  private final OpenRows open;
  private final ByteStore closed;
  private final PartitionState state;
  private final CountOutput output;
  private final LongSupplier clockEpochMillis;

  /** First key of the next scan; only deleted open rows precede it. */
  private byte[] closeFrom;

  /** First key of the next deletion; no closed row precedes it. */
  private byte[] forgetFrom = RowKey.from(0);

  Ledger(
      int partition,
      CountSettings settings,
      OpenRows open,
      ByteStore closed,
      PartitionState state,
      CountOutput output,
      LongSupplier clockEpochMillis) {
    this.partition = partition;
    this.settings = settings;
    this.open = open;
    this.closed = closed;
    this.state = state;
    this.output = output;
    this.clockEpochMillis = clockEpochMillis;
    this.closeFrom = RowKey.from(state.closedThroughEpochMillis);
  }

  /**
   * Writes the FINAL rows and the CLOSE of each pending boundary.
   *
   * @return whether all are written
   */
  boolean close(Budget budget) {
    PendingClose close;
    while ((close = state.pending.peekFirst()) != null) {
      List<OpenRow> rows;
      do {
        rows = open.scan(closeFrom, close.boundaryEpochMillis(), CHUNK_ROWS);
        for (OpenRow row : rows) {
          if (budget.isSpent()) {
            return false;
          }
          writeFinal(row, close);
          closeFrom = row.keyBytes;
        }
      } while (!rows.isEmpty());
      writeClose(close);
    }
    return true;
  }

  /** Deletes closed rows that are too old for any later call; returns whether all are deleted. */
  boolean forget(int maxRows) {
    long horizon =
        settings.boundaryAtOrBefore(
            Math.max(0, state.watermarkEpochMillis - settings.latenessMillis())
                - settings.windowMillis());
    if (horizon <= 0) {
      return true;
    }
    List<ByteStore.Entry> old = closed.scan(forgetFrom, RowKey.from(horizon), maxRows);
    for (ByteStore.Entry entry : old) {
      closed.delete(entry.key());
      forgetFrom = entry.key();
    }
    return old.size() < maxRows;
  }

  /** Returns whether a row of a closed window is in the ledger. */
  boolean hasClosed(RowKey key) {
    return closed.get(key.toBytes()) != null;
  }

  /** Returns the quantity of a row of a closed window, whether or not its FINAL is written. */
  long quantityOf(RowKey key) {
    OpenRow waiting = open.find(key);
    byte[] known = closed.get(key.toBytes());
    return (waiting == null ? 0 : waiting.tally.quantity())
        + (known == null ? 0 : ClosedRow.ofBytes(known).total().quantity());
  }

  /** Returns the billing period of a row of a closed window; null if there is no row yet. */
  LateUsage.@Nullable RowPeriod periodOf(RowKey key) {
    OpenRow waiting = open.find(key);
    if (waiting != null) {
      return new LateUsage.RowPeriod(waiting.ownPeriod);
    }
    byte[] known = closed.get(key.toBytes());
    return known == null ? null : new LateUsage.RowPeriod(ClosedRow.ofBytes(known).ownPeriod());
  }

  /**
   * Writes an adjustment of a closed window. It has the billing period of the previous ledger
   * records of the row; without any, the billing period of its first call.
   *
   * @param late the usage; its calls are marked as late
   * @param reason why it arrived after the close
   * @param gaps event times for which calls may currently be missing
   */
  void adjust(RowKey key, LateUsage.Late late, UsageRow.Reason reason, List<Interval> gaps) {
    OpenRow waiting = open.find(key);
    UsageWindow window = key.window(settings.windowMillis());
    if (waiting != null) {
      writeFinal(waiting, state.closingOf(window.endEpochMillis()));
    }
    byte[] keyBytes = key.toBytes();
    byte[] known = closed.get(keyBytes);
    ClosedRow before =
        known == null
            ? new ClosedRow(0, UsageCount.ZERO, late.ownPeriod())
            : ClosedRow.ofBytes(known);
    UsageCount difference = late.tally().toCount();
    ClosedRow after =
        new ClosedRow(before.revision() + 1, before.total().plus(difference), before.ownPeriod());
    boolean complete =
        gaps.stream()
            .noneMatch(gap -> gap.overlaps(window.startEpochMillis(), window.endEpochMillis()));
    String previous =
        before.revision() == 0
            ? null
            : UsageRow.recordId(key.usageKey(), window, before.revision());
    write(
        new UsageRow(
            key.usageKey(),
            window,
            UsageRow.Type.ADJUSTMENT,
            after.revision(),
            previous,
            reason,
            difference,
            after.total().quantity(),
            partition,
            state.boundaryEpochMillis(),
            complete,
            clockEpochMillis.getAsLong(),
            after.ownPeriod()),
        state.appendEpochMillis);
    settle(key, keyBytes, after, UsageState.Status.ADJUSTED, complete, state.appendEpochMillis);
  }

  private void writeFinal(OpenRow row, PendingClose close) {
    UsageWindow window = row.key.window(settings.windowMillis());
    UsageCount count = row.tally.toCount();
    boolean complete = close.isComplete(window);
    open.remove(row);
    write(
        new UsageRow(
            row.key.usageKey(),
            window,
            UsageRow.Type.FINAL,
            1,
            null,
            null,
            count,
            count.quantity(),
            partition,
            close.boundaryEpochMillis(),
            complete,
            clockEpochMillis.getAsLong(),
            row.ownPeriod),
        close.atEpochMillis());
    settle(
        row.key,
        row.keyBytes,
        new ClosedRow(1, count, row.ownPeriod),
        UsageState.Status.FINAL,
        complete,
        close.atEpochMillis());
  }

  private void write(UsageRow row, long atEpochMillis) {
    state.rowsSinceClose++;
    // a control total may wrap around (modulo 2^64), as does the sum of its reader
    state.quantitySinceClose += row.count().quantity();
    output.ledger(row, atEpochMillis);
  }

  private void settle(
      RowKey key,
      byte[] keyBytes,
      ClosedRow row,
      UsageState.Status status,
      boolean complete,
      long atEpochMillis) {
    closed.put(keyBytes, row.toBytes());
    output.state(
        new UsageState(
            key.usageKey(),
            key.window(settings.windowMillis()),
            status,
            row.revision(),
            row.total(),
            complete,
            row.ownPeriod()),
        atEpochMillis);
  }

  private void writeClose(PendingClose close) {
    output.ledger(
        new CloseRow(
            partition,
            close.boundaryEpochMillis(),
            state.rowsSinceClose,
            state.quantitySinceClose,
            close.possibleGap() == null,
            clockEpochMillis.getAsLong()),
        close.atEpochMillis());
    state.rowsSinceClose = 0;
    state.quantitySinceClose = 0;
    state.closedThroughEpochMillis = close.boundaryEpochMillis();
    state.pending.removeFirst();
  }
}
