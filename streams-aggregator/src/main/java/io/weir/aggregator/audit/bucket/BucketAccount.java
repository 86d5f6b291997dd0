// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.aggregator.state.StoredMembers;
import io.weir.limits.BucketLimit;
import io.weir.limits.LimitChange;
import io.weir.limits.Refill;
import io.weir.limits.correction.Correction.Cause;
import io.weir.topics.model.Stamp;

/**
 * The state of one bucket according to the records. It consists of the limit, the epochs, the time
 * to full, the total and the corrections. Some methods change several of these parts together.
 * {@link StampComparison}, {@link EpochStart}, {@link LimitFollowing} and {@link BucketAudit}
 * decide which change a record causes. Not thread-safe.
 */
final class BucketAccount {
  private final EpochAccounts epochs;
  private final TimeToFull timeToFull;
  private final CorrectionCycle corrections = new CorrectionCycle();

  /** The limit in force for the bucket. */
  private BucketLimit limit;

  /** Time of the newest known charge, including charges without the cache. */
  private long chargedAtMicros;

  /** Sum of the costs of all records since the bucket was last full. */
  private long totalTokens;

  BucketAccount(
      BucketLimit limit,
      long chargedAtMicros,
      long totalTokens,
      EpochAccount first,
      TimeToFull timeToFull) {
    this.limit = limit;
    this.chargedAtMicros = chargedAtMicros;
    this.totalTokens = totalTokens;
    this.epochs = new EpochAccounts(first);
    this.timeToFull = timeToFull;
  }

  /** Writes or reads the time of the newest charge and the total. */
  void store(StoredMembers members) {
    chargedAtMicros = members.integer(chargedAtMicros);
    totalTokens = members.integer(totalTokens);
  }

  BucketLimit limit() {
    return limit;
  }

  void setLimit(BucketLimit changed) {
    limit = changed;
  }

  long chargedAtMicros() {
    return chargedAtMicros;
  }

  void setChargedAt(long atMicros) {
    chargedAtMicros = atMicros;
  }

  long totalTokens() {
    return totalTokens;
  }

  /** Adds a cost, or the difference of a settlement, to the total. */
  void addTotal(long tokens) {
    totalTokens = Saturating.add(totalTokens, tokens);
  }

  /** Sets the total to the cost of a charge, because the bucket was full before the charge. */
  void restartTotal(long costTokens) {
    totalTokens = costTokens;
  }

  EpochAccounts epochs() {
    return epochs;
  }

  TimeToFull timeToFull() {
    return timeToFull;
  }

  CorrectionCycle corrections() {
    return corrections;
  }

  /** Returns the account of the newest epoch. */
  EpochAccount epoch() {
    return epochs.current();
  }

  GapCheck gapCheck() {
    return epochs.gapCheck();
  }

  /**
   * Returns whether a record is the first charge of the bucket. The record is not processed yet.
   * The record is the first charge if all known earlier records are denials. A total of 0 does not
   * prove this, because a charge and its refund also sum to 0. The cache may not know the refund.
   */
  boolean isFirstCharge(Stamp stamp, long costTokens) {
    return costTokens > 0
        && totalTokens == 0
        && epoch().exactTokens() == 0
        && corrections.openDriftTokens() == 0
        && corrections.openOutageTokens() == 0
        && stamp.epoch() == epoch().epoch();
  }

  /**
   * Adds a debt, which is a charge that the cache does not know. The charge may be older than known
   * charges.
   */
  void owe(long costTokens, long atMicros, Cause cause) {
    chargedAtMicros = Math.max(chargedAtMicros, atMicros);
    if (limit.refills()) {
      epochs.noteOwed(timeToFull.trueMicros() - atMicros);
    }
    chargeLate(costTokens, atMicros);
    corrections.disturb(cause, costTokens, atMicros);
  }

  /**
   * Adds a debt of an overlap of an epoch. If some of the tokens were credited as a gap, the credit
   * is taken back. The cache does not know the other tokens.
   *
   * @param tokens number of recorded tokens that exceeds the cache's counter; not negative
   * @param atMicros time of the newest record of the overlap
   */
  void oweOverlap(EpochAccount epoch, long tokens, long atMicros) {
    if (tokens == 0) {
      return;
    }
    epoch.acceptOverlap(tokens);
    long gapTokens = epoch.gapTokensIn(tokens);
    takeBackCredit(epoch, gapTokens);
    if (tokens > gapTokens) {
      chargeLate(tokens - gapTokens, atMicros);
    }
    chargedAtMicros = Math.max(chargedAtMicros, atMicros);
    corrections.disturb(Cause.OVERLAP, tokens, atMicros);
  }

