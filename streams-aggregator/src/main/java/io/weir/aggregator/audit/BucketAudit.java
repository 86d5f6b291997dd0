// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit;

import io.weir.limits.BucketArithmetic;
import io.weir.limits.BucketLimit;
import io.weir.limits.LimitChange;
import io.weir.limits.Numbers;
import io.weir.limits.Refill;
import io.weir.limits.correction.Correction;
import io.weir.limits.correction.Correction.Cause;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.Stamp;
import org.jspecify.annotations.Nullable;

/**
 * The state of one bucket as the records show it: whether the cache's state of the bucket is right,
 * and what it should be where it is not. Decision record 0005 has the arithmetic and its proof. The
 * symbols used there are C for {@link EpochAccount#chargedTokens}, E for {@link
 * EpochAccount#exactTokens}, R for {@link EpochAccount#driftTokens} and T for {@code
 * trueFullAtMicros}. Only records and low watermarks are taken into account, so that a replay of
 * the topic comes to the same result. Not safe for threads.
 *
 * <p>The cache and the records <em>agree</em> while the newest stamp shows the newest correction
 * that was published, and nothing has happened since that the cache does not know of. T is then
 * taken from the stamps.
 */
final class BucketAudit {
  /** Room for a clock that is read in whole milliseconds. */
  private static final long CLOCK_STEP_MICROS = 1_000;

  private static final long MICROS_PER_MILLI = 1_000;

  final String bucket;
  BucketLimit limit;
  EpochAccount line;

  final PreviousEpochs olderLives = new PreviousEpochs();

  long cacheFullAtMicros;
  long trueFullAtMicros;

  /**
   * The time by which T has moved beyond the cache's since the newest correction was published:
   * what has come to be owed that no correction states yet.
   */
  long owedSinceMicros;

  /** When the newest charge that is known was made, by the cache or without it. */
  long chargedAtMicros;

  /** Σ cost of all records of the bucket while it is tracked. */
  long totalTokens;

  long version;
  long confirmedVersion;

  /** Why a correction is to be published; null when none is. */
  @Nullable Cause pendingCause;

  /** When the oldest call was decided that the next correction takes into account first. */
  long disturbedAtMillis;

  /** The same of the last correction published; 0 when it had no such call. */
  long awaitedSinceMillis;

  /** When the last correction was published, by the broker's clock. */
  long publishedAtMillis;

  /** Tokens by which cache and truth differ since the last confirmation. */
  long openDriftTokens;

  /** Tokens let through without the cache since the last confirmation. */
  long openOutageTokens;

  /** Tokens of the calls wrongly refused since then: the true bucket would have paid them once. */
  long forgoneTokens;

  /** The watermark at which the bucket is looked at next; 0 when it has no timer yet. */
  long timerAtMillis;

  /** Until when a correction waits for the one before; of this process only. */
  long waitsUntilMillis;

  final GapCheck gapCheck = new GapCheck();

  /** The times at which the bucket was full by the records, under the limit in force. */
  final FullTimes fullTimes = new FullTimes();

  /** What a decision of the cache was, as the records judge it. */
  enum Judgement {
    /** Right, as far as is known. */
    RIGHT,
    /** Admitted, though the true bucket did not hold the cost. */
    WRONGLY_ADMITTED,
    /** Refused, though the true bucket held the cost. */
    WRONGLY_DENIED
  }

  BucketAudit(String bucket, BucketLimit limit, EpochAccount line) {
    this.bucket = bucket;
    this.limit = limit;
    this.line = line;
  }

  /**
   * Begins a bucket with its first stamp; the cache is believed.
   *
   * @param mayLackRecords whether records of this life of the bucket may be gone from the topic, so
   *     that what the cache charged before is not on its way
   */
  static BucketAudit ofStamp(
      Charge charge, BucketLimit limit, Stamp stamp, long atMillis, boolean mayLackRecords) {
    long at = atMillis * MICROS_PER_MILLI;
    boolean believed = mayLackRecords || stamp.version() > 0;
    long drift = believed ? charge.cost() - stamp.charged() : 0;
    EpochAccount line = new EpochAccount(stamp.epoch(), stamp.charged(), at, charge.cost(), drift);
    BucketAudit track = new BucketAudit(charge.bucket(), limit, line);
    track.totalTokens = believed ? stamp.charged() : charge.cost();
    track.cacheFullAtMicros = stamp.fullAtEpochMicros();
    track.trueFullAtMicros = stamp.fullAtEpochMicros();
    track.chargedAtMicros = at;
    track.version = stamp.version();
    track.confirmedVersion = stamp.version();
    track.noteHeadroom(charge.cost(), at);
    track.gapCheck.begin(track.line);
    if (!believed && limit.refills()) {
      track.fullTimes.add(0, Math.min(stamp.epoch(), at));
    }
    return track;
  }

