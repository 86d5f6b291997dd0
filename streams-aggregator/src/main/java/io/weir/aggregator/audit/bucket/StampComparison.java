// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.aggregator.audit.bucket.DecisionJudge.Judgement;
import io.weir.limits.BucketLimit;
import io.weir.limits.LimitChange;
import io.weir.limits.Refill;
import io.weir.limits.correction.Correction.Cause;
import io.weir.topics.model.Stamp;

/**
 * The comparison of a stamped record with the known state of its bucket. A stamp can be the newest
 * stamp of the epoch, older than a known stamp, or of another epoch. Each case has its own rule.
 * Not thread-safe.
 */
final class StampComparison {
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
   * Processes a stamped record and judges its decision.
   *
   * @param ownLimit the limit that decided the call, which may differ from the bucket's limit if
   *     the record is late
   * @param costTokens tokens charged for the call; 0 if the bucket denied it
   * @param requestedTokens the cost of the call, even if the bucket denied it
   */
  Judgement take(
      Stamp stamp, BucketLimit ownLimit, long costTokens, long requestedTokens, long at) {
    EpochAccount known = account.epochs().find(stamp.epoch());
    if (known != null && known.takeTrusted(stamp, costTokens, at)) {
      return Judgement.RIGHT; // the charge already counts as recorded
    }
    boolean isFirstCharge = account.isFirstCharge(stamp, costTokens);
    account.addTotal(costTokens);
    if (stamp.epoch() < account.epoch().epoch()) {
      takePreviousEpoch(stamp, ownLimit, costTokens, at);
      return Judgement.RIGHT;
    }
    if (limits.isRefusalUnderAnother(ownLimit, stamp, costTokens)) {
      limits.takeRefusalUnderAnother(ownLimit, stamp, at);
      return Judgement.RIGHT;
    }
    if (costTokens == 0 && requestedTokens <= account.limit().capacityTokens()) {
      account.gapCheck().noteRefusal();
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
        : judge.judge(account.limit(), fullAtBefore, totalBefore, costTokens, requestedTokens, at);
  }

  /** Updates the cache's clock from a stamp that is newer than all known stamps. */
  private void observeClock(long at, boolean isCertainlyLater) {
    if (isCertainlyLater && account.limit().refills()) {
      account.timeToFull().observeLaterClock(at, account.limit().arithmetic().fillMicros());
    } else {
      account.timeToFull().observeClock(at);
    }
  }

  /** Processes a record of a previous epoch. Tokens that exceed the epoch's counter are a debt. */
  private void takePreviousEpoch(Stamp stamp, BucketLimit ownLimit, long costTokens, long at) {
    EpochAccount ended = account.epochs().findPrevious(stamp.epoch());
    if (costTokens == 0) {
      if (at > account.epoch().stampedAtMicros()) {
        // the cache has returned to a previous epoch and needs a correction
        account.corrections().disturb(Cause.OVERLAP, 0, at);
      }
    } else if (ended == null) {
      account.owe(costTokens, at, Cause.OVERLAP);
    } else {
      long beyond = beyondCounter(ended, stamp, costTokens);
      ended.addRecord(costTokens - beyond, at);
      noteHeadroomOfEnded(stamp, ownLimit, costTokens, at);
      account.oweOverlap(ended, ended.overlapTokens(), at);
      if (beyond > 0) {
        account.owe(beyond, at, Cause.OVERLAP);
      }
    }
  }

  /**
   * Returns by how many tokens a charge of a previous epoch exceeds the epoch's newest known
   * counter; at most the charge's tokens.
   */
  private static long beyondCounter(EpochAccount ended, Stamp stamp, long costTokens) {
    return ended.epoch() == stamp.epoch()
        ? Math.min(costTokens, Math.max(0, stamp.charged() - ended.chargedTokens()))
        : 0;
  }

  /**
   * Records how far the cache's bucket was from full immediately before the charge. The charge
   * belongs to a previous bucket epoch.
   */
  private void noteHeadroomOfEnded(Stamp stamp, BucketLimit ownLimit, long costTokens, long at) {
    LimitChange change = LimitChange.of(ownLimit, account.limit(), at);
    Refill then = ownLimit.refill();
    if (change != null && then != null && account.limit().refills()) {
      long fromFull = stamp.fullAtEpochMicros() - then.boundedMicrosFor(costTokens) - at;
      account.gapCheck().noteHeadroomThen(change.sameTokensMicros(Math.max(0, fromFull)), at);
    }
  }

  /** Processes the newest stamp of the current epoch. */
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
    account.gapCheck().note(stamp, costTokens, at);
    if (wentBackBy > 0 || stamp.version() < corrections.confirmedVersion()) {
      epoch.noteWentBack(at);
      account.charge(Math.max(jump, costTokens), at);
      oweWentBack(stamp, wentBackBy, at);
      account.noteHeadroom(costTokens, at);
      corrections.goBack(stamp.version());
      corrections.disturb(Cause.OVERLAP, wentBackBy, at);
      return;
    }
    if (jump > costTokens) {
      // the cache made the other charges not later than this stamp
      account.gapCheck().noteHeadroomInFlight(time.trueMicros() - at, at);
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
    account.gapCheck().noteCertain(certainlyMissing);
  }

  /**
   * Returns the duration by which other charges in a stamp's counter certainly move the time to
   * full later, in microseconds. The result is the part of their refill time that the cache's
   * bucket had not refilled. Returns 0 if other charges may be in flight, or if they may be newer
   * than a debt. Example: the cache charged a call, but its reply was late and the node decided
   * without the cache. According to the records the bucket was full at that call, because the
   * records did not include the cache's charge yet.
   */
  private long certainlyMissingMicros(Stamp stamp, long costTokens, long jump, long at) {
    TimeToFull time = account.timeToFull();
    if (!account.limit().refills()
        || jump <= costTokens
        || account.epochs().hasPending()
        || !time.isOwedBefore(at)) {
      return 0;
    }
    boolean isCorrectedSince = stamp.version() != account.corrections().confirmedVersion();
    long fullAtBefore =
        isCorrectedSince ? Math.max(time.trueMicros(), time.cacheMicros()) : time.cacheMicros();
    long fullAt = stamp.fullAtEpochMicros() - account.refillMicros(costTokens);
    return Math.max(0, fullAt - Math.max(fullAtBefore, at));
  }

  /**
   * Adds a debt of the tokens that the cache lost when it returned to an older state. Corrections
   * that were published before do not include this debt, although stamps will show their versions
   * (simulation, seed 6004171).
   */
  private void oweWentBack(Stamp stamp, long wentBackTokens, long at) {
    if (account.limit().refills() && stamp.version() < account.corrections().version()) {
      account.timeToFull().owe(account.refillMicros(wentBackTokens), at);
    }
    account.timeToFull().oweBeyondCache(at);
  }

  private void takeAgreed(long jump, long costTokens, long at) {
    TimeToFull time = account.timeToFull();
    long fullAtBefore = time.trueMicros();
    time.trustCache();
    account.noteFullBefore(fullAtBefore, jump, costTokens, at);
    account.noteHeadroom(costTokens, at);
  }

  private void takeDisagreed(long jump, long costTokens, long at) {
    TimeToFull time = account.timeToFull();
    long fullAtBefore = time.trueMicros();
    account.charge(jump, at);
    if (!account.limit().refills()) {
      return;
    }
    // The debt that the cache has not charged yet may be newer than this charge. The cache's
    // distance from full is then the maximum.
    long byCache = time.cacheMicros() - account.refillMicros(costTokens) - at;
    account.noteDistance(
        time.isOwedBefore(at) ? Math.max(byCache, fullAtBefore - at) : byCache, at);
    if (time.boundByCache(!account.corrections().isUnconfirmed(), at)) {
      account.noteHeadroom(costTokens, at);
    } else {
      // The true time includes the other charges completely, although the bucket may have refilled
      // them before this charge.
      account.noteDistance(fullAtBefore + account.refillMicros(jump - costTokens) - at, at);
    }
  }

  /**
   * Processes a record that arrived after newer records of the epoch. The counter of those newer
   * records already includes the record's charge.
   */
  private void takeOvertaken(Stamp stamp, BucketLimit ownLimit, long costTokens, long at) {
    EpochAccounts epochs = account.epochs();
    epochs.current().addRecord(costTokens, at);
    account.gapCheck().note(stamp, costTokens, at);
    account.oweOverlap(epochs.current(), epochs.current().overlapTokens(), at);
    account.gapCheck().noteRecorded(account.refillMicros(costTokens));
    // a call without the cache may be newer than the newest stamp
    boolean isStampNewest = account.timeToFull().isOwedBefore(epochs.current().stampedAtMicros());
    if (!isStampNewest || !epochs.forgetHeadroom()) {
      noteHeadroomThen(stamp, ownLimit, costTokens, at);
    }
  }

  /**
   * Records the distance from full before a charge that arrived after newer records. The recorded
   * distance is the distance in the charge's stamp, adjusted by the current error of the cache. The
   * error may be positive because the bucket went into debt later. If the cache has applied a
   * correction since, the error was different. The distance is then computed from the current true
   * time, without the later charges (simulation, seed 1069498).
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
    account.gapCheck().noteHeadroomThen(fromFull, at);
  }

  /**
   * Trusts the stamp of a charge if only denials have newer stamps. The stamp of a denial depends
   * on the limit of the denial, which may differ.
   */
  private void takeNewestCharge(Stamp stamp) {
    boolean isNewestCounter = stamp.charged() == account.epoch().chargedTokens();
    CorrectionCycle corrections = account.corrections();
    if (isNewestCounter
        && corrections.isAgreed()
        && stamp.version() == corrections.confirmedVersion()) {
      account.trust(stamp);
    }
  }
}
