// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.topics.model.BucketLimit;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.Correction;
import io.weir.topics.model.Correction.Cause;
import io.weir.topics.model.LimitChange;
import io.weir.topics.model.QuotaLimit;
import io.weir.topics.model.Stamp;
import io.weir.topics.model.TokenBucketLimit;
import org.jspecify.annotations.Nullable;

/**
 * One bucket by the records: whether the cache has it right, and what the truth is where it does
 * not. The arithmetic and its proof stand in decision record 0005; the names there: C is {@link
 * BucketLine#chargedTokens}, E {@link BucketLine#exactTokens}, R {@link BucketLine#driftTokens}, T
 * {@code trueFullAtMicros}. Judged by records and promises alone, so that a replay judges alike.
 * Not safe for threads.
 *
 * <p>While the cache's last word shows the last correction published, and nothing happened since,
 * the track is <em>in agreement</em>: T is what the stamps say.
 */
final class BucketTrack {
  /** Room for a clock that is read in whole milliseconds. */
  private static final long CLOCK_STEP_MICROS = 1_000;

  private static final long MICROS_PER_MILLI = 1_000;

  final String bucket;
  BucketLimit limit;
  BucketLine line;

  final OlderLives olderLives = new OlderLives();

  long cacheFullAtMicros;
  long trueFullAtMicros;

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

  /** What a decision of the cache was, as the records judge it. */
  enum Judgement {
    /** Right, as far as is known. */
    RIGHT,
    /** Admitted, though the true bucket did not hold the cost. */
    WRONGLY_ADMITTED,
    /** Refused, though the true bucket held the cost. */
    WRONGLY_DENIED
  }

