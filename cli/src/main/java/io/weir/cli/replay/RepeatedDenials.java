// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import io.weir.cli.records.Rate;
import io.weir.cli.records.Rates;
import io.weir.cli.replay.ReplayReport.Finding;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Judges the denials that nodes repeated without Redis. At the time of such a denial, the bucket
 * must have had too few tokens for the cost, according to its last record. The denials come bucket
 * by bucket, in order of time. Not thread-safe.
 */
final class RepeatedDenials {
  /** Maximum difference between the time of a repeated denial and Redis' clock. */
  static final long NODE_CLOCK_MILLIS = 1_000;

  /**
   * Maximum time for which a node repeats a denial ({@code WEIR_DENY_CACHE}), plus its clock's
   * error.
   */
  private static final long MAX_DENIAL_MILLIS = 62_000;

  private static final long MICROS_PER_MILLI = 1_000;

  /**
   * Maximum number of repeated denials that wait for the next record of their bucket. Further
   * denials are not judged.
   */
  private static final int MAX_SUSPECTS = 1_000;

  private final SortedRows.Merged rows;
  private final Rates rates;
  private final ReplayTally tally;

  /**
   * Denials that wait for the next record of the bucket. That record shows whether a correction
   * explains them.
   */
  private final List<Finding> suspects = new ArrayList<>();

  /**
   * Suspects that no record explains. These suspects are findings only if the bucket's records are
   * in order.
   */
  private final List<Finding> doubted = new ArrayList<>();

  private boolean hasRow;

  RepeatedDenials(SortedRows.Merged rows, Rates rates, ReplayTally tally) throws IOException {
    this.rows = rows;
    this.rates = rates;
    this.tally = tally;
    this.hasRow = rows.next();
  }

  /**
   * Judges the denials of a bucket before a time.
   *
   * @param gapTokens further tokens that may have been charged before that time
   * @param state the bucket after its last record; null without one
   * @param brokenAtMillis time of the last record that did not follow from the earlier records
   */
  void judgeBefore(
      long bucket,
      long epochMillis,
      long gapTokens,
      @Nullable ReplayedBucket state,
      long brokenAtMillis)
      throws IOException {
    while (hasRow && rows.row()[Row.BUCKET] == bucket && rows.row()[Row.DENIAL_AT] < epochMillis) {
      judge(rows.row(), gapTokens, state, brokenAtMillis);
      hasRow = rows.next();
    }
  }

  private void judge(
      long[] denial, long gapTokens, @Nullable ReplayedBucket state, long brokenAtMillis) {
    long at = denial[Row.DENIAL_AT];
    long cost = denial[Row.DENIAL_COST];
    Rate rate = rates.of((int) denial[Row.DENIAL_LIMIT]);
    if (state == null) {
      tally.explained(Cause.BEFORE_RANGE);
    } else if (state.limit != denial[Row.DENIAL_LIMIT]) {
      tally.explained(Cause.LIMIT_CHANGED);
    } else if (BucketRules.mayLack(
        rate, state, cost, gapTokens, (at - NODE_CLOCK_MILLIS) * MICROS_PER_MILLI)) {
      tally.equalDenials++;
    } else if (at - brokenAtMillis <= MAX_DENIAL_MILLIS || suspects.size() >= MAX_SUSPECTS) {
      tally.explained(Cause.DENY_CACHE);
    } else {
      suspects.add(
          new Finding(
              denial[Row.DENIAL_PLACE],
              at,
              denial[Row.BUCKET],
              "repeated denial",
              "denied, cost " + cost + " of " + rate,
              "the bucket had enough tokens"));
    }
  }

  /**
   * Judges the denials that wait for a record.
   *
   * @param isExplained whether the record shows a change of the bucket that may explain them
   */
  void judgeSuspects(boolean isExplained) {
    for (Finding suspect : suspects) {
      if (isExplained) {
        tally.explained(Cause.DENY_CACHE);
      } else if (doubted.size() < MAX_SUSPECTS) {
        doubted.add(suspect);
      } else {
        tally.unexplained(suspect);
      }
    }
    suspects.clear();
  }

  /**
   * Reports the doubted denials of a bucket after its last record.
   *
   * @param isOutOfOrder whether the counters and the times of the bucket's records have different
   *     orders
   */
  void endBucket(boolean isOutOfOrder) {
    judgeSuspects(true); // no later record shows the bucket
    for (Finding doubt : doubted) {
      if (isOutOfOrder) {
        tally.explained(Cause.DENY_CACHE);
      } else {
        tally.unexplained(doubt);
      }
    }
    doubted.clear();
  }

  /**
   * Skips the denials of the buckets before a bucket, which have no records. {@link Long#MAX_VALUE}
   * skips all denials.
   */
  void skipBucketsBefore(long bucket) throws IOException {
    while (hasRow && (rows.row()[Row.BUCKET] < bucket || bucket == Long.MAX_VALUE)) {
      tally.explained(Cause.BEFORE_RANGE);
      hasRow = rows.next();
    }
  }
}
