// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

/**
 * A row that closes the windows of one partition up to a time. Every FINAL row of a window that
 * ends at or before {@code closedThroughEpochMillis} precedes this row. Every later row of the
 * closed windows is an ADJUSTMENT. Immutable.
 *
 * @param inputPartition partition of the calls topic whose windows are closed
 * @param closedThroughEpochMillis exclusive end of the last closed window
 * @param rows control total: number of FINAL and ADJUSTMENT rows since the previous CLOSE
 * @param quantityTotal control total: sum of the quantities of the counted {@code rows}
 * @param complete false if a window was closed without waiting for a silent node
 * @param emittedAtEpochMillis when the row was created, by the aggregator's clock
 */
public record CloseRow(
    int inputPartition,
    long closedThroughEpochMillis,
    long rows,
    long quantityTotal,
    boolean complete,
    long emittedAtEpochMillis)
    implements LedgerRow {
  public CloseRow {
    if (rows < 0) {
      throw new IllegalArgumentException("rows must be at least 0, but is " + rows);
    }
  }

  @Override
  public String recordId() {
    return RecordId.of(
        "close", Integer.toString(inputPartition), Long.toString(closedThroughEpochMillis));
  }

  @Override
  public CloseRow emittedAt(long epochMillis) {
    return new CloseRow(
        inputPartition, closedThroughEpochMillis, rows, quantityTotal, complete, epochMillis);
  }
}
