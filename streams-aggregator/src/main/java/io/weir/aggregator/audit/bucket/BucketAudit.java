// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.limits.BucketLimit;
import io.weir.limits.correction.Correction;
import io.weir.limits.correction.Correction.Cause;
import io.weir.topics.model.Charge;
import io.weir.topics.model.Stamp;
import org.jspecify.annotations.Nullable;

/**
 * The audit of one bucket: whether the cache's state of the bucket agrees with the records, and
 * what it should be where it does not. Decision record 0005 has the arithmetic and its proof. Only
 * records and low watermarks are taken into account, so that a replay of the topic comes to the
 * same result. Not thread-safe.
 *
 * <p>While cache and records agree, the true time to full is that of the newest stamp. Once they do
 * not, it follows its own arithmetic until a stamp shows the correction that was published.
 *
 * <p>Each step returns its effect on the figures of the bucket's policy as a value; nothing is
 * published or counted here.
 */
public final class BucketAudit {
  /** Least time between two corrections of a bucket while no stamp shows the first as applied. */
  public static final long UNCONFIRMED_INTERVAL_MILLIS =
      CorrectionCycle.UNCONFIRMED_INTERVAL_MILLIS;

  /** A bucket that is called less often shows too late when its correction was applied. */
  private static final long DELAY_RESOLUTION_MILLIS = 500;

  private static final long MICROS_PER_MILLI = 1_000;

  private final String bucket;
  private final BucketAccount account;
  private final CorrectionCycle corrections;
  private final DecisionJudge judge;
  private final LimitFollowing limits;
  private final StampComparison stamps;
  private long timerAtMillis;

  private BucketAudit(String bucket, BucketAccount account, DecisionJudge judge) {
    this.bucket = bucket;
    this.account = account;
    this.corrections = account.corrections();
    this.judge = judge;
    this.limits = new LimitFollowing(account);
    this.stamps = new StampComparison(account, limits, judge);
  }

  /**
   * Begins the audit of a bucket with its first stamp, which is believed.
   *
   * @param mayLackRecords whether records of this epoch may be gone from the topic, so that what
   *     the cache charged before is not in flight
   */
  public static BucketAudit ofStamp(
      Charge charge, BucketLimit limit, Stamp stamp, long atMillis, boolean mayLackRecords) {
    long at = atMillis * MICROS_PER_MILLI;
    boolean believed = mayLackRecords || stamp.version() > 0;
    EpochAccount epoch =
        believed
            ? EpochAccount.ofBelieved(stamp, charge.cost(), at)
            : new EpochAccount(stamp.epoch(), stamp.charged(), at, charge.cost(), 0);
    CorrectionCycle corrections = new CorrectionCycle();
    corrections.beginEpoch(stamp.version());
    BucketAccount account =
        new BucketAccount(
            limit,
            at,
            believed ? stamp.charged() : charge.cost(),
            new EpochAccounts(epoch),
            new TimeToFull(stamp.fullAtEpochMicros(), at),
            corrections);
    account.noteHeadroom(charge.cost(), at);
    if (!believed && limit.refills()) {
      account.timeToFull().noteFull(0, Math.min(stamp.epoch(), at));
    }
    return new BucketAudit(charge.bucket(), account, new DecisionJudge(0));
  }

  /** Begins the audit of a bucket with a charge that has no stamp: the bucket was full before. */
  public static BucketAudit ofUnstamped(Charge charge, BucketLimit limit, long atMillis) {
    BucketAudit audit = ofFull(charge.bucket(), limit, atMillis);
    audit.takeUnstamped(charge.cost(), atMillis);
    return audit;
  }

  /** Begins the audit of a bucket that was full at a time. */
  public static BucketAudit ofFull(String bucket, BucketLimit limit, long atMillis) {
    long at = Math.max(1, atMillis * MICROS_PER_MILLI);
    TimeToFull timeToFull = new TimeToFull(limit.fullAtMicros(at), 0);
    if (limit.refills()) {
      timeToFull.noteFull(0, at);
    }
    EpochAccounts epochs = new EpochAccounts(new EpochAccount(at, 0, at, 0, 0));
    return new BucketAudit(
        bucket,
        new BucketAccount(limit, at, 0, epochs, timeToFull, new CorrectionCycle()),
        new DecisionJudge(0));
  }

  /** Restores an audit. */
  static BucketAudit of(BucketAuditState state) {
    BucketAccount account =
        new BucketAccount(
            state.limit(),
            state.chargedAtMicros(),
            state.totalTokens(),
            new EpochAccounts(state.epoch(), state.previousEpochs(), state.gapCheck()),
            new TimeToFull(state.timeToFull()),
            CorrectionCycle.of(state.corrections()));
    BucketAudit audit =
        new BucketAudit(state.bucket(), account, new DecisionJudge(state.forgoneTokens()));
    audit.timerAtMillis = state.timerAtMillis();
    return audit;
  }

