// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.limits.BucketLimit;
import io.weir.limits.LimitChange;
import io.weir.limits.Refill;
import io.weir.limits.correction.Correction.Cause;
import io.weir.topics.model.Stamp;

/**
 * The comparison of a stamped record with what is known of its bucket: whether the stamp is newer,
 * overtaken, or of another epoch, and what each of these shows. Not thread-safe.
 */
final class StampComparison {
  private static final long MICROS_PER_MILLI = 1_000;

  private final BucketAccount account;
  private final LimitFollowing limits;
  private final EpochStart epochStart;
  private final DecisionJudge judge;

  StampComparison(BucketAccount account, LimitFollowing limits, DecisionJudge judge) {
    this.account = account;
    this.limits = limits;
    this.epochStart = new EpochStart(account);
    this.judge = judge;
  }

  /**
   * Takes a stamped record and judges its decision.
   *
   * @param ownLimit the limit by which the call was decided; another than the bucket's if the
   *     record is late
   * @param costTokens what the call took; 0 when the bucket refused it
   * @param askedTokens what the call asked for
   */
  Judgement take(
      Stamp stamp, BucketLimit ownLimit, long costTokens, long askedTokens, long atMillis) {
    long at = atMillis * MICROS_PER_MILLI;
    EpochAccount known = account.epochs().find(stamp.epoch());
    if (known != null && known.takeBelieved(stamp, costTokens, at)) {
      return Judgement.RIGHT; // it counts as recorded already
    }
    boolean isFirstCharge = account.isFirstCharge(stamp, costTokens);
    account.addTotal(costTokens);
    if (stamp.epoch() < account.epoch().epoch()) {
      takePreviousEpoch(stamp, ownLimit, costTokens, atMillis);
      return Judgement.RIGHT;
    }
    if (limits.isRefusalUnderAnother(ownLimit, stamp, costTokens)) {
      limits.takeRefusalUnderAnother(ownLimit, stamp, at);
      return Judgement.RIGHT;
    }
    if (costTokens == 0 && askedTokens <= account.limit().capacityTokens()) {
      account.epochs().noteRefusal();
    }
    boolean isNewestCharge = costTokens > 0 && (isFirstCharge || at >= account.chargedAtMicros());
    if (isNewestCharge) {
      account.setChargedAt(at);
    }
    CorrectionCycle corrections = account.corrections();
    boolean agreedBefore = corrections.isAgreed();
    boolean isNewEpoch = stamp.epoch() > account.epoch().epoch();
    boolean isNewest =
        !isNewEpoch
            && account.epoch().isNewest(stamp, costTokens, at, corrections.confirmedVersion());
    if (isNewEpoch || isNewest) {
      observeClock(at, isNewEpoch || stamp.charged() > account.epoch().chargedTokens());
    }
    long fullAtBefore = account.timeToFull().trueMicros();
    long totalBefore = account.totalTokens() - costTokens;
    if (isNewEpoch) {
      epochStart.take(stamp, costTokens, at);
    } else if (isNewest) {
      takeNewest(stamp, costTokens, at);
    } else {
      takeOvertaken(stamp, ownLimit, costTokens, at);
      if (isNewestCharge && ownLimit.equals(account.limit())) {
        takeNewestCharge(stamp);
      }
    }
    return agreedBefore && corrections.isAgreed()
        ? Judgement.RIGHT
        : judge.judge(account.limit(), fullAtBefore, totalBefore, costTokens, askedTokens, at);
  }

  /** Observes the cache's clock in a stamp that is newer than the newest one that was known. */
  private void observeClock(long at, boolean isCertainlyLater) {
    if (isCertainlyLater && account.limit().refills()) {
      account.timeToFull().observeLaterClock(at, account.limit().arithmetic().fillMicros());
    } else {
      account.timeToFull().observeClock(at);
    }
  }

  /** Takes a record of an epoch that has ended: what that epoch's counter did not say is owed. */
  private void takePreviousEpoch(
      Stamp stamp, BucketLimit ownLimit, long costTokens, long atMillis) {
    EpochAccount ended = account.epochs().findPrevious(stamp.epoch());
    if (costTokens == 0) {
      if (atMillis * MICROS_PER_MILLI > account.epoch().stampedAtMicros()) {
        // refused by an epoch that had ended: the cache has gone back to it and needs a correction
        account.corrections().disturb(Cause.OVERLAP, 0, atMillis);
      }
    } else if (ended == null) {
      account.owe(costTokens, atMillis, Cause.OVERLAP);
    } else {
      long beyond = beyondCounter(ended, stamp, costTokens);
      ended.addRecord(costTokens - beyond, atMillis * MICROS_PER_MILLI);
      noteHeadroomOfEnded(stamp, ownLimit, costTokens, atMillis * MICROS_PER_MILLI);
      account.oweOverlap(ended, atMillis);
      if (beyond > 0) {
        account.owe(beyond, atMillis, Cause.OVERLAP);
      }
    }
  }

