// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.erase;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * The result of an erasure. Immutable.
 *
 * @param partition the client's partition
 * @param over number of rows that were out of reach; they are erased, except by a dry run
 * @param firstOver start of the first window with a row out of reach; null if no row was out of
 *     reach
 * @param lastOver end of the last window with a row out of reach; null if no row was out of reach
 * @param inReach number of rows that are still in reach; they are not erased
 * @param allOver time at which all rows are out of reach; null if no row is in reach, or if {@code
 *     neverOver} is true
 * @param neverOver whether a row stays in reach for ever, because the calls topic keeps the row's
 *     records
 * @param countedThrough the broker's time of the last record that the aggregator has counted in the
 *     partition; null if it has counted none
 */
public record ErasureReport(
    int partition,
    long over,
    @Nullable Instant firstOver,
    @Nullable Instant lastOver,
    long inReach,
    @Nullable Instant allOver,
    boolean neverOver,
    @Nullable Instant countedThrough) {

  /** Builds a report. Not thread-safe. */
  static final class Tally {
    private final int partition;
    private long over;
    private long firstOverEpochMillis = Long.MAX_VALUE;
    private long lastOverEpochMillis;
    private long inReach;
    private long allOverEpochMillis;
    private boolean neverOver;
    private long countedThroughEpochMillis;

    Tally(int partition) {
      this.partition = partition;
    }

    void over(ClientRow row) {
      over++;
      firstOverEpochMillis = Math.min(firstOverEpochMillis, row.startEpochMillis());
      lastOverEpochMillis = Math.max(lastOverEpochMillis, row.endEpochMillis());
    }

    void inReach(ClientRow row, long overAtEpochMillis) {
      inReach++;
      neverOver |= overAtEpochMillis == Reach.FOR_EVER;
      allOverEpochMillis = Math.max(allOverEpochMillis, overAtEpochMillis);
    }

    void countedThrough(long epochMillis) {
      countedThroughEpochMillis = epochMillis;
    }

    ErasureReport report() {
      return new ErasureReport(
          partition,
          over,
          over == 0 ? null : Instant.ofEpochMilli(firstOverEpochMillis),
          over == 0 ? null : Instant.ofEpochMilli(lastOverEpochMillis),
          inReach,
          inReach == 0 || neverOver ? null : Instant.ofEpochMilli(allOverEpochMillis),
          neverOver,
          countedThroughEpochMillis == 0 ? null : Instant.ofEpochMilli(countedThroughEpochMillis));
    }
  }
}