  /** Returns the whole state, to be stored. */
  BucketAuditState state() {
    return new BucketAuditState(
        bucket,
        account.limit(),
        account.epoch().state(),
        account.epochs().previousStates(),
        account.timeToFull().state(),
        account.chargedAtMicros(),
        account.totalTokens(),
        corrections.state(),
        judge.forgoneTokens(),
        timerAtMillis,
        account.epochs().gapCheckState());
  }

  /** Returns the bucket's key in the decision cache. */
  public String bucket() {
    return bucket;
  }

  /** Returns the limit that the bucket follows. */
  public BucketLimit limit() {
    return account.limit();
  }

  /** Returns the tokens by which cache and records differ since they last agreed. */
  public long openDriftTokens() {
    return corrections.openDriftTokens();
  }

  /** Returns the tokens admitted without the cache since cache and records last agreed. */
  public long openOutageTokens() {
    return corrections.openOutageTokens();
  }

  /**
   * Takes the charge of a recorded call.
   *
   * @param limit the limit by which the call was decided
   * @param askedTokens the cost of the call
   * @param atMillis when it was decided
   * @param nowMillis the partition's time
   */
  public AuditEffect take(
      Charge charge, BucketLimit limit, long askedTokens, long atMillis, long nowMillis) {
    Stamp stamp = charge.stamp();
    limits.follow(limit, stamp, charge.cost(), atMillis);
    long driftBefore = corrections.openDriftTokens();
    long outageBefore = corrections.openOutageTokens();
    Judgement judgement = Judgement.RIGHT;
    long confirmedAfter = -1;
    if (stamp == null) {
      takeUnstamped(charge.cost(), atMillis);
    } else {
      boolean wasUnconfirmed = corrections.isUnconfirmed();
      boolean isWatched = atMillis - stampedAtMillis() <= DELAY_RESOLUTION_MILLIS;
      judgement = stamps.take(stamp, limit, charge.cost(), askedTokens, atMillis);
      if (wasUnconfirmed && !corrections.isUnconfirmed() && isWatched) {
        confirmedAfter = corrections.awaitedMillis(atMillis);
      }
      settleAgreement(atMillis, nowMillis);
    }
    return AuditEffect.ofDecision(
        judgement,
        corrections.openDriftTokens() - driftBefore,
        corrections.openOutageTokens() - outageBefore,
        confirmedAfter);
  }

  /** Closes the open differences if cache and records agree, or repeats an overdue correction. */
  private void settleAgreement(long atMillis, long nowMillis) {
    if (corrections.isAgreed()) {
      corrections.closeDifferences();
      judge.reset();
    } else if (corrections.isOverdue(nowMillis)) {
      corrections.disturb(Cause.RESTORE, 0, atMillis);
    }
  }

  private void takeUnstamped(long costTokens, long atMillis) {
    account.addTotal(costTokens);
    corrections.addOutage(costTokens);
    account.owe(costTokens, atMillis, Cause.UNSTAMPED);
  }

  /**
   * Takes the difference between what a call turned out to cost and what it was charged.
   *
   * @param differenceTokens positive when the call cost more; a refund cannot give back what the
   *     bucket has refilled already
   * @param decidedAtMillis when the call was decided
   */
  public AuditEffect settle(long differenceTokens, long decidedAtMillis) {
    long driftBefore = corrections.openDriftTokens();
    account.addTotal(differenceTokens);
    if (differenceTokens > 0) {
      account.owe(differenceTokens, decidedAtMillis, Cause.SETTLE);
    } else {
      account.refund(-differenceTokens);
      corrections.disturb(Cause.SETTLE, -differenceTokens, decidedAtMillis);
    }
    return AuditEffect.ofDifferences(corrections.openDriftTokens() - driftBefore, 0);
  }

  /** Makes a correction due without a disturbance, if none is due. */
  public void requireCorrection(long atMillis) {
    if (corrections.dueCause() == null) {
      corrections.disturb(Cause.RESTORE, 0, atMillis);
    }
  }

  /** Returns whether a check has anything to find, or to note, at this watermark. */
  public boolean needsCheck(long watermarkMillis) {
    return corrections.dueCause() != null
        || account.epochs().needsCheck(watermarkMillis * MICROS_PER_MILLI);
  }

