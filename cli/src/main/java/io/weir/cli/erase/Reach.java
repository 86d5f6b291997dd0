// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.erase;

/**
 * Decides which rows of a partition are out of reach. A row is out of reach if no present or future
 * record can change the row, and no recount of the calls topic can create the row again. Pure and
 * immutable.
 *
 * <p>All of these conditions must hold:
 *
 * <ul>
 *   <li>The row's window is closed, and the row's figures are those of the ledger.
 *   <li>The aggregator has counted a record whose time, by the broker's clock, is at or after the
 *       window's end plus the lateness. After that record, the aggregator refuses all calls of the
 *       window as too late.
 *   <li>The calls topic has none of the records that contributed to the row. A reset aggregator and
 *       {@code weir verify} read the topic again, and must find no call of the row.
 * </ul>
 *
 * Example: the lateness is 35 days, and the row of [1 March 10:00, 10:15) has 700 as its last
 * offset. The row is out of reach when a record of 5 April 10:15 or later is counted, and the calls
 * topic begins after offset 700.
 *
 * @param latenessMillis maximum lateness of a call
 * @param countedThroughEpochMillis the broker's time of the last record counted; 0 if none is
 * @param closedThroughEpochMillis all windows that end at this time or earlier are closed; 0 if
 *     none is
 * @param firstHeldOffset the first offset of the calls topic
 * @param endOffset the end offset of the calls topic, read after the row. If a row's last offset is
 *     at or after this end, the row belongs to a deleted topic of the same name, and the present
 *     topic has none of its records
 * @param heldMillis maximum time for which the calls topic keeps a record, or {@link #FOR_EVER}
 */
record Reach(
    long latenessMillis,
    long countedThroughEpochMillis,
    long closedThroughEpochMillis,
    long firstHeldOffset,
    long endOffset,
    long heldMillis) {

  /** An infinite duration, or a time that is never reached. */
  static final long FOR_EVER = -1;

  /** Returns whether a row is out of reach. */
  boolean isOver(ClientRow row) {
    return row.isFinal()
        && row.endEpochMillis() <= closedThroughEpochMillis
        && lateThrough(row) <= countedThroughEpochMillis
        && !isHeld(row);
  }

  /**
   * Returns the time at which a row is out of reach, provided that the aggregator has counted up to
   * this time. Returns {@link #FOR_EVER} if the calls topic keeps its records for ever. If the
   * returned time is in the past, the aggregator lags, or Kafka has not yet deleted expired
   * records.
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

  /** Returns the sum of a time and a duration; {@link Long#MAX_VALUE} if it overflows. */
  private static long plus(long epochMillis, long millis) {
    long sum = epochMillis + millis;
    return sum < epochMillis ? Long.MAX_VALUE : sum;
  }
}
