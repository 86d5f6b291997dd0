// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.aggregator.audit.bucket.DecisionJudge.Judgement;
import io.weir.aggregator.state.Packer;
import io.weir.aggregator.state.StoredMembers;
import io.weir.aggregator.state.Unpacker;
import io.weir.limits.BucketLimit;
import io.weir.limits.LimitAlgorithm;
import io.weir.limits.correction.Correction;
import io.weir.limits.correction.Correction.Cause;
import io.weir.topics.model.Charge;
import io.weir.topics.model.Stamp;
import org.jspecify.annotations.Nullable;

/**
 * The audit of one bucket. It compares the cache's state of the bucket with the records. If they
 * differ, it computes the correct state. Decision record 0005 contains the arithmetic and its
 * proof. The audit depends only on records and low watermarks, so a second read of the topic has
 * the same result. Not thread-safe.
 *
 * <p>While cache and records agree, the newest stamp contains the true time to full. When they
 * differ, the audit computes the true time to full until a stamp confirms the published correction.
 *
 * <p>Each step returns its effect on the figures of the bucket's policy. This class itself does not
 * publish or count anything.
 */
public final class BucketAudit {
  /**
   * Maximum time between two stamps if the delay of a correction is measured, in milliseconds. The
   * cache applies a correction at an unknown time between two stamps. With a longer time between
   * them, the measured delay would be too inaccurate.
   */
  private static final long DELAY_RESOLUTION_MILLIS = 500;

  /** Version of the stored form. */
  private static final int VERSION = 10;

  private static final long MICROS_PER_MILLI = 1_000;

  private final String bucket;
  private final BucketAccount account;
  private final CorrectionCycle corrections;
  private final DecisionJudge judge = new DecisionJudge();
  private final LimitFollowing limits;
  private final StampComparison stamps;
  private long timerAtMillis;

  private BucketAudit(String bucket, BucketAccount account) {
    this.bucket = bucket;
    this.account = account;
    this.corrections = account.corrections();
    this.limits = new LimitFollowing(account);
    this.stamps = new StampComparison(account, limits, judge);
  }

  /**
   * Creates the audit of a bucket from the bucket's first known stamp.
   *
   * @param mayLackRecords whether Kafka may have deleted records of this epoch. If so, earlier
   *     charges do not count as in flight
   */
  public static BucketAudit ofStamp(
      Charge charge, BucketLimit limit, Stamp stamp, long atMillis, boolean mayLackRecords) {
    long at = atMillis * MICROS_PER_MILLI;
    boolean isTrusted = mayLackRecords || stamp.version() > 0;
    EpochAccount epoch =
        isTrusted
            ? EpochAccount.ofTrusted(stamp, charge.cost(), at)
            : EpochAccount.ofStamp(stamp, charge.cost(), at);
    BucketAccount account =
        new BucketAccount(
            limit,
            at,
            isTrusted ? stamp.charged() : charge.cost(),
            epoch,
            new TimeToFull(stamp.fullAtEpochMicros(), at));
    account.corrections().beginEpoch(stamp.version());
    account.noteHeadroom(charge.cost(), at);
    if (!isTrusted && limit.refills()) {
      account.timeToFull().noteFull(0, Math.min(stamp.epoch(), at));
    }
    return new BucketAudit(charge.bucket(), account);
  }

  /**
   * Creates the audit of a bucket from a charge without a stamp. The bucket was full before the
   * charge.
   */
  public static BucketAudit ofUnstamped(Charge charge, BucketLimit limit, long atMillis) {
    BucketAudit audit = ofFull(charge.bucket(), limit, atMillis);
    audit.takeUnstamped(charge.cost(), atMillis * MICROS_PER_MILLI);
    return audit;
  }

  /** Creates the audit of a bucket that was full at a time. */
  public static BucketAudit ofFull(String bucket, BucketLimit limit, long atMillis) {
    long at = Math.max(1, atMillis * MICROS_PER_MILLI);
    TimeToFull timeToFull = new TimeToFull(limit.fullAtMicros(at), 0);
    if (limit.refills()) {
      timeToFull.noteFull(0, at);
    }
    return new BucketAudit(
        bucket, new BucketAccount(limit, at, 0, new EpochAccount(at, 0, at), timeToFull));
  }

