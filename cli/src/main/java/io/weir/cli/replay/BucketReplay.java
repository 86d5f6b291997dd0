// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import io.weir.cli.records.Rate;
import io.weir.cli.records.Rates;
import io.weir.cli.replay.ReplayReport.Finding;
import java.io.IOException;
import java.time.Instant;
import java.util.Arrays;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Decides the calls of each bucket again, in the order in which Redis charged them. This class
 * compares the state after one record with the state that the next record found. Rows come bucket
 * by bucket, so this class needs the memory of one bucket. Not thread-safe.
 *
 * <p>A charge of k tokens with the counter c follows the charge with the counter c − k. If a record
 * does not follow from the earlier records, its content must show a known cause. Otherwise the
 * record is a finding. In both cases the comparison continues from the record's own stamp.
 */
final class BucketReplay {
  /**
   * Maximum number of states that a record may follow. After Redis has lost charges, the records of
   * two histories are mixed.
   */
  private static final int MAX_STATES = 16;

  /**
   * If a correction began a bucket epoch, late corrections of the previous epoch can change the
   * bucket for this time. The stamps do not show these corrections (decision 0005).
   */
  private static final long UNSEEN_CORRECTIONS_MICROS = 3_600_000_000L;

  private static final long MICROS_PER_MILLI = 1_000;

  private static final long NEVER = Long.MIN_VALUE / 2;

  private final Rates rates;
  private final long fromEpochMillis;
  private final ReplayTally tally;
  private final RepeatedDenials denials;
  private final BucketRules rules = new BucketRules();
  private final ReplayedBucket[] states = new ReplayedBucket[MAX_STATES];
  private final ReplayedBucket begun = new ReplayedBucket();
  private final ReplayedBucket next = new ReplayedBucket();
  private boolean isOutOfOrder;
  private final long[] lastRow = new long[Row.WIDTH];

  private int count;
  private boolean hasEpoch;
  private boolean hasUnseenBirth;
  private boolean hasGoneBack;
  private boolean hasOtherLimits;
  private long latestMicros;
  private long greatestCharged;
  private long brokenAtMillis;

  /** Whether the last record followed from the previous one without a gap. */
  private boolean isSmooth;

  /**
   * Creates a replay.
   *
   * @param fromEpochMillis start of the range
   * @param denials the repeated denials of the same buckets
   */
  BucketReplay(Rates rates, long fromEpochMillis, ReplayTally tally, RepeatedDenials denials) {
    this.rates = rates;
    this.fromEpochMillis = fromEpochMillis;
    this.tally = tally;
    this.denials = denials;
    for (int i = 0; i < MAX_STATES; i++) {
      states[i] = new ReplayedBucket();
    }
  }

  /**
   * Decides all rows again.
   *
   * @param progress receives the number of rows since the last call
   */
  void run(SortedRows.Merged rows, LongConsumer progress) throws IOException {
    long bucket = 0;
    long done = 0;
    boolean isFirst = true;
    while (rows.next()) {
      long[] row = rows.row();
      if (isFirst || row[Row.BUCKET] != bucket) {
        if (!isFirst) {
          endBucket(bucket);
        }
        bucket = row[Row.BUCKET];
        denials.skipBucketsBefore(bucket);
        beginBucket();
        isFirst = false;
      }
      if (isRepeated(row)) {
        tally.repeatedRows++;
      } else {
        judge(row);
        System.arraycopy(row, 0, lastRow, 0, Row.WIDTH);
        latestMicros = Math.max(latestMicros, (Row.epochMillis(row) + 1) * MICROS_PER_MILLI - 1);
      }
      if ((++done & 0xfff) == 0) {
        progress.accept(0x1000);
      }
    }
    if (!isFirst) {
      endBucket(bucket);
    }
    denials.skipBucketsBefore(Long.MAX_VALUE);
  }

  private void endBucket(long bucket) throws IOException {
    denials.judgeBefore(bucket, Long.MAX_VALUE, 0, hasEpoch ? newest() : null, brokenAtMillis);
    denials.endBucket(isOutOfOrder);
  }

