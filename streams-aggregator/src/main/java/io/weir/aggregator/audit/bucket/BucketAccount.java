// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.limits.BucketLimit;
import io.weir.limits.LimitChange;
import io.weir.limits.Refill;
import io.weir.limits.correction.Correction.Cause;
import io.weir.topics.model.Stamp;

/**
 * What the records say of one bucket: its limit, its epochs, its time to full, its total, and the
 * corrections of it. Offers the changes that touch several of these at once; which of them a record
 * causes is decided by {@link StampComparison}, {@link EpochStart}, {@link LimitFollowing} and
 * {@link BucketAudit}. Not thread-safe.
 */
final class BucketAccount {
  private static final long MICROS_PER_MILLI = 1_000;

  private final EpochAccounts epochs;
  private final TimeToFull timeToFull;
  private final CorrectionCycle corrections;
  private BucketLimit limit;

  /** When the newest known charge was made, by the cache or without it. */
  private long chargedAtMicros;

  /** Σ cost of all records since the bucket was last known to be full. */
  private long totalTokens;

  BucketAccount(
      BucketLimit limit,
      long chargedAtMicros,
      long totalTokens,
      EpochAccounts epochs,
      TimeToFull timeToFull,
      CorrectionCycle corrections) {
    this.limit = limit;
    this.chargedAtMicros = chargedAtMicros;
    this.totalTokens = totalTokens;
    this.epochs = epochs;
    this.timeToFull = timeToFull;
    this.corrections = corrections;
  }

  /** Returns the limit that the bucket follows. */
  BucketLimit limit() {
    return limit;
  }

  /** Replaces the limit that the bucket follows. */
  void setLimit(BucketLimit changed) {
    limit = changed;
  }

  /** Returns when the newest known charge was made, in microseconds since 1970. */
  long chargedAtMicros() {
    return chargedAtMicros;
  }

  /** Sets when the newest known charge was made. */
  void setChargedAt(long atMicros) {
    chargedAtMicros = atMicros;
  }

  /** Returns Σ cost of all records since the bucket was last known to be full. */
  long totalTokens() {
    return totalTokens;
  }

  /** Adds a cost, or the difference of a settlement, to the total. */
  void addTotal(long tokens) {
    totalTokens = Saturating.add(totalTokens, tokens);
  }

  /** Begins the total anew, since the bucket was full. */
  void restartTotal(long costTokens) {
    totalTokens = costTokens;
  }

  /** Returns the accounts of the bucket's epochs. */
  EpochAccounts epochs() {
    return epochs;
  }

  /** Returns when the bucket is full. */
  TimeToFull timeToFull() {
    return timeToFull;
  }

  /** Returns the corrections of the bucket. */
  CorrectionCycle corrections() {
    return corrections;
  }

  /** Returns the account of the newest epoch. */
  EpochAccount epoch() {
    return epochs.current();
  }

  /**
   * Returns whether only refusals were known of the bucket before this record, which is not taken
   * yet. A total of 0 may also be that of a charge and its refund, of which the cache may not know.
   */
  boolean isFirstCharge(Stamp stamp, long costTokens) {
    return costTokens > 0
        && totalTokens == 0
        && epoch().exactTokens() == 0
        && corrections.openDriftTokens() == 0
        && corrections.openOutageTokens() == 0
        && stamp.epoch() == epoch().epoch();
  }

  /** Takes a charge that the cache does not know of, and that may be older than others. */
  void owe(long costTokens, long atMillis, Cause cause) {
    long at = atMillis * MICROS_PER_MILLI;
    chargedAtMicros = Math.max(chargedAtMicros, at);
    if (limit.refills()) {
      epochs.noteOwed(timeToFull.trueMicros() - at);
    }
    chargeLate(costTokens, at);
    corrections.disturb(cause, costTokens, atMillis);
  }

  /**
   * Takes what is recorded of an epoch beyond what the cache has charged. What a gap had given up
   * was charged, and is taken back; the rest the cache does not know of.
   */
  void oweOverlap(EpochAccount epoch, long atMillis) {
    long tokens = epoch.acceptOverlap();
    if (tokens > 0) {
      takeOverlap(epoch, tokens, atMillis * MICROS_PER_MILLI);
    }
  }

  /**
   * Takes what a check finds recorded beyond what the cache has charged up to the check's stamp,
   * while charges since are in flight.
   */
  void oweCheckedOverlap(long tokens) {
    if (tokens > 0) {
      epoch().acceptOverlap(tokens);
      takeOverlap(epoch(), tokens, epochs.checkedUntilMicros());
    }
  }

