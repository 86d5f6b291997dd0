// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

/**
 * Says that a period of one partition is closed: every FINAL of a window that ends at or before
 * {@code closedThroughEpochMillis} stands above this row; what comes later is an ADJUSTMENT.
 *
 * @param inputPartition the partition that is closed
 * @param closedThroughEpochMillis the boundary; exclusive end of the last closed window
 * @param rows control total: FINAL and ADJUSTMENT rows between the CLOSE before and this one
 * @param quantityTotal control total: sum of those rows' quantity
 * @param complete false when a silent node was not waited for
 * @param emittedAtEpochMillis when the row was made, by the aggregator's clock
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