  /** Begins a bucket with a charge that the cache has not spoken of: it was full. */
  static BucketAudit ofUnstamped(Charge charge, BucketLimit limit, long atMillis) {
    BucketAudit track = ofFull(charge.bucket(), limit, atMillis);
    track.takeUnstamped(charge.cost(), atMillis);
    return track;
  }

  /** Begins a bucket that was full at a moment. */
  static BucketAudit ofFull(String bucket, BucketLimit limit, long atMillis) {
    long at = Math.max(1, atMillis * MICROS_PER_MILLI);
    BucketAudit track = new BucketAudit(bucket, limit, new EpochAccount(at, 0, at, 0, 0));
    track.cacheFullAtMicros = limit.fullAtMicros(at);
    track.trueFullAtMicros = track.cacheFullAtMicros;
    track.chargedAtMicros = at;
    track.gapCheck.begin(track.line);
    if (limit.refills()) {
      track.fullTimes.add(0, at);
    }
    return track;
  }

  /**
   * Follows a changed limit, if the record that has it is not older than the newest one, as the
   * cache does ({@link LimitChange}). A call that the cache did not decide is newer when nothing is
   * known of the bucket since: while the cache is away, its calls are charged by the limit in force
   * (simulation, seeds 7063 and 10425). A refusal leaves the cache's bucket as it is, and so under
   * the limit of its last charge: a charge is newer when no charge since is known, whatever was
   * refused. A bucket of which only refusals are known is under the limit of its first charge. A
   * bucket that was full and is made anew is full. Of a quota the tokens used are known, which no
   * limit changes.
   *
   * @param stamp of the record; null when the cache did not decide
   * @param costTokens what the call took; 0 when the bucket refused it
   */
  void follow(BucketLimit changed, @Nullable Stamp stamp, long costTokens, long atMillis) {
    long at = atMillis * MICROS_PER_MILLI;
    if (changed.equals(limit)
        || isRefusalUnderAnother(changed, stamp, costTokens)
        || !isToBeFollowed(stamp, costTokens, at)) {
      return;
    }
    BucketLimit before = limit;
    if (stamp != null && isFirstCharge(stamp, costTokens)) {
      limit = changed;
      fullTimes.restart(at);
      takeFullAt(stamp);
      return;
    }
    limit = changed;
    LimitChange change = LimitChange.of(before, changed, chargedAtMicros);
    if (change != null) {
      boolean isMadeAnew = stamp == null ? isForgotten(at) : stamp.epoch() > line.epoch;
      followDistances(change, at);
      if (!isMadeAnew || trueFullAtMicros > at) {
        trueFullAtMicros = change.fullAtMicros(trueFullAtMicros);
        gapCheck.noteHeadroom(trueFullAtMicros - chargedAtMicros);
      }
      if (!isMadeAnew || cacheFullAtMicros > at) {
        cacheFullAtMicros = change.fullAtMicros(cacheFullAtMicros);
      }
    }
  }

  /**
   * Whether the cache keeps the bucket no longer: it forgets one that has been full for the margin.
   * Until then it carries over what was left, also to a limit that is raised.
   */
  private boolean isForgotten(long at) {
    return at - cacheFullAtMicros > BucketArithmetic.TTL_MARGIN_MILLIS * MICROS_PER_MILLI;
  }

  /** Times that stand for tokens become those of the limit that is followed from now on. */
  private void followDistances(LimitChange change, long at) {
    fullTimes.restart(at);
    owedSinceMicros = change.sameTokensMicros(owedSinceMicros);
    gapCheck.followHeadroom(change);
    line.followCredit(change);
    olderLives.all().forEach(life -> life.followCredit(change));
  }

  private boolean isRefusalUnderAnother(
      BucketLimit ownLimit, @Nullable Stamp stamp, long costTokens) {
    return costTokens == 0
        && ownLimit.refills()
        && !ownLimit.equals(limit)
        && (stamp == null || stamp.epoch() == line.epoch || ownLimit.capacityTokens() == 0);
  }