  /**
   * Gives up charges that will never be recorded, since every call before the watermark is known,
   * and takes back what was given up and has come after all.
   */
  public AuditEffect check(long watermarkMillis) {
    long watermark = watermarkMillis * MICROS_PER_MILLI;
    EpochAccounts epochs = account.epochs();
    long driftBefore = corrections.openDriftTokens();
    long wrongRefusals = 0;
    for (EpochAccount ended : epochs.duePrevious(watermark)) {
      wrongRefusals += account.creditGap(ended, ended.pendingTokens(), watermark);
    }
    if (epochs.isCheckDue(watermark)) {
      wrongRefusals += account.creditGap(epochs.current(), epochs.missingTokens(), watermark);
      account.oweCheckedOverlap(epochs.overlapTokens());
      epochs.beginNextCheck();
    }
    return AuditEffect.ofGaps(corrections.openDriftTokens() - driftBefore, wrongRefusals);
  }

  /** Returns why a correction is due, or null if none is. */
  public @Nullable Cause dueCause() {
    return corrections.dueCause();
  }

  /** Returns whether a correction that is due may be published now. */
  public boolean mayPublish(long nowMillis) {
    return corrections.mayPublish(nowMillis);
  }

  /** Returns until when a correction that is due waits for the newest to be confirmed. */
  public long waitsUntilMillis() {
    return corrections.waitsUntilMillis();
  }

  /** Begins to wait until that time; returns false if the correction waits already. */
  public boolean beginWaiting() {
    return corrections.beginWaiting();
  }

  /**
   * Advances the bucket to its next version and returns the correction to publish. Returns null if
   * the bucket cannot be corrected: of a bucket of capacity 0 only refusals are known, and neither
   * what it holds nor of how much. What is owed stays owed, since no stamp shows that version: the
   * bucket is published when it has another limit.
   */
  public @Nullable Correction publish(Cause cause, long nowMillis) {
    if (account.limit().capacityTokens() == 0) {
      corrections.publish(nowMillis);
      return null;
    }
    EpochAccount epoch = account.epoch();
    long total = Saturating.add(account.totalTokens(), account.epochs().inFlightTokens());
    long pendingSince = corrections.publish(nowMillis);
    account.timeToFull().stateOwed();
    return new Correction(
        bucket,
        account.limit(),
        epoch.epoch(),
        corrections.version(),
        epoch.chargedTokens(),
        account.timeToFull().trueMicros(),
        total,
        Saturating.subtract(total, epoch.chargedTokens()),
        cause,
        pendingSince,
        nowMillis,
        account.timeToFull().knownThroughMicros());
  }

  /** Returns the watermark at which the bucket is examined next; 0 when it has no timer. */
  public long timerAtMillis() {
    return timerAtMillis;
  }

  /** Sets the watermark at which the bucket is examined next. */
  public void setTimer(long watermarkMillis) {
    timerAtMillis = watermarkMillis;
  }

  /**
   * Returns the next watermark at which there may be something to find, or the bucket is over.
   *
   * @param marginMillis as of {@link #isOver}
   */
  public long nextExaminationMillis(long watermarkMillis, long marginMillis) {
    long at = (latestFullAtMicros() / MICROS_PER_MILLI) + marginMillis + 1;
    if (account.epochs().awaitsWatermark()) {
      at = Math.min(at, stampedAtMillis() + 1);
    }
    return Math.max(at, watermarkMillis + 1);
  }

  private long latestFullAtMicros() {
    TimeToFull time = account.timeToFull();
    return Math.max(
        time.trueMicros(), Math.max(time.cacheMicros(), account.epoch().stampedAtMicros()));
  }

  /**
   * Returns whether the bucket is full, or its period over, and nothing of it is left to publish.
   *
   * @param marginMillis how long the watermark must have passed the time to full
   */
  public boolean isOver(long watermarkMillis, long marginMillis) {
    return corrections.dueCause() == null
        && account.epoch().pendingTokens() == 0
        && watermarkMillis - marginMillis > latestFullAtMicros() / MICROS_PER_MILLI;
  }

  /** Returns whether the bucket holds less than its capacity at a time. */
  public boolean isUsed(long atMillis) {
    TimeToFull time = account.timeToFull();
    return Math.max(time.trueMicros(), time.cacheMicros()) > atMillis * MICROS_PER_MILLI;
  }

  private long stampedAtMillis() {
    return account.epoch().stampedAtMicros() / MICROS_PER_MILLI;
  }

  /** Returns how the bucket stands, for reports. */
  BucketSnapshot snapshot() {
    EpochAccount epoch = account.epoch();
    return new BucketSnapshot(
        bucket,
        account.limit(),
        epoch.epoch(),
        corrections.version(),
        corrections.confirmedVersion(),
        epoch.chargedTokens(),
        account.epochs().inFlightTokens(),
        account.totalTokens(),
        account.timeToFull().cacheMicros(),
        account.timeToFull().trueMicros(),
        stampedAtMillis(),
        account.timeToFull().knownThroughMicros());
  }
}
