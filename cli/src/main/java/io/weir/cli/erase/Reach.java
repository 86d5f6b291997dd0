// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.erase;

/**
 * Judges which rows of a partition are out of reach: no record that could change one or count it
 * again is left or may still come. Pure and immutable.
 *
 * <p>A row is out of reach when all of this holds:
 *
 * <ul>
 *   <li>its window is closed, and its figures are those of the ledger;
 *   <li>the aggregator has counted through a time, by the broker's clock, from which on it refuses
 *       every call of the window as too late: the window's end and the lateness;
 *   <li>the calls topic holds none of the records that contributed to the row, so that nobody who
 *       reads the topic again, as a reset aggregator and {@code weir verify} do, finds a call of
 *       it.
 * </ul>
 *
 * With a lateness of 35 days and a row of [1 March 10:00, 10:15) whose last record has the offset
 * 700: it is out of reach when a record of 5 April 10:15 or later is counted, and the topic begins
 * at 701 or later.
 *
 * @param latenessMillis how late a call may be
 * @param countedThroughEpochMillis the broker's time of the last record counted; 0 if none is
 * @param closedThroughEpochMillis every window that ends then or earlier is closed; 0 if none is
 * @param firstHeldOffset the first offset that the calls topic holds
 * @param endOffset the offset after the last one that it holds, of a time after the row was read. A
 *     row with a greater offset is of a topic that was deleted; the one that has its name now holds
 *     none of its records
 * @param heldMillis for how long the calls topic holds a record at most; {@link #FOR_EVER}
 */
record Reach(
    long latenessMillis,
    long countedThroughEpochMillis,
    long closedThroughEpochMillis,
    long firstHeldOffset,
    long endOffset,
    long heldMillis) {

  /** Stands for a length of time, or a point in time, that never ends or comes. */
  static final long FOR_EVER = -1;

  /** Returns whether a row is out of reach. */
  boolean isOver(ClientRow row) {
    return row.isFinal()
        && row.endEpochMillis() <= closedThroughEpochMillis
        && lateThrough(row) <= countedThroughEpochMillis
        && !isHeld(row);
  }

  /**
   * Returns the time by which a row is out of reach if the aggregator counts until then, or {@link
   * #FOR_EVER} if the calls topic keeps its records for ever. It is past if the aggregator is
   * behind, or if Kafka has not deleted records yet that it may delete.
   */
  long overAt(ClientRow row) {
    if (!isHeld(row)) {
      return lateThrough(row);
    }
    return heldMillis == FOR_EVER
        ? FOR_EVER
        : Math.max(lateThrough(row), plus(row.writtenEpochMillis(), heldMillis));
  }

  private boolean isHeld(ClientRow row) {
    return row.lastOffset() >= firstHeldOffset && row.lastOffset() < endOffset;
  }

  private long lateThrough(ClientRow row) {
    return plus(row.endEpochMillis(), latenessMillis);
  }

  /** Returns a time so much later, or the last one there is. */
  private static long plus(long epochMillis, long millis) {
    long sum = epochMillis + millis;
    return sum < epochMillis ? Long.MAX_VALUE : sum;
  }
}