  private boolean isToBeFollowed(@Nullable Stamp stamp, long costTokens, long at) {
    if (stamp == null) {
      return at >= Math.max(chargedAtMicros, line.stampedAtMicros);
    }
    if (stamp.epoch() != line.epoch) {
      return stamp.epoch() > line.epoch;
    }
    return at >= line.stampedAtMicros
        || isFirstCharge(stamp, costTokens)
        || (costTokens > 0 && at >= chargedAtMicros);
  }

  /**
   * Whether only refusals were known of the bucket before a record that is not yet taken. A total
   * of nothing may be that of a charge and its refund, of which the cache may not know yet.
   */
  private boolean isFirstCharge(Stamp stamp, long costTokens) {
    return costTokens > 0
        && totalTokens == 0
        && line.exactTokens == 0
        && openDriftTokens == 0
        && openOutageTokens == 0
        && stamp.epoch() == line.epoch;
  }

  /**
   * The bucket is as a charge says, at the moment of the cache's counter that is known: what was
   * charged since is counted at once, and what is not known yet is left out.
   */
  private void takeFullAt(Stamp stamp) {
    long fullAt = stamp.fullAtEpochMicros();
    Refill refill = limit.refill();
    if (refill != null) {
      long since = refill.boundedMicrosFor(line.chargedTokens - stamp.charged());
      fullAt = Math.max(0, Math.min(fullAt + since, Stamp.MAX_FULL_AT_MICROS));
    }
    cacheFullAtMicros = fullAt;
    trueFullAtMicros = fullAt;
  }

  /** Takes a charge that the cache does not know of. */
  void takeUnstamped(long costTokens, long atMillis) {
    totalTokens = Saturating.add(totalTokens, costTokens);
    openOutageTokens = Saturating.add(openOutageTokens, costTokens);
    owe(costTokens, atMillis, Cause.UNSTAMPED);
  }

  /**
   * Takes what a call that was decided at this time cost more (positive) or less than it was
   * charged. A refund may put T behind the clock, which is full: the next charge begins at its own
   * time. It cannot take back what was full already.
   */
  void settle(long differenceTokens, long decidedAtMillis) {
    totalTokens = Saturating.add(totalTokens, differenceTokens);
    if (differenceTokens > 0) {
      owe(differenceTokens, decidedAtMillis, Cause.SETTLE);
      return;
    }
    Refill refill = limit.refill();
    if (refill != null) {
      trueFullAtMicros = Math.max(0, trueFullAtMicros - refill.boundedMicrosFor(-differenceTokens));
    }
    disturb(Cause.SETTLE, -differenceTokens, decidedAtMillis);
  }

  private void owe(long costTokens, long atMillis, Cause cause) {
    chargedAtMicros = Math.max(chargedAtMicros, atMillis * MICROS_PER_MILLI);
    fillUpLate(costTokens, atMillis * MICROS_PER_MILLI);
    disturb(cause, costTokens, atMillis);
  }

  /**
   * Takes a charge that may be older than others that are known: as {@link #fillUp}, less what has
   * been refilled since the charge was made.
   */
  private void fillUpLate(long tokens, long atMicros) {
    Refill refill = limit.refill();
    if (refill != null) {
      long micros = refill.boundedMicrosFor(tokens);
      long left = micros - fullTimes.take(atMicros, micros);
      owedSinceMicros = Saturating.add(owedSinceMicros, left);
      fillUpMicros(left, atMicros);
    }
  }

  /** T ← max(T, at) + tokens·τ. */
  private void fillUp(long tokens, long atMicros) {
    Refill refill = limit.refill();
    if (refill != null) {
      fillUpMicros(refill.boundedMicrosFor(tokens), atMicros);
    }
  }

  private void fillUpMicros(long micros, long atMicros) {
    fullTimes.add(trueFullAtMicros, atMicros);
    long fullAt = Math.max(trueFullAtMicros, atMicros) + micros;
    trueFullAtMicros = Math.min(fullAt, Stamp.MAX_FULL_AT_MICROS);
  }