  BucketTrack(String bucket, BucketLimit limit, BucketLine line) {
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
  static BucketTrack ofStamp(
      Charge charge, BucketLimit limit, Stamp stamp, long atMillis, boolean mayLackRecords) {
    long at = atMillis * MICROS_PER_MILLI;
    boolean believed = mayLackRecords || stamp.version() > 0;
    long drift = believed ? charge.cost() - stamp.charged() : 0;
    BucketLine line = new BucketLine(stamp.epoch(), stamp.charged(), at, charge.cost(), drift);
    BucketTrack track = new BucketTrack(charge.bucket(), limit, line);
    track.totalTokens = believed ? stamp.charged() : charge.cost();
    track.cacheFullAtMicros = stamp.fullAtEpochMicros();
    track.trueFullAtMicros = stamp.fullAtEpochMicros();
    track.chargedAtMicros = at;
    track.version = stamp.version();
    track.confirmedVersion = stamp.version();
    track.noteHeadroom(charge.cost(), at);
    track.gapCheck.begin(track.line);
    return track;
  }

  /** Begins a bucket with a charge that the cache has not spoken of: it was full. */
  static BucketTrack ofUnstamped(Charge charge, BucketLimit limit, long atMillis) {
    BucketTrack track = ofFull(charge.bucket(), limit, atMillis);
    track.takeUnstamped(charge.cost(), atMillis);
    return track;
  }

  /** Begins a bucket that was full at a moment. */
  static BucketTrack ofFull(String bucket, BucketLimit limit, long atMillis) {
    long at = Math.max(1, atMillis * MICROS_PER_MILLI);
    BucketTrack track = new BucketTrack(bucket, limit, new BucketLine(at, 0, at, 0, 0));
    track.cacheFullAtMicros = limit instanceof QuotaLimit quota ? quota.endsAtEpochMicros() : at;
    track.trueFullAtMicros = track.cacheFullAtMicros;
    track.chargedAtMicros = at;
    track.gapCheck.begin(track.line);
    return track;
  }

  /**
   * Follows a changed limit, if the record that has it is not older than the newest one, as the
   * cache does ({@link LimitChange}). A call that the cache did not decide is newer when nothing is
   * known of the bucket since: while the cache is away, its calls are charged by the limit in force
   * (simulation, seeds 7063 and 10425). A refusal leaves the cache's bucket as it is, and so under
   * the limit of its last charge. A bucket that was full and is made anew is full. Of a quota the
   * tokens used are known, which no limit changes.
   *
   * @param stamp of the record; null when the cache did not decide
   * @param costTokens what the call took; 0 when the bucket refused it
   */
  void follow(BucketLimit changed, @Nullable Stamp stamp, long costTokens, long atMillis) {
    long at = atMillis * MICROS_PER_MILLI;
    if (changed.equals(limit)
        || isRefusalUnderAnother(changed, stamp, costTokens)
        || !isToBeFollowed(stamp, at)) {
      return;
    }
    BucketLimit before = limit;
    limit = changed;
    if (before instanceof TokenBucketLimit then && changed instanceof TokenBucketLimit now) {
      boolean isMadeAnew = stamp == null || stamp.epoch() > line.epoch;
      LimitChange change = new LimitChange(then, now, chargedAtMicros);
      gapCheck.followHeadroom(change);
      if (!isMadeAnew || trueFullAtMicros > at) {
        trueFullAtMicros = change.fullAtMicros(trueFullAtMicros);
        gapCheck.noteHeadroom(trueFullAtMicros - chargedAtMicros);
      }
      if (!isMadeAnew || cacheFullAtMicros > at) {
        cacheFullAtMicros = change.fullAtMicros(cacheFullAtMicros);
      }
    } else if (changed.capacityTokens() > before.capacityTokens()
        && totalTokens > before.capacityTokens()) {
      // what a debt cap may have cut off under the old limit counts against the new one
      disturb(Cause.RESTORE, 0, atMillis);
    }
  }

  private boolean isRefusalUnderAnother(
      BucketLimit ownLimit, @Nullable Stamp stamp, long costTokens) {
    return costTokens == 0
        && ownLimit instanceof TokenBucketLimit
        && !ownLimit.equals(limit)
        && (stamp == null || stamp.epoch() == line.epoch);
  }

  private boolean isToBeFollowed(@Nullable Stamp stamp, long at) {
    if (stamp == null) {
      return at >= Math.max(chargedAtMicros, line.stampedAtMicros);
    }
    return stamp.epoch() == line.epoch ? at >= line.stampedAtMicros : stamp.epoch() > line.epoch;
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
    if (limit instanceof TokenBucketLimit bucket) {
      trueFullAtMicros = Math.max(0, trueFullAtMicros - micros(bucket, -differenceTokens));
    }
    disturb(Cause.SETTLE, -differenceTokens, decidedAtMillis);
  }

  private void owe(long costTokens, long atMillis, Cause cause) {
    chargedAtMicros = Math.max(chargedAtMicros, atMillis * MICROS_PER_MILLI);
    fillUp(costTokens, atMillis * MICROS_PER_MILLI);
    disturb(cause, costTokens, atMillis);
  }

  /** T ← max(T, at) + tokens·τ. */
  private void fillUp(long tokens, long atMicros) {
    if (limit instanceof TokenBucketLimit bucket) {
      long fullAt = Math.max(trueFullAtMicros, atMicros) + micros(bucket, tokens);
      trueFullAtMicros = Math.min(fullAt, Stamp.MAX_FULL_AT_MICROS);
    }
  }

  /** Time in which so many tokens are gained. */
  private static long micros(TokenBucketLimit bucket, long tokens) {
    double micros = (double) tokens * bucket.refillPeriodMicros() / bucket.refillTokens();
    double most = TokenBucketLimit.EXACT_BELOW;
    return Math.round(Math.max(-most, Math.min(micros, most)));
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
    totalTokens = Saturating.add(totalTokens, costTokens);
    if (stamp.epoch() < line.epoch) {
      takeOlderLife(stamp, costTokens, atMillis);
      return Judgement.RIGHT;
    }
    if (isRefusalUnderAnother(ownLimit, stamp, costTokens)) {
      // by that limit, of which nothing stands in the cache; but the cache has shown its version
      if (stamp.version() >= version && stamp.charged() >= line.chargedTokens) {
        confirmedVersion = version;
      }
      return Judgement.RIGHT;
    }
    if (costTokens == 0 && askedTokens <= limit.capacityTokens()) {
      gapCheck.noteRefusal();
    }
    if (costTokens > 0) {
      chargedAtMicros = Math.max(chargedAtMicros, atMillis * MICROS_PER_MILLI);
    }
    boolean agreedBefore = isAgreed();
    long fullAtBefore = trueFullAtMicros;
    long totalBefore = totalTokens - costTokens;
    long at = atMillis * MICROS_PER_MILLI;
    if (stamp.epoch() > line.epoch) {
      beginLife(stamp, costTokens, at);
    } else if (isNewest(stamp, costTokens, at)) {
      takeNewest(stamp, costTokens, at);
    } else {
      takeLate(stamp, ownLimit, costTokens, at);
    }
    return agreedBefore && isAgreed()
        ? Judgement.RIGHT
        : judge(fullAtBefore, totalBefore, costTokens, askedTokens, at);
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
    if (limit instanceof TokenBucketLimit bucket) {
      return fullAt + micros(bucket, tokens) - micros(bucket, bucket.capacityTokens()) <= at;
    }
    return Saturating.subtract(limit.capacityTokens(), total) >= tokens;
  }

  /** A record of a life that is over: what that life's counter did not say is owed. */
  private void takeOlderLife(Stamp stamp, long costTokens, long atMillis) {
    BucketLine life = olderLives.find(stamp.epoch());
    long owed = costTokens;
    if (life != null) {
      life.exactTokens = Saturating.add(life.exactTokens, costTokens);
      owed = life.acceptOverlap();
    }
    if (owed > 0) {
      owe(owed, atMillis, Cause.OVERLAP);
    } else if (costTokens == 0 && atMillis * MICROS_PER_MILLI > line.stampedAtMicros) {
      // refused by a life that was over: the cache has gone back to it, and must be told
      disturb(Cause.OVERLAP, 0, atMillis);
    }
  }

  private void beginLife(Stamp stamp, long costTokens, long at) {
    // what is on its way was used, too
    boolean wasUsed =
        limit instanceof TokenBucketLimit
            || totalTokens > costTokens
            || line.pendingTokens() > 0
            || olderLives.pendingTokens() > 0;
    boolean wasFull = trueFullAtMicros <= stamp.epoch() || !wasUsed;
    boolean right = wasFull && pendingCause == null && beganFull(stamp, costTokens, at);
    noteDistance(trueFullAtMicros - stamp.epoch());
    olderLives.add(line);
    line = new BucketLine(stamp.epoch(), stamp.charged(), at, costTokens, 0);
    version = stamp.version();
    confirmedVersion = stamp.version();
    cacheFullAtMicros = stamp.fullAtEpochMicros();
    if (right) {
      totalTokens = costTokens;
      trueFullAtMicros = stamp.fullAtEpochMicros();
    } else {
      fillLife(stamp, costTokens, at);
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
    if (limit instanceof TokenBucketLimit bucket
        && stamp.fullAtEpochMicros() <= latestFullAtMicros(bucket, stamp, at)) {
      fillUp(stamp.charged(), trueFullAtMicros);
      trueFullAtMicros = Math.max(trueFullAtMicros, stamp.fullAtEpochMicros());
      return;
    }
    fillUp(stamp.charged() - costTokens, stamp.epoch());
    fillUp(costTokens, at);
  }

  /** When a bucket that began full is full again at the latest, by a charge's own counter. */
  private static long latestFullAtMicros(TokenBucketLimit bucket, Stamp stamp, long at) {
    long rounding = CLOCK_STEP_MICROS + bucket.scale().tickMicros();
    return at + micros(bucket, stamp.charged()) + rounding;
  }

  /**
   * Whether a life may have begun full, by its first charge. A cache that went back to an older
   * limit of its own may begin one with less (simulation, seed 10425). Later charges do not tell:
   * the limit may have been changed since.
   */
  private boolean beganFull(Stamp stamp, long costTokens, long at) {
    if (limit instanceof TokenBucketLimit bucket && stamp.charged() == costTokens) {
      return stamp.fullAtEpochMicros() <= latestFullAtMicros(bucket, stamp, at);
    }
    return true;
  }

  /** What the cache has forgotten, in tokens. */
  private long lostTokens() {
    if (limit instanceof TokenBucketLimit bucket) {
      double missing = Math.max(0, trueFullAtMicros - cacheFullAtMicros);
      return Math.round(missing * bucket.refillTokens() / bucket.refillPeriodMicros());
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
    if (wentBackBy > 0 || stamp.version() < confirmedVersion) {
      line.wentBackAtMicros = at;
      fillUp(Math.max(jump, costTokens), at);
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
      noteHeadroom(costTokens, at);
      return;
    }
    long fullAtBefore = trueFullAtMicros;
    fillUp(jump, at);
    if (limit instanceof TokenBucketLimit bucket) {
      // what others have charged before may have been refilled before this charge: T has it at once
      noteDistance(fullAtBefore + micros(bucket, jump - costTokens) - at);
    }
  }

  /**
   * Notes how far from full the bucket was just before a charge of its own, with all that the cache
   * has charged besides. While no charge is on its way there is nothing to credit, and the
   * distances before a gap do not matter to it.
   */
  private void noteHeadroom(long costTokens, long at) {
    if (limit instanceof TokenBucketLimit bucket) {
      noteDistance(trueFullAtMicros - micros(bucket, costTokens) - at);
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
    long overlap = line.acceptOverlap();
    if (overlap > 0) {
      owe(overlap, at / MICROS_PER_MILLI, Cause.OVERLAP);
    }
    if (!forgetHeadroom()
        && limit instanceof TokenBucketLimit now
        && ownLimit instanceof TokenBucketLimit then) {
      // the distance by the cache's word of then, moved by what it has wrong
      long cacheDistance =
          new LimitChange(then, now, at)
              .sameTokensMicros(stamp.fullAtEpochMicros() - micros(then, costTokens) - at);
      gapCheck.noteHeadroom(cacheDistance + trueFullAtMicros - cacheFullAtMicros);
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
    for (BucketLine life : olderLives.due(watermark)) {
      wrongRefusals += credit(life, life.pendingTokens());
    }
    if (gapCheck.isDue(watermark)) {
      // no more than is on its way: some may have come, hidden by a counter that went back
      wrongRefusals += credit(line, Math.min(gapCheck.missingTokens(), line.pendingTokens()));
      gapCheck.beginNext(line);
    }
    return wrongRefusals;
  }

  private long credit(BucketLine of, long missingTokens) {
    if (missingTokens <= 0) {
      return 0;
    }
    of.acceptGap(missingTokens);
    if (limit instanceof TokenBucketLimit bucket) {
      long earlier = Math.min(micros(bucket, missingTokens), gapCheck.leastHeadroomMicros());
      trueFullAtMicros = Math.max(0, trueFullAtMicros - earlier);
      gapCheck.spendHeadroom(earlier);
    }
    disturb(Cause.GAP, missingTokens, of.stampedAtMicros / MICROS_PER_MILLI);
    return Math.min(missingTokens, gapCheck.possibleRefusals());
  }

  /** The correction that is due, which is the bucket's next version. */
  Correction correct(Cause cause, long nowMillis) {
    long onTheWay = Saturating.add(Math.max(0, line.pendingTokens()), olderLives.pendingTokens());
    long total = Saturating.add(totalTokens, onTheWay);
    long pendingSince = pendingCause == null ? nowMillis : disturbedAtMillis;
    version = Math.min(version + 1, CallEvent.MAX_QUANTITY);
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

  BucketStanding standing() {
    return new BucketStanding(
        bucket,
        limit,
        line.epoch,
        version,
        confirmedVersion,
        line.chargedTokens,
        totalTokens,
        cacheFullAtMicros,
        trueFullAtMicros,
        stampedAtMillis());
  }
}