  private void beginBucket() {
    isOutOfOrder = false;
    count = 0;
    hasEpoch = false;
    hasUnseenBirth = false;
    hasOtherLimits = false;
    latestMicros = 0;
    brokenAtMillis = NEVER;
    greatestCharged = 0;
    lastRow[Row.EPOCH] = 0;
  }

  /**
   * Returns whether the row repeats the previous one, because of a batch sent twice or a replay.
   */
  private boolean isRepeated(long[] row) {
    return Arrays.equals(row, 0, Row.PLACE, lastRow, 0, Row.PLACE);
  }

  private void judge(long[] row) throws IOException {
    Rate rate = rates.of(Row.limitNumber(row));
    boolean isOfThisEpoch = hasEpoch && newest().epoch == row[Row.EPOCH];
    long gap =
        isOfThisEpoch
            ? Math.max(0, row[Row.CHARGED] - Row.taken(row) - newest().charged)
            : row[Row.CHARGED] - Row.taken(row);
    denials.judgeBefore(
        row[Row.BUCKET],
        Row.epochMillis(row) - RepeatedDenials.NODE_CLOCK_MILLIS,
        gap,
        hasEpoch ? newest() : null,
        brokenAtMillis);
    boolean goesBack = lastRow[Row.EPOCH] > 0 && Row.epochMillis(row) < Row.epochMillis(lastRow);
    if (goesBack) {
      isOutOfOrder = true;
      brokenAtMillis = Row.epochMillis(lastRow);
    }
    isSmooth = false;
    if (BucketRules.isCut(row)) {
      tally.explained(Cause.CUT_TIME);
      standAlone(rate, row);
    } else if (!rules.agreesWithItsVerdict(rate, row, latestMicros)) {
      find(
          row,
          "verdict",
          Row.isDenial(row) ? "the bucket had enough tokens" : "the bucket had too few tokens");
      standAlone(rate, row);
    } else if (isOfThisEpoch) {
      judgeLink(rate, row);
    } else {
      judgeBirth(rate, row);
    }
    denials.judgeSuspects(!isSmooth || goesBack);
    greatestCharged = Math.max(greatestCharged, row[Row.CHARGED]);
  }

  private ReplayedBucket newest() {
    return states[(count - 1) % MAX_STATES];
  }

  private void push(ReplayedBucket state) {
    states[count % MAX_STATES].become(state);
    count++;
  }

  /** Restarts the comparison from the record's own stamp. */
  private void standAlone(Rate rate, long[] row) {
    rules.byItself(rate, row, next);
    if (!hasEpoch || newest().epoch != row[Row.EPOCH]) {
      beginEpoch();
    }
    push(next);
    brokenAtMillis = Row.epochMillis(row);
  }

  private void beginEpoch() {
    count = 0;
    greatestCharged = 0;
    hasGoneBack = false;
    hasEpoch = true;
    hasUnseenBirth = true;
  }

  private void explain(Cause cause, Rate rate, long[] row) {
    tally.explained(cause);
    standAlone(rate, row);
  }

  /**
   * Names a cause. A denial does not change the bucket, so the state after the last charge is kept.
   */
  private void explainUnlessRefused(Cause cause, Rate rate, long[] row) {
    if (Row.isDenial(row) && newest().charged == row[Row.CHARGED]) {
      tally.explained(cause);
      brokenAtMillis = Row.epochMillis(row);
    } else {
      explain(cause, rate, row);
    }
  }

  /**
   * Names the clock as the cause. The bucket's last charge keeps its time when the clock steps
   * back. A denial then shows only an upper bound of the tokens that the bucket lacks, so it sets
   * no new state.
   */
  private void explainByClock(Rate rate, long[] row, ReplayedBucket last) {
    long earliest = last.earliestMicros;
    long latest = last.latestMicros;
    if (Row.isDenial(row)) {
      tally.explained(Cause.CLOCK);
      brokenAtMillis = Row.epochMillis(row);
    } else {
      explain(Cause.CLOCK, rate, row);
      newest().earliestMicros = Math.max(newest().earliestMicros, earliest);
      newest().latestMicros = Math.max(newest().latestMicros, latest);
    }
  }