  /**
   * Records the time for which the bucket was full before a charge of the cache. The cache may have
   * made other charges in that time, which no record has shown yet, so their refill is subtracted.
   */
  private void noteFullBefore(long fullAtBefore, long jumpTokens, long costTokens, long at) {
    Refill refill = limit.refill();
    if (refill != null) {
      long byTheClock = at - refill.boundedMicrosFor(jumpTokens - costTokens);
      long byTheStamp = trueFullAtMicros - refill.boundedMicrosFor(jumpTokens);
      fullTimes.add(fullAtBefore, Math.min(byTheClock, byTheStamp));
    }
  }

  /**
   * Takes a stamped record.
   *
   * @param ownLimit the limit by which the call was decided; another one when it is late
   * @param costTokens what the call took; 0 when the bucket refused it
   * @param askedTokens what it asked for
   */
  Judgement takeStamped(
      Stamp stamp, BucketLimit ownLimit, long costTokens, long askedTokens, long atMillis) {
    long at = atMillis * MICROS_PER_MILLI;
    boolean isFirstCharge = isFirstCharge(stamp, costTokens);
    totalTokens = Saturating.add(totalTokens, costTokens);
    if (stamp.epoch() < line.epoch) {
      takeOlderLife(stamp, costTokens, atMillis);
      return Judgement.RIGHT;
    }
    if (isRefusalUnderAnother(ownLimit, stamp, costTokens)) {
      // by that limit, of which nothing stands in the cache; but the cache has shown its version
      boolean isOfThisLife = stamp.epoch() == line.epoch;
      if (isOfThisLife && stamp.version() >= version && stamp.charged() >= line.chargedTokens) {
        boolean isFirstShown = confirmedVersion != version;
        confirmedVersion = version;
        if (isFirstShown) {
          giveUnder(ownLimit, stamp, at);
        }
      }
      return Judgement.RIGHT;
    }
    if (costTokens == 0 && askedTokens <= limit.capacityTokens()) {
      gapCheck.noteRefusal();
    }
    boolean isNewestCharge = costTokens > 0 && (isFirstCharge || at >= chargedAtMicros);
    if (isNewestCharge) {
      chargedAtMicros = at;
    }
    boolean agreedBefore = isAgreed();
    long fullAtBefore = trueFullAtMicros;
    long totalBefore = totalTokens - costTokens;
    if (stamp.epoch() > line.epoch) {
      beginLife(stamp, costTokens, at);
    } else if (isNewest(stamp, costTokens, at)) {
      takeNewest(stamp, costTokens, at);
    } else {
      takeLate(stamp, ownLimit, costTokens, at);
      if (isNewestCharge && ownLimit.equals(limit)) {
        takeNewestCharge(stamp);
      }
    }
    return agreedBefore && isAgreed()
        ? Judgement.RIGHT
        : judge(fullAtBefore, totalBefore, costTokens, askedTokens, at);
  }

  /**
   * Corrections of another limit than the one in force only take. So when the newest is shown to be
   * applied, by a refusal, and the bucket still holds less than it should, it is told again by the
   * limit in force, and follows that: or it would refuse every call until it has refilled
   * (simulation, seed 58182).
   */
  private void giveUnder(BucketLimit inForce, Stamp stamp, long at) {
    LimitChange change = LimitChange.of(limit, inForce, chargedAtMicros);
    Refill refill = inForce.refill();
    if (change == null || refill == null || inForce.capacityTokens() == 0) {
      return;
    }
    long fullAt = Math.max(change.fullAtMicros(trueFullAtMicros), at);
    if (stamp.fullAtEpochMicros() <= fullAt + refill.boundedMicrosFor(1) + CLOCK_STEP_MICROS) {
      return;
    }
    limit = inForce;
    trueFullAtMicros = change.fullAtMicros(trueFullAtMicros);
    cacheFullAtMicros = stamp.fullAtEpochMicros();
    followDistances(change, at);
    disturb(Cause.RESTORE, 0, at / MICROS_PER_MILLI);
  }

  /** Whether cache and records are known to agree. */
  boolean isAgreed() {
    return version == confirmedVersion && pendingCause == null;
  }

  private Judgement judge(
      long fullAtBefore, long totalBefore, long costTokens, long askedTokens, long at) {
    if (costTokens > 0) {
      return held(fullAtBefore, totalBefore, askedTokens, at + CLOCK_STEP_MICROS)
          ? Judgement.RIGHT
          : Judgement.WRONGLY_ADMITTED;
    }
    if (!held(fullAtBefore, totalBefore, Saturating.add(askedTokens, forgoneTokens), at)) {
      return Judgement.RIGHT;
    }
    forgoneTokens = Saturating.add(forgoneTokens, askedTokens);
    return Judgement.WRONGLY_DENIED;
  }