  private void takeOverlap(EpochAccount epoch, long tokens, long atMicros) {
    long ofGaps = epoch.ofGaps(tokens);
    takeBackCredit(epoch, ofGaps);
    if (tokens > ofGaps) {
      chargeLate(tokens - ofGaps, atMicros);
    }
    chargedAtMicros = Math.max(chargedAtMicros, atMicros);
    corrections.disturb(Cause.OVERLAP, tokens, atMicros / MICROS_PER_MILLI);
  }

  /**
   * Takes back what gaps were credited with, as far as it was credited: where the bucket had
   * refilled there was nothing to credit (simulation, seeds 500 and 3573). While the bucket stood
   * full by the credit, it would have refilled what is taken back (simulation, seed 1017828).
   */
  private void takeBackCredit(EpochAccount epoch, long tokens) {
    Refill refill = limit.refill();
    long micros = refill == null ? 0 : refill.boundedMicrosFor(tokens);
    timeToFull.takeBack(
        epoch.takeBackGap(tokens, micros), epoch.creditedFromMicros(), chargedAtMicros);
  }

  private void chargeLate(long tokens, long atMicros) {
    Refill refill = limit.refill();
    if (refill != null) {
      timeToFull.chargeLate(refill, tokens, atMicros);
    }
  }

  /** Takes a charge at its time, if the bucket refills. */
  void charge(long tokens, long atMicros) {
    Refill refill = limit.refill();
    if (refill != null) {
      timeToFull.charge(refill, tokens, atMicros);
    }
  }

  /** Gives tokens of a charge back, if the bucket refills. */
  void refund(long tokens) {
    Refill refill = limit.refill();
    if (refill != null) {
      timeToFull.refund(refill.boundedMicrosFor(tokens));
    }
  }

  /**
   * Gives up tokens of an epoch that will never be recorded.
   *
   * @param watermarkMicros every call decided before this time is known
   * @return the refusals that the missing charges may have caused
   */
  long creditGap(EpochAccount epoch, long missingTokens, long watermarkMicros) {
    if (missingTokens <= 0) {
      return 0;
    }
    long earlierMicros = 0;
    Refill refill = limit.refill();
    if (refill != null) {
      earlierMicros =
          Math.min(
              refill.boundedMicrosFor(missingTokens), epochs.leastHeadroomMicros(watermarkMicros));
      timeToFull.credit(earlierMicros);
      epochs.spendHeadroom(earlierMicros);
    }
    epoch.acceptGap(
        missingTokens,
        earlierMicros,
        timeToFull.trueMicros(),
        epoch == epoch() ? epochs.checkedUntilMicros() : epoch.stampedAtMicros());
    corrections.disturb(Cause.GAP, missingTokens, epoch.stampedAtMicros() / MICROS_PER_MILLI);
    return Math.min(missingTokens, epochs.possibleRefusals());
  }

  /**
   * Notes how far from full the bucket was just before a charge of its own, with all that the cache
   * has charged besides.
   */
  void noteHeadroom(long costTokens, long atMicros) {
    Refill refill = limit.refill();
    if (refill != null) {
      noteDistance(
          timeToFull.trueMicros() - refill.boundedMicrosFor(costTokens) - atMicros, atMicros);
    }
  }

  /**
   * Notes how far from full the bucket was at the time of a stamp. A call that the cache did not
   * decide may be newer than that, and charges before it may not be known yet: then the distances
   * that are known stay known.
   */
  void noteDistance(long fromFullMicros, long atMicros) {
    if (timeToFull.isOwedBefore(atMicros)) {
      epochs.noteDistance(fromFullMicros);
    } else {
      epochs.noteHeadroom(fromFullMicros);
    }
  }

  /**
   * Takes the time to full in the stamp of a charge for the cache's and the truth. What the cache
   * has charged since that stamp is counted at once; what is not known yet is left out.
   */
  void believe(Stamp stamp) {
    Refill refill = limit.refill();
    long since =
        refill == null ? 0 : refill.boundedMicrosFor(epoch().chargedTokens() - stamp.charged());
    timeToFull.believe(stamp, since);
  }

  /** Converts the times that stand for tokens to those of a limit that is followed from now on. */
  void followTimes(LimitChange change, long atMicros) {
    timeToFull.followOwed(change, atMicros);
    epochs.follow(change);
  }

  /** Returns the tokens that the cache has forgotten. */
  long lostTokens() {
    Refill refill = limit.refill();
    return refill != null
        ? timeToFull.lostTokens(refill)
        : Math.max(0, Saturating.subtract(totalTokens, epoch().chargedTokens()));
  }
}
