// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

/**
 * The row that closes a period of one partition. Every FINAL row of a window that ends at or before
 * {@code closedThroughEpochMillis} precedes this row. Later rows are ADJUSTMENTs. Immutable.
 *
 * @param inputPartition the partition that is closed
 * @param closedThroughEpochMillis the boundary: exclusive end of the last closed window
 * @param rows control total: number of FINAL and ADJUSTMENT rows since the previous CLOSE
 * @param quantityTotal control total: sum of those rows' quantity
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
      throw new IllegalArgumentException("rows must not be negative, is " + rows);
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