  /** Encodes the stored form of this audit. */
  public byte[] encode(Packer value) {
    value.reset().integer(VERSION).text(bucket).text(limit().algorithm().wireName());
    limit().writeTo((name, member) -> value.integer(member));
    store(value.members());
    return value.toBytes();
  }

  /**
   * Decodes a stored audit.
   *
   * @throws IllegalStateException if the value has another version
   */
  public static BucketAudit decode(byte[] bytes) {
    Unpacker value = Unpacker.ofVersion(bytes, VERSION);
    String bucket = value.text();
    BucketLimit limit = LimitAlgorithm.ofWireName(value.text()).read(name -> value.integer());
    BucketAudit audit =
        new BucketAudit(
            bucket,
            new BucketAccount(limit, 0, 0, new EpochAccount(0, 0, 0), new TimeToFull(0, 0)));
    audit.store(value.members());
    return audit;
  }

  /** Writes or reads the complete state, without the bucket's key and limit. */
  private void store(StoredMembers members) {
    account.epochs().store(members);
    account.timeToFull().storeTimes(members);
    account.store(members);
    corrections.store(members);
    judge.store(members);
    timerAtMillis = members.integer(timerAtMillis);
    account.gapCheck().store(members);
    account.timeToFull().storeDebt(members);
  }

  /** Returns the bucket's key in the decision cache. */
  public String bucket() {
    return bucket;
  }

  /** Returns the limit in force for the bucket. */
  public BucketLimit limit() {
    return account.limit();
  }

  /** Returns the state of the bucket's corrections. */
  public CorrectionCycle corrections() {
    return corrections;
  }

  /**
   * Processes the charge of a recorded call.
   *
   * @param limit the limit that decided the call
   * @param requestedTokens the cost of the call
   * @param atMillis time of the decision
   * @param nowMillis the current time of the partition
   */
  public AuditEffect take(
      Charge charge, BucketLimit limit, long requestedTokens, long atMillis, long nowMillis) {
    long at = atMillis * MICROS_PER_MILLI;
    Stamp stamp = charge.stamp();
    limits.follow(limit, stamp, charge.cost(), at);
    long driftBefore = corrections.openDriftTokens();
    long outageBefore = corrections.openOutageTokens();
    Judgement judgement = Judgement.RIGHT;
    long confirmedAfter = -1;
    if (stamp == null) {
      takeUnstamped(charge.cost(), at);
    } else {
      boolean wasUnconfirmed = corrections.isUnconfirmed();
      boolean isWatched = atMillis - stampedAtMillis() <= DELAY_RESOLUTION_MILLIS;
      judgement = stamps.take(stamp, limit, charge.cost(), requestedTokens, at);
      if (wasUnconfirmed && !corrections.isUnconfirmed() && isWatched) {
        confirmedAfter = corrections.awaitedMillis(atMillis);
      }
      settleAgreement(at, nowMillis);
    }
    return AuditEffect.ofDecision(
        judgement,
        corrections.openDriftTokens() - driftBefore,
        corrections.openOutageTokens() - outageBefore,
        confirmedAfter);
  }

  /**
   * Clears the open differences if cache and records agree. Otherwise makes a correction due if the
   * confirmation of the newest correction is overdue.
   */
  private void settleAgreement(long atMicros, long nowMillis) {
    if (corrections.isAgreed()) {
      corrections.closeDifferences();
      judge.reset();
    } else if (corrections.isOverdue(nowMillis)) {
      corrections.disturb(Cause.RESTORE, 0, atMicros);
    }
  }

  private void takeUnstamped(long costTokens, long atMicros) {
    account.addTotal(costTokens);
    corrections.addOutage(costTokens);
    account.owe(costTokens, atMicros, Cause.UNSTAMPED);
  }