  private boolean held(long fullAt, long total, long tokens, long at) {
    if (tokens > limit.capacityTokens()) {
      return false;
    }
    Refill refill = limit.refill();
    if (refill != null) {
      return fullAt
              + refill.boundedMicrosFor(tokens)
              - refill.boundedMicrosFor(limit.capacityTokens())
          <= at;
    }
    return Saturating.subtract(limit.capacityTokens(), total) >= tokens;
  }

  /** A record of a life that is over: what that life's counter did not say is owed. */
  private void takeOlderLife(Stamp stamp, long costTokens, long atMillis) {
    EpochAccount known = olderLives.find(stamp.epoch());
    EpochAccount life = known == null ? olderLives.find(PreviousEpochs.UNKNOWN) : known;
    if (costTokens == 0) {
      if (atMillis * MICROS_PER_MILLI > line.stampedAtMicros) {
        // refused by a life that was over: the cache has gone back to it, and must be told
        disturb(Cause.OVERLAP, 0, atMillis);
      }
    } else if (life == null) {
      owe(costTokens, atMillis, Cause.OVERLAP);
    } else {
      life.exactTokens = Saturating.add(life.exactTokens, costTokens);
      oweOverlap(life, atMillis);
    }
  }

  /**
   * Takes what is recorded beyond what the cache has charged. What a gap had given up was charged,
   * and is taken back as far as it was given: where the bucket had refilled there was nothing to
   * give (simulation, seeds 500 and 3573).
   */
  private void oweOverlap(EpochAccount life, long atMillis) {
    long tokens = life.acceptOverlap();
    if (tokens == 0) {
      return;
    }
    long ofGaps = Math.min(tokens, life.gapTokens);
    long atMicros = atMillis * MICROS_PER_MILLI;
    Refill refill = limit.refill();
    if (refill != null) {
      long takenBack = life.takeBackGap(ofGaps, refill.boundedMicrosFor(ofGaps));
      owedSinceMicros = Saturating.add(owedSinceMicros, takenBack);
      long fullAt = Saturating.add(trueFullAtMicros, takenBack);
      trueFullAtMicros = Math.min(fullAt, Stamp.MAX_FULL_AT_MICROS);
    }
    if (tokens > ofGaps) {
      fillUpLate(tokens - ofGaps, atMicros);
    }
    chargedAtMicros = Math.max(chargedAtMicros, atMicros);
    disturb(Cause.OVERLAP, tokens, atMillis);
  }

  private void beginLife(Stamp stamp, long costTokens, long at) {
    // what is on its way was used, too
    boolean wasUsed =
        limit.refills()
            || totalTokens > costTokens
            || line.pendingTokens() > 0
            || olderLives.pendingTokens() > 0;
    boolean wasFull = trueFullAtMicros <= stamp.epoch() || !wasUsed;
    boolean right = wasFull && pendingCause == null && beganFull(stamp, costTokens, at);
    noteDistance(trueFullAtMicros - stamp.epoch());
    boolean knewNoCharge = line.chargedTokens == 0 && line.exactTokens == 0;
    olderLives.add(line);
    line = new EpochAccount(stamp.epoch(), stamp.charged(), at, costTokens, 0);
    version = stamp.version();
    confirmedVersion = stamp.version();
    cacheFullAtMicros = stamp.fullAtEpochMicros();
    owedSinceMicros = 0;
    if (right) {
      totalTokens = costTokens;
      if (limit.refills()) {
        fullTimes.add(trueFullAtMicros, stamp.epoch());
      }
      trueFullAtMicros = stamp.fullAtEpochMicros();
    } else {
      fillLife(stamp, costTokens, at);
      if (knewNoCharge) {
        believeUnknownCharges(stamp, at);
      }
      oweBeyondTheCache();
      disturb(Cause.FRESH_EPOCH, lostTokens(), at / MICROS_PER_MILLI);
    }
    noteHeadroom(costTokens, at);
    gapCheck.begin(line);
  }

