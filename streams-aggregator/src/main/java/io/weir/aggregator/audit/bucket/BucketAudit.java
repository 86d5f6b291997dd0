// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.limits.BucketLimit;
import io.weir.limits.correction.Correction;
import io.weir.limits.correction.Correction.Cause;
import io.weir.topics.model.Charge;
import io.weir.topics.model.Stamp;
import org.jspecify.annotations.Nullable;

/**
 * The audit of one bucket: compares the cache's state of the bucket with the records, and computes
 * the correct state where they differ. Decision record 0005 has the arithmetic and its proof. The
 * audit depends only on records and low watermarks, so a replay of the topic has the same result.
 * Not thread-safe.
 *
 * <p>While cache and records agree, the true time to full is the one in the newest stamp. When they
 * differ, the audit computes the true time itself, until a stamp confirms the published correction.
 *
 * <p>Each step returns its effect on the figures of the bucket's policy as a value. This class does
 * not publish or count anything.
 */
public final class BucketAudit {
  /** Minimum time between two corrections of a bucket while the first is not confirmed. */
  public static final long UNCONFIRMED_INTERVAL_MILLIS =
      CorrectionCycle.UNCONFIRMED_INTERVAL_MILLIS;

  /**
   * Maximum time between two stamps for a measured delay. Rarer stamps show too late when the
   * correction was applied.
   */
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
   * Begins the audit of a bucket with its first stamp, which is trusted.
   *
   * @param mayLackRecords whether Kafka may have deleted records of this epoch; earlier charges
   *     then are not in flight
   */
  public static BucketAudit ofStamp(
      Charge charge, BucketLimit limit, Stamp stamp, long atMillis, boolean mayLackRecords) {
    long at = atMillis * MICROS_PER_MILLI;
    boolean isTrusted = mayLackRecords || stamp.version() > 0;
    EpochAccount epoch =
        isTrusted
            ? EpochAccount.ofTrusted(stamp, charge.cost(), at)
            : new EpochAccount(stamp.epoch(), stamp.charged(), at, charge.cost(), 0);
    CorrectionCycle corrections = new CorrectionCycle();
    corrections.beginEpoch(stamp.version());
    BucketAccount account =
        new BucketAccount(
            limit,
            at,
            isTrusted ? stamp.charged() : charge.cost(),
            new EpochAccounts(epoch),
            new TimeToFull(stamp.fullAtEpochMicros(), at),
            corrections);
    account.noteHeadroom(charge.cost(), at);
    if (!isTrusted && limit.refills()) {
      account.timeToFull().noteFull(0, Math.min(stamp.epoch(), at));
    }
    return new BucketAudit(charge.bucket(), account, new DecisionJudge(0));
  }

  /** Begins the audit of a bucket with a charge without a stamp; the bucket was full before. */
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

  /** Restores an audit from its stored state. */
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

  /** Returns the whole state for the store. */
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

  /** Returns the limit in force for the bucket. */
  public BucketLimit limit() {
    return account.limit();
  }

  /** Returns by how many tokens cache and records have differed since they last agreed. */
  public long openDriftTokens() {
    return corrections.openDriftTokens();
  }

  /**
   * Returns how many tokens were admitted without the cache since cache and records last agreed.
   */
  public long openOutageTokens() {
    return corrections.openOutageTokens();
  }

  /**
   * Processes the charge of a recorded call.
   *
   * @param limit the limit that decided the call
   * @param requestedTokens the cost of the call
   * @param atMillis when the call was decided
   * @param nowMillis the current time of the partition
   */
  public AuditEffect take(
      Charge charge, BucketLimit limit, long requestedTokens, long atMillis, long nowMillis) {
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
      judgement = stamps.take(stamp, limit, charge.cost(), requestedTokens, atMillis);
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

  /** Clears the open differences if cache and records agree, or repeats an overdue correction. */
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
   * Processes a settlement: the difference between the actual cost of a call and its charge.
   *
   * @param differenceTokens positive if the call cost more; a refund cannot return tokens that the
   *     bucket has already refilled
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

  /** Makes a correction due, without a disturbance, if none is due. */
  public void requireCorrection(long atMillis) {
    if (corrections.dueCause() == null) {
      corrections.disturb(Cause.RESTORE, 0, atMillis);
    }
  }

  /** Returns whether a check is needed at this watermark. */
  public boolean needsCheck(long watermarkMillis) {
    return corrections.dueCause() != null
        || account.epochs().needsCheck(watermarkMillis * MICROS_PER_MILLI);
  }

  /**
   * Checks for gaps and overlaps. Every call before the watermark is known, so charges still
   * missing will never be recorded, and the bucket is credited. Credits for charges recorded after
   * all are taken back.
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

  /** Returns the cause of the due correction, or null if none is due. */
  public @Nullable Cause dueCause() {
    return corrections.dueCause();
  }

  /** Returns whether a due correction may be published now. */
  public boolean mayPublish(long nowMillis) {
    return corrections.mayPublish(nowMillis);
  }

  /** Returns until when a due correction waits for the confirmation of the newest. */
  public long waitsUntilMillis() {
    return corrections.waitsUntilMillis();
  }

  /**
   * Begins to wait until {@link #waitsUntilMillis}; returns false if the correction already waits.
   */
  public boolean beginWaiting() {
    return corrections.beginWaiting();
  }

  /**
   * Advances the bucket to its next version and returns the correction to publish. Returns null if
   * the capacity is 0: only denials are known then, and neither the content nor the size of the
   * bucket. The debt remains, because no stamp shows that version. The bucket is published when its
   * limit changes.
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

  /** Returns the watermark at which the bucket is examined next; 0 if it has no timer. */
  public long timerAtMillis() {
    return timerAtMillis;
  }

  /** Sets the watermark at which the bucket is examined next. */
  public void setTimer(long watermarkMillis) {
    timerAtMillis = watermarkMillis;
  }

  /**
   * Returns the next watermark at which a check may find something, or at which the bucket has
   * expired.
   *
   * @param marginMillis as in {@link #hasExpired}
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
   * Returns whether the audit is complete: the bucket is full or its period has ended, and no
   * correction is due.
   *
   * @param marginMillis how far the watermark must be after the time to full
   */
  public boolean hasExpired(long watermarkMillis, long marginMillis) {
    return corrections.dueCause() == null
        && account.epoch().pendingTokens() == 0
        && watermarkMillis - marginMillis > latestFullAtMicros() / MICROS_PER_MILLI;
  }

  /** Returns whether the bucket is not full at a time. */
  public boolean isUsed(long atMillis) {
    TimeToFull time = account.timeToFull();
    return Math.max(time.trueMicros(), time.cacheMicros()) > atMillis * MICROS_PER_MILLI;
  }

  private long stampedAtMillis() {
    return account.epoch().stampedAtMicros() / MICROS_PER_MILLI;
  }

  /** Returns the state of the bucket for reports. */
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