  /**
   * Takes back the credit of gaps. The credit of a gap excluded the part that the bucket had
   * already refilled (simulation, seeds 500 and 3573). The bucket was full for some time because of
   * the credit. Without the credit, it would have refilled tokens in that time. These tokens are
   * not taken back (simulation, seed 1017828).
   */
  private void takeBackCredit(EpochAccount epoch, long tokens) {
    timeToFull.takeBack(
        epoch.takeBackGap(tokens, refillMicros(tokens)),
        epoch.creditedFromMicros(),
        chargedAtMicros);
  }

  private void chargeLate(long tokens, long atMicros) {
    if (limit.refills()) {
      timeToFull.chargeLate(refillMicros(tokens), atMicros);
    }
  }

  /** Adds a charge at its time if the bucket refills. */
  void charge(long tokens, long atMicros) {
    if (limit.refills()) {
      timeToFull.charge(refillMicros(tokens), atMicros);
    }
  }

  /**
   * Records the interval in which the bucket was full before a charge of the cache. In that
   * interval the cache may have made other charges whose records are not known yet. Their refill
   * time is subtracted.
   *
   * @param fullAtBefore the true time before the charge
   * @param jumpTokens increase of the cache's counter up to this charge
   */
  void noteFullBefore(long fullAtBefore, long jumpTokens, long costTokens, long atMicros) {
    if (limit.refills()) {
      long byTheClock = atMicros - refillMicros(jumpTokens - costTokens);
      long byTheStamp = timeToFull.trueMicros() - refillMicros(jumpTokens);
      timeToFull.noteFull(fullAtBefore, Math.min(byTheClock, byTheStamp));
    }
  }

  /** Refunds tokens of a charge if the bucket refills. */
  void refund(long tokens) {
    if (limit.refills()) {
      timeToFull.refund(refillMicros(tokens));
    }
  }

  /**
   * Credits a gap. A gap is a number of charged tokens of an epoch that will never be recorded.
   *
   * @param watermarkMicros time before which all calls are known
   * @return the number of denials that the missing charges may have caused
   */
  long creditGap(EpochAccount epoch, long missingTokens, long watermarkMicros) {
    if (missingTokens <= 0) {
      return 0;
    }
    long earlierMicros =
        Math.min(refillMicros(missingTokens), gapCheck().leastHeadroomMicros(watermarkMicros));
    timeToFull.credit(earlierMicros);
    gapCheck().spendHeadroom(earlierMicros);
    epoch.acceptGap(
        missingTokens,
        earlierMicros,
        timeToFull.trueMicros(),
        epoch == epoch() ? gapCheck().stampedAtMicros() : epoch.stampedAtMicros());
    corrections.disturb(Cause.GAP, missingTokens, epoch.stampedAtMicros());
    return Math.min(missingTokens, gapCheck().possibleRefusals());
  }

  /**
   * Records the distance from full immediately before a charge. The distance includes all other
   * charges of the cache.
   */
  void noteHeadroom(long costTokens, long atMicros) {
    if (limit.refills()) {
      noteDistance(timeToFull.trueMicros() - refillMicros(costTokens) - atMicros, atMicros);
    }
  }

  /**
   * Records the distance from full at the time of a stamp. If a debt is newer than the stamp,
   * earlier charges may still be in flight. The known distances are then kept.
   */
  void noteDistance(long fromFullMicros, long atMicros) {
    if (timeToFull.isOwedBefore(atMicros)) {
      epochs.noteDistance(fromFullMicros);
    } else {
      gapCheck().noteHeadroom(fromFullMicros);
    }
  }

  /**
   * Sets the cache's and the true time to full from the stamp of a charge. Adds the complete refill
   * time of the known charges since that stamp. Unknown charges are not included.
   */
  void trust(Stamp stamp) {
    timeToFull.trust(stamp, refillMicros(epoch().chargedTokens() - stamp.charged()));
  }

  /** Returns the time in which the bucket refills some tokens; 0 if the bucket does not refill. */
  long refillMicros(long tokens) {
    Refill refill = limit.refill();
    return refill == null ? 0 : refill.boundedMicrosFor(tokens);
  }

  /**
   * Converts the refill durations for a new limit, so that each duration represents the same number
   * of tokens at the new refill rate.
   */
  void followTimes(LimitChange change, long atMicros) {
    timeToFull.followOwed(change, atMicros);
    epochs.follow(change);
  }

  /** Returns the number of tokens that the cache has lost. */
  long lostTokens() {
    Refill refill = limit.refill();
    return refill != null
        ? Math.round(
            refill.tokensIn(Math.max(0, timeToFull.trueMicros() - timeToFull.cacheMicros())))
        : Math.max(0, Saturating.subtract(totalTokens, epoch().chargedTokens()));
  }
}