  /**
   * Adds what a life has charged to what was missing before. A life whose stamp shows no more
   * missing than its own charges may have begun full: then the truth is the later of its own T and
   * the T before with all its charges, whenever they were made (simulation, seed 97091). Of another
   * only the last charge has a time; those before may have been made long before it.
   */
  private void fillLife(Stamp stamp, long costTokens, long at) {
    Refill refill = limit.refill();
    if (refill != null && stamp.fullAtEpochMicros() <= latestFullAtMicros(refill, stamp, at)) {
      fillUp(stamp.charged(), trueFullAtMicros);
      trueFullAtMicros = Math.max(trueFullAtMicros, stamp.fullAtEpochMicros());
      return;
    }
    fillUp(stamp.charged() - costTokens, stamp.epoch());
    fillUp(costTokens, at);
  }

  /**
   * A bucket whose first records came without a stamp may have been charged before, and its records
   * be on their way: a correction that knew of no charge has begun a life over what they had left
   * (simulation, seeds 34521 and 48071). What the stamp shows to be missing beyond what the records
   * know is believed, as charges of a life of which nothing else is known, until every call of
   * before is known.
   */
  private void believeUnknownCharges(Stamp stamp, long at) {
    long unexplained = stamp.fullAtEpochMicros() - trueFullAtMicros;
    Refill refill = limit.refill();
    if (refill != null && unexplained > 0) {
      long tokens = Math.min(Math.round(refill.tokensIn(unexplained)), Numbers.MAX + 1);
      trueFullAtMicros = stamp.fullAtEpochMicros();
      fullTimes.restart(at); // which of the times known they have taken is not known
      olderLives.add(new EpochAccount(PreviousEpochs.UNKNOWN, tokens, at, 0, 0));
    }
  }

  /** When a bucket that began full is full again at the latest, by a charge's own counter. */
  private long latestFullAtMicros(Refill refill, Stamp stamp, long at) {
    long rounding = CLOCK_STEP_MICROS + limit.arithmetic().parameters().tickMicros();
    return at + refill.boundedMicrosFor(stamp.charged()) + rounding;
  }

  /**
   * Whether a life may have begun full, by its first charge. A cache that went back to an older
   * limit of its own may begin one with less (simulation, seed 10425). Later charges do not tell:
   * the limit may have been changed since.
   */
  private boolean beganFull(Stamp stamp, long costTokens, long at) {
    Refill refill = limit.refill();
    return refill == null
        || stamp.charged() != costTokens
        || stamp.fullAtEpochMicros() <= latestFullAtMicros(refill, stamp, at);
  }

  /** What the cache has forgotten, in tokens. */
  private long lostTokens() {
    Refill refill = limit.refill();
    if (refill != null) {
      double missing = Math.max(0, trueFullAtMicros - cacheFullAtMicros);
      return Math.round(missing * refill.tokens() / refill.periodMicros());
    }
    return Math.max(0, Saturating.subtract(totalTokens, line.chargedTokens));
  }

  /**
   * The counter tells what is newer, unless it went back while the clock went on. Refusals leave
   * the counter as it is; of those the clock tells, and within a millisecond the version. A charge
   * that has the counter of a refusal of its millisecond was before it (simulation, seed 315353).
   */
  private boolean isNewest(Stamp stamp, long costTokens, long at) {
    if (at < line.wentBackAtMicros) {
      return false;
    }
    if (at != line.stampedAtMicros) {
      return at > line.stampedAtMicros || stamp.charged() > line.chargedTokens;
    }
    return stamp.charged() > line.chargedTokens
        || (stamp.charged() == line.chargedTokens
            && costTokens == 0
            && stamp.version() >= confirmedVersion);
  }

  private void takeNewest(Stamp stamp, long costTokens, long at) {
    long jump = stamp.charged() - line.chargedTokens;
    long wentBackBy = Math.max(0, costTokens - jump);
    line.exactTokens = Saturating.add(line.exactTokens, costTokens);
    line.chargedTokens = stamp.charged();
    line.driftTokens =
        Saturating.add(line.driftTokens, wentBackBy); // so that what is on its way stays on its way
    line.stampedAtMicros = Math.max(line.stampedAtMicros, at);
    cacheFullAtMicros = stamp.fullAtEpochMicros();
    gapCheck.note(stamp, costTokens, at);
    long fullAtBefore = trueFullAtMicros;
    if (wentBackBy > 0 || stamp.version() < confirmedVersion) {
      line.wentBackAtMicros = at;
      fillUp(Math.max(jump, costTokens), at);
      oweBeyondTheCache();
      noteHeadroom(costTokens, at);
      confirmedVersion = Math.min(confirmedVersion, stamp.version());
      disturb(Cause.OVERLAP, wentBackBy, at / MICROS_PER_MILLI);
      return;
    }
    if (stamp.version() >= version) {
      confirmedVersion = version;
    }
    if (isAgreed()) {
      trueFullAtMicros = stamp.fullAtEpochMicros();
      owedSinceMicros = 0;
      noteFullBefore(fullAtBefore, jump, costTokens, at);
      noteHeadroom(costTokens, at);
      return;
    }
    fillUp(jump, at);
    Refill refill = limit.refill();
    if (isBoundedByTheCache(stamp)) {
      noteHeadroom(costTokens, at);
    } else if (refill != null) {
      // what others have charged before may have been refilled before this charge: T has it at once
      noteDistance(fullAtBefore + refill.boundedMicrosFor(jump - costTokens) - at);
    }
  }

