// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.limits.BucketLimit;
import io.weir.limits.Numbers;
import io.weir.limits.Refill;
import io.weir.limits.correction.Correction.Cause;
import io.weir.topics.model.Stamp;

/**
 * The rule for the first stamp of a new epoch: the cache created the bucket as a full one, or as a
 * correction said. Where the true bucket was not full, the cache has forgotten something, and a
 * correction is due. Not thread-safe.
 */
final class EpochStart {
  private static final long MICROS_PER_MILLI = 1_000;

  private final BucketAccount account;

  EpochStart(BucketAccount account) {
    this.account = account;
  }

  /** Takes the first stamp of an epoch that is newer than the current one. */
  void take(Stamp stamp, long costTokens, long at) {
    EpochAccounts epochs = account.epochs();
    TimeToFull time = account.timeToFull();
    EpochAccount ended = epochs.current();
    boolean isRight = isRight(stamp, costTokens, at);
    long fullAtBefore = time.trueMicros();
    epochs.noteDistance(fullAtBefore - begunAt(stamp, at));
    boolean knewNoCharge = ended.chargedTokens() == 0 && ended.exactTokens() == 0;
    epochs.begin(new EpochAccount(stamp.epoch(), stamp.charged(), at, costTokens, 0));
    account.corrections().beginEpoch(stamp.version());
    time.show(stamp);
    time.forgetOwed();
    if (isRight) {
      account.restartTotal(costTokens);
      Refill refill = account.limit().refill();
      if (refill != null) {
        time.noteFull(time.trueMicros(), begunAt(stamp, at));
      }
      time.trustCache();
      if (refill != null) {
        time.noteFullBefore(refill, begunAt(stamp, at), stamp.charged(), costTokens, at);
      }
    } else {
      charge(stamp, costTokens, at);
      if (knewNoCharge) {
        believeUnknownCharges(stamp, at);
      }
      time.oweBeyondCache(lastBefore(begunAt(stamp, at)));
      account.corrections().disturb(Cause.FRESH_EPOCH, account.lostTokens(), at / MICROS_PER_MILLI);
    }
    account.noteHeadroom(costTokens, at);
    if (stamp.charged() > costTokens) {
      // the others of these charges were made at the time of the stamp at the latest
      epochs.noteHeadroomInFlight(fullAtBefore - at, at);
    }
    epochs.beginCheck();
  }

  /**
   * Returns whether the true bucket was as full as the cache created it. The stamp of a quota does
   * not show that: if the cache has gone back to a state before the newest correction, an older one
   * may have begun the epoch. So a quota is right only if a stamp has shown the newest correction
   * (simulation, seed 110015043).
   */
  private boolean isRight(Stamp stamp, long costTokens, long at) {
    EpochAccounts epochs = account.epochs();
    if (!account.limit().refills() && account.corrections().isUnconfirmed()) {
      return false;
    }
    // charges in flight have used the bucket, too
    boolean wasUsed =
        account.limit().refills() || account.totalTokens() > costTokens || epochs.hasPending();
    boolean wasFull = account.timeToFull().trueMicros() <= begunAt(stamp, at) || !wasUsed;
    return wasFull && account.corrections().dueCause() == null && beganFull(stamp, costTokens, at);
  }

  /**
   * Adds what the epoch has charged to what was missing before. An epoch whose stamp shows no more
   * missing than its own charges may have begun full: then the truth is the later of its own time
   * to full and the one before with all its charges, whenever they were made (simulation, seed
   * 97091). Of any other epoch only the last charge has a time; those before may have been made
   * long before it.
   */
  private void charge(Stamp stamp, long costTokens, long at) {
    Refill refill = account.limit().refill();
    if (refill != null && stamp.fullAtEpochMicros() <= latestFullAtMicros(refill, stamp, at)) {
      TimeToFull time = account.timeToFull();
      long fullAtBefore = time.trueMicros();
      account.charge(stamp.charged(), fullAtBefore);
      time.raiseTo(stamp);
      time.noteFullBefore(refill, fullAtBefore, stamp.charged(), costTokens, at);
      return;
    }
    account.charge(stamp.charged() - costTokens, begunAt(stamp, at));
    account.charge(costTokens, at);
  }

  /**
   * Believes what the stamp shows to be missing beyond what the records explain, as charges of an
   * epoch of which nothing else is known, until every call decided before is known. A bucket whose
   * first records came without a stamp may have been charged before, and the records of that be in
   * flight: a correction that knew of no charge has begun an epoch over what they had left
   * (simulation, seeds 34521 and 48071).
   */
  private void believeUnknownCharges(Stamp stamp, long at) {
    long unexplained = stamp.fullAtEpochMicros() - account.timeToFull().trueMicros();
    Refill refill = account.limit().refill();
    if (refill != null && unexplained > 0) {
      long tokens = Math.min(Math.round(refill.tokensIn(unexplained)), Numbers.MAX + 1);
      account.timeToFull().believeUnexplained(stamp, at);
      account.epochs().addUnknown(tokens, at);
    }
  }

  /** Returns the latest time, as records tell it, before any charge of an epoch. */
  private static long lastBefore(long begunAtMicros) {
    return begunAtMicros / MICROS_PER_MILLI * MICROS_PER_MILLI - 1;
  }

  /**
   * Returns when an epoch began. An epoch that lies ahead of its stamp was named by a correction
   * after the cache's clock had stepped back: it is the previous one plus 1, and no time.
   */
  private static long begunAt(Stamp stamp, long at) {
    boolean isAhead = stamp.epoch() - at > TimeToFull.CLOCKS_DIFFER_MICROS;
    return isAhead ? at : stamp.epoch();
  }

  /** Returns when a bucket that began full is full again at the latest, by a charge's counter. */
  private long latestFullAtMicros(Refill refill, Stamp stamp, long at) {
    BucketLimit limit = account.limit();
    long rounding = TimeToFull.CLOCK_STEP_MICROS + limit.arithmetic().parameters().tickMicros();
    return at + refill.boundedMicrosFor(stamp.charged()) + rounding;
  }

  /**
   * Returns whether the epoch may have begun full, by its first charge. A cache that went back to
   * an older limit of its own may begin one with less (simulation, seed 10425). Later charges say
   * nothing: the limit may have been changed since.
   */
  private boolean beganFull(Stamp stamp, long costTokens, long at) {
    Refill refill = account.limit().refill();
    return refill == null
        || stamp.charged() != costTokens
        || stamp.fullAtEpochMicros() <= latestFullAtMicros(refill, stamp, at);
  }
}