  /** Returns how much of a charge of an ended epoch is beyond the newest counter known of it. */
  private static long beyondCounter(EpochAccount ended, Stamp stamp, long costTokens) {
    return ended.epoch() == stamp.epoch()
        ? Math.min(costTokens, Math.max(0, stamp.charged() - ended.chargedTokens()))
        : 0;
  }

  /**
   * Notes how far from full the cache had the bucket before a charge of an epoch that has ended.
   */
  private void noteHeadroomOfEnded(Stamp stamp, BucketLimit ownLimit, long costTokens, long at) {
    LimitChange change = LimitChange.of(ownLimit, account.limit(), at);
    Refill then = ownLimit.refill();
    if (change != null && then != null && account.limit().refills()) {
      long fromFull = stamp.fullAtEpochMicros() - then.boundedMicrosFor(costTokens) - at;
      account.epochs().noteHeadroomThen(change.sameTokensMicros(Math.max(0, fromFull)), at);
    }
  }

  /** Takes the newest stamp of the current epoch. */
  private void takeNewest(Stamp stamp, long costTokens, long at) {
    EpochAccount epoch = account.epoch();
    TimeToFull time = account.timeToFull();
    CorrectionCycle corrections = account.corrections();
    long jump = stamp.charged() - epoch.chargedTokens();
    long wentBackBy = Math.max(0, costTokens - jump);
    long certainlyMissing = certainlyMissingMicros(stamp, costTokens, jump, at);
    epoch.addRecord(costTokens, at);
    epoch.moveTo(stamp, at, wentBackBy);
    time.show(stamp);
    account.epochs().noteInCheck(stamp, costTokens, at);
    if (wentBackBy > 0 || stamp.version() < corrections.confirmedVersion()) {
      epoch.noteWentBack(at);
      account.charge(Math.max(jump, costTokens), at);
      oweWentBack(stamp, wentBackBy, at);
      account.noteHeadroom(costTokens, at);
      corrections.goBack(stamp.version());
      corrections.disturb(Cause.OVERLAP, wentBackBy, at / MICROS_PER_MILLI);
      return;
    }
    if (jump > costTokens) {
      // the others of these charges were made at the time of the stamp at the latest
      account.epochs().noteHeadroomInFlight(time.trueMicros() - at, at);
    }
    corrections.confirm(stamp.version());
    if (!corrections.isUnconfirmed()) {
      time.confirmOwed();
    }
    if (corrections.isAgreed()) {
      takeAgreed(jump, costTokens, at);
    } else {
      takeDisagreed(jump, costTokens, at);
    }
    account.epochs().noteCertain(certainlyMissing);
  }

  /**
   * Returns how much the charges that a stamp shows beyond its own certainly make the bucket full
   * later, in microseconds: by as much as the cache had not refilled of them. Returns 0 if they
   * need not be all that is in flight, or not be older than all that is owed. A call that was
   * charged by the cache, and then decided without it since the answer was late, found the bucket
   * full by the records, which did not know of that charge yet.
   */
  private long certainlyMissingMicros(Stamp stamp, long costTokens, long jump, long at) {
    TimeToFull time = account.timeToFull();
    Refill refill = account.limit().refill();
    if (refill == null
        || jump <= costTokens
        || account.epochs().hasPending()
        || !time.isOwedBefore(at)) {
      return 0;
    }
    boolean isCorrectedSince = stamp.version() != account.corrections().confirmedVersion();
    long fullAtBefore =
        isCorrectedSince ? Math.max(time.trueMicros(), time.cacheMicros()) : time.cacheMicros();
    long fullAt = stamp.fullAtEpochMicros() - refill.boundedMicrosFor(costTokens);
    return Math.max(0, fullAt - Math.max(fullAtBefore, at));
  }