  /**
   * Bounds T by a stamp that shows the newest correction. The same charges lead from two levels of
   * a bucket to two levels that are no farther apart, so T exceeds the stamp's time to full by no
   * more than what has come to be owed since that correction. Charges that no record has shown yet
   * were added to T as if they had been made now; the cache may have refilled them long before, or
   * have taken them under another limit (simulation, seed 103).
   *
   * @return whether T was beyond the bound, and was set to it
   */
  private boolean isBoundedByTheCache(Stamp stamp) {
    long latest = Saturating.add(stamp.fullAtEpochMicros(), owedSinceMicros);
    if (stamp.version() < version || !limit.refills() || trueFullAtMicros <= latest) {
      return false;
    }
    trueFullAtMicros = latest;
    return true;
  }

  /** Assumes that all by which T exceeds the cache's has come to be owed since the correction. */
  void oweBeyondTheCache() {
    owedSinceMicros = Math.max(owedSinceMicros, trueFullAtMicros - cacheFullAtMicros);
  }

  /**
   * Notes how far from full the bucket was just before a charge of its own, with all that the cache
   * has charged besides. While no charge is on its way there is nothing to credit, and the
   * distances before a gap do not matter to it.
   */
  private void noteHeadroom(long costTokens, long at) {
    Refill refill = limit.refill();
    if (refill != null) {
      noteDistance(trueFullAtMicros - refill.boundedMicrosFor(costTokens) - at);
    }
  }

  private void noteDistance(long fromFullMicros) {
    if (!forgetHeadroom()) {
      gapCheck.noteHeadroom(fromFullMicros);
    }
  }

  /** Forgets distances when no charge is on its way; says whether it did. */
  private boolean forgetHeadroom() {
    if (line.pendingTokens() > 0 || olderLives.pendingTokens() > 0) {
      return false;
    }
    gapCheck.forgetHeadroom();
    return true;
  }

  /** A record that others have overtaken: its charge is in their counter already. */
  private void takeLate(Stamp stamp, BucketLimit ownLimit, long costTokens, long at) {
    line.exactTokens = Saturating.add(line.exactTokens, costTokens);
    gapCheck.note(stamp, costTokens, at);
    oweOverlap(line, at / MICROS_PER_MILLI);
    LimitChange change = LimitChange.of(ownLimit, limit, at);
    Refill then = ownLimit.refill();
    if (!forgetHeadroom() && change != null && then != null) {
      // the distance by the cache's word of then, moved by what it has wrong
      long cacheDistance =
          change.sameTokensMicros(
              stamp.fullAtEpochMicros() - then.boundedMicrosFor(costTokens) - at);
      gapCheck.noteHeadroom(cacheDistance + trueFullAtMicros - cacheFullAtMicros);
    }
  }

  /**
   * Takes the word of a charge that only refusals have overtaken: how these saw the bucket was by
   * their limits, which may have been others.
   */
  private void takeNewestCharge(Stamp stamp) {
    boolean isNewestWord = stamp.charged() == line.chargedTokens;
    if (isNewestWord && isAgreed() && stamp.version() == confirmedVersion) {
      takeFullAt(stamp);
    }
  }

  /** Says that a correction is due. */
  void disturb(Cause cause, long driftTokens, long atMillis) {
    openDriftTokens = Saturating.add(openDriftTokens, driftTokens);
    if (pendingCause == null) {
      pendingCause = cause;
      disturbedAtMillis = atMillis;
    }
    disturbedAtMillis = Math.min(disturbedAtMillis, atMillis);
  }

