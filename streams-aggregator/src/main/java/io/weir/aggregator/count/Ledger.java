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
 * The writer of the ledger of one partition. This class writes each row once as FINAL when the
 * row's window is closed, and later usage as ADJUSTMENT. After all rows of a boundary, this class
 * writes a CLOSE. Not thread-safe.
 *
 * <p>The content of rows depends only on the records of the calls topic. The time at which a row is
 * written also depends on the budget. The control totals of a CLOSE are sums of the preceding rows,
 * so they depend on the records and on the budget.
 */
final class Ledger {
  /** Number of rows that the ledger reads from the store at once. */
  private static final int CHUNK_ROWS = 256;

  private final int partition;
  private final CountSettings settings;
  private final OpenRows open;
  private final ByteStore closed;
  private final PartitionState state;
  private final CountOutput output;
  private final LongSupplier clockEpochMillis;

  /** Key at which the next scan of open rows starts. Only deleted rows have lower keys. */
  private byte[] closeFrom;

  /** Key at which the next deletion of closed rows starts. No closed row has a lower key. */
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
   * @return whether all FINAL and CLOSE rows are written
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

  /**
   * Deletes closed rows that no accepted call can change. Returns whether the deletion is complete.
   */
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

  /** Returns whether the ledger has a record of a row. */
  boolean hasClosed(RowKey key) {
    return closed.get(key.toBytes()) != null;
  }

  /** Returns the quantity of a row of a closed window, even if its FINAL row is not written yet. */
  long quantityOf(RowKey key) {
    OpenRow waiting = open.find(key);
    byte[] known = closed.get(key.toBytes());
    return (waiting == null ? 0 : waiting.tally.quantity())
        + (known == null ? 0 : ClosedRow.ofBytes(known).total().quantity());
  }

  /**
   * Returns the billing period of a row of a closed window. Returns null if the row does not exist.
   */
  LateUsage.@Nullable RowPeriod periodOf(RowKey key) {
    OpenRow waiting = open.find(key);
    if (waiting != null) {
      return new LateUsage.RowPeriod(waiting.ownPeriod);
    }
    byte[] known = closed.get(key.toBytes());
    return known == null ? null : new LateUsage.RowPeriod(ClosedRow.ofBytes(known).ownPeriod());
  }

  /**
   * Writes an adjustment of a closed window. The adjustment has the billing period of the row's
   * previous ledger records. If the row has no ledger record, the adjustment has the billing period
   * of {@code late}.
   *
   * @param late the usage; its calls are marked as late
   * @param reason the reason for which the usage was added after the close
   * @param gaps intervals of event time for which calls may be missing
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
    // overflow is correct: readers also add modulo 2^64
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
