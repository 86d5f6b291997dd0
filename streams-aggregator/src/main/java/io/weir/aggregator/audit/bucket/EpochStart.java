// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.limits.BucketLimit;
import io.weir.limits.Numbers;
import io.weir.limits.Refill;
import io.weir.limits.correction.Correction.Cause;
import io.weir.topics.model.Stamp;

/**
 * The rule for the first stamp of a new epoch. The cache creates a bucket as full, or with the
 * content that a correction states. If the true bucket was not full, the cache has lost charges,
 * and a correction is due. Not thread-safe.
 */
final class EpochStart {
  private static final long MICROS_PER_MILLI = 1_000;

  private final BucketAccount account;

  EpochStart(BucketAccount account) {
    this.account = account;
  }

  /** Processes the first stamp of an epoch that is newer than the current epoch. */
  void take(Stamp stamp, long costTokens, long at) {
    EpochAccounts epochs = account.epochs();
    TimeToFull time = account.timeToFull();
    EpochAccount ended = epochs.current();
    boolean isRight = isRight(stamp, costTokens, at);
    long fullAtBefore = time.trueMicros();
    epochs.noteDistance(fullAtBefore - begunAt(stamp, at));
    boolean hadNoCharge = ended.chargedTokens() == 0 && ended.exactTokens() == 0;
    epochs.begin(EpochAccount.ofStamp(stamp, costTokens, at));
    account.corrections().beginEpoch(stamp.version());
    time.show(stamp);
    time.forgetOwed();
    if (isRight) {
      account.restartTotal(costTokens);
      if (account.limit().refills()) {
        time.noteFull(time.trueMicros(), begunAt(stamp, at));
      }
      time.trustCache();
      account.noteFullBefore(begunAt(stamp, at), stamp.charged(), costTokens, at);
    } else {
      charge(stamp, costTokens, at);
      if (hadNoCharge) {
        trustUnknownCharges(stamp, at);
      }
      time.oweBeyondCache(lastBefore(begunAt(stamp, at)));
      account.corrections().disturb(Cause.FRESH_EPOCH, account.lostTokens(), at);
    }
    account.noteHeadroom(costTokens, at);
    if (stamp.charged() > costTokens) {
      // the cache made the other charges not later than this stamp
      account.gapCheck().noteHeadroomInFlight(fullAtBefore - at, at);
    }
    account.gapCheck().beginEpoch(epochs.current());
  }

  /**
   * Returns whether the cache created the bucket with the content of the true bucket. The stamp of
   * a quota does not prove this, because an older correction may have begun the epoch after the
   * cache returned to an older state. So a quota is right only if the newest correction is
   * confirmed (simulation, seed 110015043).
   */
  private boolean isRight(Stamp stamp, long costTokens, long at) {
    EpochAccounts epochs = account.epochs();
    if (!account.limit().refills() && account.corrections().isUnconfirmed()) {
      return false;
    }
    // charges in flight also took tokens
    boolean wasUsed =
        account.limit().refills() || account.totalTokens() > costTokens || epochs.hasPending();
    boolean wasFull = account.timeToFull().trueMicros() <= begunAt(stamp, at) || !wasUsed;
    return wasFull && account.corrections().dueCause() == null && beganFull(stamp, costTokens, at);
  }

  /**
   * Adds the charges of the epoch to the true time to full. If the epoch's charges explain the
   * stamp's time to full, the epoch may have begun full. The true time is then the later of two
   * times (simulation, seed 97091). One is the stamp's time to full. The other is the previous true
   * time plus the refill time of all charges. Otherwise only the time of the last charge is known.
   * The cache may have made the other charges much earlier.
   */
  private void charge(Stamp stamp, long costTokens, long at) {
    Refill refill = account.limit().refill();
    if (refill != null && stamp.fullAtEpochMicros() <= latestFullAtMicros(refill, stamp, at)) {
      TimeToFull time = account.timeToFull();
      long fullAtBefore = time.trueMicros();
      account.charge(stamp.charged(), fullAtBefore);
      time.raiseTo(stamp);
      account.noteFullBefore(fullAtBefore, stamp.charged(), costTokens, at);
      return;
    }
    account.charge(stamp.charged() - costTokens, begunAt(stamp, at));
    account.charge(costTokens, at);
  }

  /**
   * Trusts missing tokens in the stamp that no record explains. They count as charges of an unknown
   * epoch until all earlier calls are known. Example: the first known records have no stamp, and
   * the records of earlier charges are in flight. A correction without these charges then begins an
   * epoch that contains the remaining tokens (simulation, seeds 34521 and 48071).
   */
  private void trustUnknownCharges(Stamp stamp, long at) {
    long unexplained = stamp.fullAtEpochMicros() - account.timeToFull().trueMicros();
    Refill refill = account.limit().refill();
    if (refill != null && unexplained > 0) {
      long tokens = Math.min(Math.round(refill.tokensIn(unexplained)), Numbers.MAX + 1);
      account.timeToFull().trustUnexplained(stamp, at);
      account.epochs().addUnknown(tokens, at);
    }
  }

  /**
   * Returns the latest time that is before all charges of an epoch, in the resolution of records.
   */
  private static long lastBefore(long begunAtMicros) {
    return begunAtMicros / MICROS_PER_MILLI * MICROS_PER_MILLI - 1;
  }

  /**
   * Returns the time at which an epoch began. If the epoch is much later than its stamp, a
   * correction began it after the cache's clock stepped back. The epoch is then the number of the
   * previous epoch plus 1, and not a time.
   */
  private static long begunAt(Stamp stamp, long at) {
    boolean isAhead = stamp.epoch() - at > TimeToFull.CLOCKS_DIFFER_MICROS;
    return isAhead ? at : stamp.epoch();
  }

  /**
   * Returns the latest time at which a bucket that began as full is full again, according to the
   * stamp's counter.
   */
  private long latestFullAtMicros(Refill refill, Stamp stamp, long at) {
    BucketLimit limit = account.limit();
    long rounding = TimeToFull.CLOCK_STEP_MICROS + limit.arithmetic().parameters().tickMicros();
    return at + refill.boundedMicrosFor(stamp.charged()) + rounding;
  }

  /**
   * Returns whether the epoch may have begun with a full bucket, according to its first charge.
   * After a return to an older limit, the cache may begin an epoch with a bucket that is not full
   * (simulation, seed 10425). Later charges are no proof, because the limit may have changed since.
   */
  private boolean beganFull(Stamp stamp, long costTokens, long at) {
    Refill refill = account.limit().refill();
    return refill == null
        || stamp.charged() != costTokens
        || stamp.fullAtEpochMicros() <= latestFullAtMicros(refill, stamp, at);
  }
}