  /**
   * Owes what the cache has forgotten by going back. Corrections that were published before this
   * was known do not state it, though the cache will show their versions (simulation, seed
   * 6004171).
   */
  private void oweWentBack(Stamp stamp, long wentBackTokens, long at) {
    Refill refill = account.limit().refill();
    if (refill != null && stamp.version() < account.corrections().version()) {
      account.timeToFull().oweBeyondCorrections(refill.boundedMicrosFor(wentBackTokens), at);
    }
    account.timeToFull().oweBeyondCache(at);
  }

  private void takeAgreed(long jump, long costTokens, long at) {
    TimeToFull time = account.timeToFull();
    long fullAtBefore = time.trueMicros();
    time.trustCache();
    Refill refill = account.limit().refill();
    if (refill != null) {
      time.noteFullBefore(refill, fullAtBefore, jump, costTokens, at);
    }
    account.noteHeadroom(costTokens, at);
  }

  private void takeDisagreed(long jump, long costTokens, long at) {
    TimeToFull time = account.timeToFull();
    long fullAtBefore = time.trueMicros();
    account.charge(jump, at);
    Refill refill = account.limit().refill();
    if (refill == null) {
      return;
    }
    // what the cache has not taken yet may have been owed since: by the cache the bucket was no
    // farther from full
    long byCache = time.cacheMicros() - refill.boundedMicrosFor(costTokens) - at;
    account.noteDistance(
        time.isOwedBefore(at) ? Math.max(byCache, fullAtBefore - at) : byCache, at);
    if (time.boundByCache(!account.corrections().isUnconfirmed(), at)) {
      account.noteHeadroom(costTokens, at);
    } else {
      // the truth contains the charges of others at once, though they may have been refilled before
      // this charge
      account.noteDistance(fullAtBefore + refill.boundedMicrosFor(jump - costTokens) - at, at);
    }
  }

  /** Takes a record that newer ones have overtaken: its charge is in their counter already. */
  private void takeOvertaken(Stamp stamp, BucketLimit ownLimit, long costTokens, long at) {
    EpochAccounts epochs = account.epochs();
    epochs.current().addRecord(costTokens, at);
    epochs.noteInCheck(stamp, costTokens, at);
    account.oweOverlap(epochs.current(), at / MICROS_PER_MILLI);
    Refill refill = account.limit().refill();
    if (refill != null) {
      epochs.noteRecorded(refill.boundedMicrosFor(costTokens));
    }
    // a call that the cache did not decide may have followed its newest stamp
    boolean isStampNewest = account.timeToFull().isOwedBefore(epochs.current().stampedAtMicros());
    if (!isStampNewest || !epochs.forgetHeadroom()) {
      noteHeadroomThen(stamp, ownLimit, costTokens, at);
    }
  }

  /**
   * Notes how far from full the bucket was before a charge that newer ones have overtaken: by what
   * the cache showed then, moved by the cache's error of now; what it has too much of may be owed
   * since. If a correction has been applied in between, the error was another: then by the truth of
   * now without the charges since (simulation, seed 1069498).
   */
  private void noteHeadroomThen(Stamp stamp, BucketLimit ownLimit, long costTokens, long at) {
    TimeToFull time = account.timeToFull();
    LimitChange change = LimitChange.of(ownLimit, account.limit(), at);
    Refill then = ownLimit.refill();
    Refill now = account.limit().refill();
    if (change == null || then == null || now == null) {
      return;
    }
    long byCache =
        change.sameTokensMicros(stamp.fullAtEpochMicros() - then.boundedMicrosFor(costTokens) - at);
    long fromFull;
    if (stamp.version() < account.corrections().confirmedVersion()) {
      long since = account.epoch().chargedTokens() - stamp.charged() + costTokens;
      long byTruth = time.trueMicros() - now.boundedMicrosFor(Math.max(0, since)) - at;
      fromFull = time.isOwedBefore(at) ? byTruth : Math.min(byTruth, byCache);
    } else {
      long error = time.trueMicros() - time.cacheMicros();
      fromFull = byCache + (time.isOwedBefore(at) ? error : Math.min(0, error));
    }
    account.epochs().noteHeadroomThen(fromFull, at);
  }

  /**
   * Believes the stamp of a charge that only refusals have overtaken: their stamps show the bucket
   * by their own limits, which may have been others.
   */
  private void takeNewestCharge(Stamp stamp) {
    boolean isNewestCounter = stamp.charged() == account.epoch().chargedTokens();
    CorrectionCycle corrections = account.corrections();
    if (isNewestCounter
        && corrections.isAgreed()
        && stamp.version() == corrections.confirmedVersion()) {
      account.believe(stamp);
    }
  }
}