  /** Judges a record that is not the first one of its bucket epoch. */
  private void judgeLink(Rate rate, long[] row) {
    ReplayedBucket last = newest();
    long before = row[Row.CHARGED] - Row.taken(row);
    if (last.charged == before
        && last.version == row[Row.VERSION]
        && isComparable(last, rate, row)
        && rules.follows(rate, last, row, 0, next)) {
      equal(row);
      return;
    }
    hasOtherLimits |= last.limit != Row.limitNumber(row);
    boolean mayBeBack = greatestCharged > before;
    int kept = Math.min(count, MAX_STATES);
    boolean hasEqualVersion = false;
    boolean hasEqualLimit = false;
    boolean hasOtherLimit = false;
    long nearest = -1;
    for (int back = 1; back <= kept; back++) {
      ReplayedBucket from = states[(count - back) % MAX_STATES];
      if (from.charged > before) {
        continue;
      }
      nearest = Math.max(nearest, from.charged);
      if (from.charged < nearest && !mayBeBack && !hasGoneBack) {
        break;
      }
      boolean isComparable = isComparable(from, rate, row);
      hasEqualVersion |= from.version == row[Row.VERSION];
      hasEqualLimit |= isComparable;
      hasOtherLimit |= !isComparable;
      long gap = before - from.charged;
      if (from.version == row[Row.VERSION]
          && isComparable
          && rules.follows(rate, from, row, gap, next)) {
        if (mayBeBack) {
          hasGoneBack = true;
          isOutOfOrder = true;
          tally.explained(Cause.OVERLAP);
        } else if (gap > 0) {
          tally.gap(gap);
        } else {
          equal(row);
          return;
        }
        push(next);
        return;
      }
    }
    hasEqualLimit &= !(hasOtherLimit && (mayBeBack || hasGoneBack || nearest == before));
    judgeBreak(rate, row, last, hasEqualVersion, hasEqualLimit, mayBeBack);
  }

  private void judgeBreak(
      Rate rate,
      long[] row,
      ReplayedBucket last,
      boolean hasEqualVersion,
      boolean hasEqualLimit,
      boolean mayBeBack) {
    long version = row[Row.VERSION];
    if (version > last.version || (mayBeBack && !hasEqualVersion)) {
      explain(Cause.CORRECTION, rate, row);
    } else if (version < last.version) {
      find(row, "version", "at least " + last.version);
      standAlone(rate, row);
    } else if (version == 0
        && hasUnseenBirth
        && Row.epochMillis(row) * MICROS_PER_MILLI < row[Row.EPOCH] + UNSEEN_CORRECTIONS_MICROS) {
      explain(Cause.CORRECTION, rate, row);
    } else if (!hasEqualLimit
        || (hasOtherLimits && row[Row.CHARGED] - Row.taken(row) != last.charged)) {
      // or the charges without a record were made under the other limit
      explainUnlessRefused(Cause.LIMIT_CHANGED, rate, row);
    } else if ((Row.epochMillis(row) + 1) * MICROS_PER_MILLI <= last.earliestMicros
        && rate.refills()) {
      explainByClock(rate, row, last);
    } else {
      find(row, "state", expected(rate, last, row));
      standAlone(rate, row);
    }
  }

  private boolean isComparable(ReplayedBucket from, Rate rate, long[] row) {
    return from.isKnown
        && (from.limit == Row.limitNumber(row)
            || (!rate.refills() && !rates.of(from.limit).refills()));
  }

  private void equal(long[] row) {
    isSmooth = true;
    if (Row.isLease(row)) {
      tally.explained(Cause.LEASE);
    } else {
      tally.equalStamps++;
    }
    if (Row.isDenial(row)) {
      newest().become(next);
    } else {
      push(next);
    }
  }