  /** Whether {@link #check} has anything to find, or to note, behind this watermark. */
  boolean needsCheck(long watermarkMillis) {
    long watermark = watermarkMillis * MICROS_PER_MILLI;
    return !olderLives.due(watermark).isEmpty()
        || (gapCheck.isDue(watermark) && gapCheck.isOpen(line));
  }

  /**
   * Finds charges that will never be recorded: every call decided before the watermark is known.
   *
   * @return refusals that these charges may have caused
   */
  long check(long watermarkMillis) {
    long watermark = watermarkMillis * MICROS_PER_MILLI;
    long wrongRefusals = 0;
    for (EpochAccount life : olderLives.due(watermark)) {
      wrongRefusals += credit(life, life.pendingTokens());
    }
    if (gapCheck.isDue(watermark)) {
      // no more than is on its way: some may have come, hidden by a counter that went back
      wrongRefusals += credit(line, Math.min(gapCheck.missingTokens(), line.pendingTokens()));
      gapCheck.beginNext(line);
    }
    return wrongRefusals;
  }

  private long credit(EpochAccount of, long missingTokens) {
    if (missingTokens <= 0) {
      return 0;
    }
    long earlier = 0;
    Refill refill = limit.refill();
    if (refill != null) {
      earlier = Math.min(refill.boundedMicrosFor(missingTokens), gapCheck.leastHeadroomMicros());
      trueFullAtMicros = Math.max(0, trueFullAtMicros - earlier);
      gapCheck.spendHeadroom(earlier);
    }
    of.acceptGap(missingTokens, earlier);
    disturb(Cause.GAP, missingTokens, of.stampedAtMicros / MICROS_PER_MILLI);
    return Math.min(missingTokens, gapCheck.possibleRefusals());
  }

  /** The correction that is due, which is the bucket's next version. */
  Correction correct(Cause cause, long nowMillis) {
    long total = Saturating.add(totalTokens, onTheWayTokens());
    long pendingSince = pendingCause == null ? nowMillis : disturbedAtMillis;
    version = Math.min(version + 1, CallEvent.MAX_QUANTITY);
    owedSinceMicros = 0;
    publishedAtMillis = nowMillis;
    awaitedSinceMillis = pendingCause == null ? 0 : disturbedAtMillis;
    pendingCause = null;
    return new Correction(
        bucket,
        limit,
        line.epoch,
        version,
        line.chargedTokens,
        trueFullAtMicros,
        total,
        Saturating.subtract(total, line.chargedTokens),
        cause,
        pendingSince,
        nowMillis);
  }

  private long onTheWayTokens() {
    return Saturating.add(Math.max(0, line.pendingTokens()), olderLives.pendingTokens());
  }

  /**
   * The next watermark at which there may be something to find, or the bucket is over.
   *
   * @param marginMillis see {@link #isOver}
   */
  long nextLookMillis(long watermarkMillis, long marginMillis) {
    long at = (fullAtMicros() / MICROS_PER_MILLI) + marginMillis + 1;
    if (olderLives.pendingTokens() > 0 || gapCheck.isOpen(line) || line.pendingTokens() != 0) {
      at = Math.min(at, line.stampedAtMicros / MICROS_PER_MILLI + 1);
    }
    return Math.max(at, watermarkMillis + 1);
  }

  private long fullAtMicros() {
    return Math.max(trueFullAtMicros, Math.max(cacheFullAtMicros, line.stampedAtMicros));
  }

  /** Whether the bucket is full, or its period over, and nothing is left to be told of it. */
  boolean isOver(long watermarkMillis, long marginMillis) {
    return pendingCause == null
        && line.pendingTokens() == 0
        && watermarkMillis - marginMillis > fullAtMicros() / MICROS_PER_MILLI;
  }

  /** Whether the bucket holds less than its capacity at a moment. */
  boolean isUsed(long atMillis) {
    return Math.max(trueFullAtMicros, cacheFullAtMicros) > atMillis * MICROS_PER_MILLI;
  }

  long stampedAtMillis() {
    return line.stampedAtMicros / MICROS_PER_MILLI;
  }

  BucketSnapshot standing() {
    return new BucketSnapshot(
        bucket,
        limit,
        line.epoch,
        version,
        confirmedVersion,
        line.chargedTokens,
        onTheWayTokens(),
        totalTokens,
        cacheFullAtMicros,
        trueFullAtMicros,
        stampedAtMillis());
  }
}