  /**
   * Processes a settlement.
   *
   * @param differenceTokens actual cost minus charge. A negative difference is a refund, which
   *     cannot return tokens that the bucket has already refilled
   * @param decidedAtMillis time of the decision
   */
  public AuditEffect settle(long differenceTokens, long decidedAtMillis) {
    long decidedAt = decidedAtMillis * MICROS_PER_MILLI;
    long driftBefore = corrections.openDriftTokens();
    account.addTotal(differenceTokens);
    if (differenceTokens > 0) {
      account.owe(differenceTokens, decidedAt, Cause.SETTLE);
    } else {
      account.refund(-differenceTokens);
      corrections.disturb(Cause.SETTLE, -differenceTokens, decidedAt);
    }
    return AuditEffect.ofDifferences(corrections.openDriftTokens() - driftBefore, 0);
  }

  /**
   * Makes a correction due, even if cache and records do not differ. Does nothing if a correction
   * is already due.
   */
  public void requireCorrection(long atMillis) {
    if (corrections.dueCause() == null) {
      corrections.disturb(Cause.RESTORE, 0, atMillis * MICROS_PER_MILLI);
    }
  }

  /** Returns whether a check is needed at this watermark. */
  public boolean needsCheck(long watermarkMillis) {
    return corrections.dueCause() != null
        || account.epochs().needsCheck(watermarkMillis * MICROS_PER_MILLI);
  }

  /**
   * Checks the bucket for gaps and overlaps. All calls before the watermark are known, so missing
   * charges before it will never be recorded. The check credits them to the bucket. If a credited
   * charge was recorded after all, the check takes the credit back.
   */
  public AuditEffect check(long watermarkMillis) {
    long watermark = watermarkMillis * MICROS_PER_MILLI;
    EpochAccounts epochs = account.epochs();
    GapCheck gapCheck = account.gapCheck();
    long driftBefore = corrections.openDriftTokens();
    long wrongRefusals = 0;
    for (EpochAccount ended : epochs.duePrevious(watermark)) {
      wrongRefusals += account.creditGap(ended, ended.pendingTokens(), watermark);
    }
    if (gapCheck.isDue(watermark)) {
      EpochAccount current = epochs.current();
      wrongRefusals += account.creditGap(current, epochs.missingTokens(), watermark);
      // the overlap at the check's stamp, because later charges may be in flight
      account.oweOverlap(current, gapCheck.overlapTokens(current), gapCheck.stampedAtMicros());
      epochs.beginNextCheck();
    }
    return AuditEffect.ofGaps(corrections.openDriftTokens() - driftBefore, wrongRefusals);
  }

  /**
   * Advances the bucket to its next version and returns the correction to publish. Returns null if
   * the newest known limit has capacity 0. The records then show only denials, which do not show
   * the tokens or the capacity of the bucket in the cache. The debt remains, because the cache does
   * not receive this version, and no stamp shows it. A correction is published when the limit
   * changes.
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

  /** Returns the watermark at which the bucket is examined next, or 0 if it has no timer. */
  public long timerAtMillis() {
    return timerAtMillis;
  }

  /** Sets the watermark at which the bucket is examined next. */
  public void setTimer(long watermarkMillis) {
    timerAtMillis = watermarkMillis;
  }

  /**
   * Returns the next watermark at which a check may find a difference, or at which the audit has
   * expired.
   *
   * @param marginMillis minimum time between the time to full and the watermark of an expired audit
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
   * Returns whether the audit is no longer needed. The bucket is then full or its period has ended,
   * and no correction is due.
   *
   * @param marginMillis minimum time between the time to full and the watermark
   */
  public boolean hasExpired(long watermarkMillis, long marginMillis) {
    return corrections.dueCause() == null
        && account.epoch().pendingTokens() == 0
        && watermarkMillis - marginMillis > latestFullAtMicros() / MICROS_PER_MILLI;
  }

  /** Returns whether the bucket is not full at the given time. */
  public boolean isUsed(long atMillis) {
    TimeToFull time = account.timeToFull();
    return Math.max(time.trueMicros(), time.cacheMicros()) > atMillis * MICROS_PER_MILLI;
  }

  private long stampedAtMillis() {
    return account.epoch().stampedAtMicros() / MICROS_PER_MILLI;
  }

  /** Returns the state of the bucket that reports show. */
  public BucketSnapshot snapshot() {
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