  /** Judges the first record of a bucket epoch. */
  private void judgeBirth(Rate rate, long[] row) {
    long epoch = row[Row.EPOCH];
    long first = Row.epochMillis(row) * MICROS_PER_MILLI;
    long last = first + MICROS_PER_MILLI - 1;
    boolean isFirstCharge = row[Row.CHARGED] == Row.taken(row);
    boolean isSeen = epoch >= fromEpochMillis * MICROS_PER_MILLI;
    ReplayedBucket before = hasEpoch ? newest() : null;
    if (epoch > last) {
      if (before == null || before.epoch == epoch - 1) {
        explain(Cause.CLOCK, rate, row);
      } else {
        find(row, "epoch", "at most " + last);
        standAlone(rate, row);
      }
    } else if (isFirstCharge && !Row.isDenial(row) && epoch >= first && row[Row.VERSION] == 0) {
      judgeFirstCharge(rate, row, before);
    } else if (!isSeen) {
      explain(Cause.BEFORE_RANGE, rate, row);
    } else if (isFirstCharge) {
      explain(Cause.CORRECTION, rate, row); // a correction began this epoch
    } else {
      tally.gap(row[Row.CHARGED] - Row.taken(row));
      standAlone(rate, row);
    }
  }

  /**
   * Judges a charge that begins a bucket epoch. Such a charge finds a full bucket, and its time is
   * the epoch.
   */
  private void judgeFirstCharge(Rate rate, long[] row, @Nullable ReplayedBucket before) {
    long epoch = row[Row.EPOCH];
    BucketRules.full(epoch, Row.limitNumber(row), begun);
    boolean wasFull =
        before == null
            || (rate.refills()
                ? before.fullAtMicros - rate.tickMicros() <= epoch
                : before.mostUsed == 0);
    if (rules.follows(rate, begun, row, 0, next)) {
      beginEpoch();
      hasUnseenBirth = before != null && !rate.refills();
      if (!wasFull) {
        brokenAtMillis = Row.epochMillis(row);
        tally.explained(Cause.FRESH_EPOCH);
      } else if (Row.isLease(row)) {
        tally.explained(Cause.LEASE);
      } else {
        tally.equalStamps++;
      }
      push(next);
    } else if (row[Row.FULL_AT] > epoch + rate.microsFor(rate.units(row[Row.COST]))
        && rate.refills()) {
      explain(Cause.CORRECTION, rate, row); // in the same millisecond
    } else {
      find(row, "state", expected(rate, begun, row));
      standAlone(rate, row);
    }
  }

  /** Returns a description of the record that would follow from a state. */
  private static String expected(Rate rate, ReplayedBucket from, long[] row) {
    if (!rate.refills()) {
      return from.leastUsed == from.mostUsed
          ? from.mostUsed + " of " + rate.capacityTokens() + " tokens used before the call"
          : "not "
              + (rate.capacityTokens() - row[Row.COST] - row[Row.CHARGED])
              + " tokens used before the counter began";
    }
    long gap = row[Row.CHARGED] - Row.taken(row) - from.charged;
    long at =
        Math.max(from.fullAtMicros, Row.epochMillis(row) * MICROS_PER_MILLI)
            + rate.microsFor(rate.units(Row.taken(row)));
    if (gap != 0) {
      return from.charged
          + " tokens charged before the call, and full at "
          + time(from.fullAtMicros)
          + (gap > 0 ? ", or later because of " + gap + " tokens without a record" : "");
    }
    return "full at " + time(Row.isDenial(row) ? from.fullAtMicros : at);
  }

  private static String time(long epochMicros) {
    return Instant.ofEpochSecond(
            Math.floorDiv(epochMicros, 1_000_000L), Math.floorMod(epochMicros, 1_000_000L) * 1_000)
        .toString();
  }

  private void find(long[] row, String what, String again) {
    Rate rate = rates.of(Row.limitNumber(row));
    String recorded =
        "%s, cost %d, charged %d%s%s of %s"
            .formatted(
                Row.isDenial(row) ? "denied" : "allowed",
                row[Row.COST],
                row[Row.CHARGED],
                row[Row.VERSION] > 0 ? ", version " + row[Row.VERSION] : "",
                rate.refills() ? ", full at " + time(row[Row.FULL_AT]) : "",
                rate);
    tally.unexplained(
        new Finding(row[Row.PLACE], Row.epochMillis(row), row[Row.BUCKET], what, recorded, again));
  }
}
