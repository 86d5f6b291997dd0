// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.limits.BucketArithmetic;
import io.weir.limits.BucketLimit;
import io.weir.limits.LimitChange;
import io.weir.limits.Refill;
import io.weir.limits.correction.Correction.Cause;
import io.weir.topics.model.Stamp;
import org.jspecify.annotations.Nullable;

/**
 * The rule that applies a new limit to a bucket. It applies the limit as the cache does ({@link
 * LimitChange}). It applies limits in the order of the decisions, not in the order of the records.
 * Not thread-safe.
 */
final class LimitFollowing {
  private static final long MICROS_PER_MILLI = 1_000;

  private final BucketAccount account;

  LimitFollowing(BucketAccount account) {
    this.account = account;
  }

  /**
   * Applies the limit of a record if no newer record of the bucket is known, by these rules:
   *
   * <ul>
   *   <li>A call without the cache is the newest record if no record with a later time is known.
   *       While the cache is unavailable, calls are charged under the limit in force (simulation,
   *       seeds 7063 and 10425).
   *   <li>A denial does not change the cache's bucket, which keeps the limit of its last charge. So
   *       a charge is the newest record if no later charge is known, regardless of later denials.
   *   <li>A bucket with only denials has the limit of its first charge.
   *   <li>A bucket that was full and that the cache creates again is full.
   *   <li>A bucket that does not refill keeps its used tokens when the limit changes.
   * </ul>
   *
   * @param stamp the stamp of the record; null if the cache did not decide the call
   * @param costTokens tokens charged for the call; 0 if the bucket denied it
   */
  void follow(BucketLimit changed, @Nullable Stamp stamp, long costTokens, long at) {
    BucketLimit before = account.limit();
    if (changed.equals(before)
        || isRefusalUnderAnother(changed, stamp, costTokens)
        || !isNewer(stamp, costTokens, at)) {
      return;
    }
    account.setLimit(changed);
    if (stamp != null && account.isFirstCharge(stamp, costTokens)) {
      account.timeToFull().forgetFullTimes(at);
      account.trust(stamp);
      return;
    }
    LimitChange change = LimitChange.of(before, changed, account.chargedAtMicros());
    if (change != null) {
      boolean isRecreated =
          stamp == null ? isForgotten(at) : stamp.epoch() > account.epoch().epoch();
      follow(change, isRecreated, at);
    }
  }

  private void follow(LimitChange change, boolean isRecreated, long at) {
    TimeToFull time = account.timeToFull();
    account.followTimes(change, at);
    if (!isRecreated || time.trueMicros() > at) {
      time.followTrue(change);
      account.gapCheck().noteHeadroom(time.trueMicros() - account.chargedAtMicros());
    }
    if (!isRecreated || time.cacheMicros() > at) {
      time.followCache(change);
    }
  }

  /**
   * Returns whether the cache has deleted the bucket. The cache deletes a bucket that has been full
   * for a margin. Until the deletion, the bucket keeps its remaining tokens even if its limit is
   * raised.
   */
  private boolean isForgotten(long at) {
    return at - account.timeToFull().cacheMicros()
        > BucketArithmetic.TTL_MARGIN_MILLIS * MICROS_PER_MILLI;
  }

  private boolean isNewer(@Nullable Stamp stamp, long costTokens, long at) {
    EpochAccount epoch = account.epoch();
    if (stamp == null) {
      return at >= Math.max(account.chargedAtMicros(), epoch.stampedAtMicros());
    }
    if (stamp.epoch() != epoch.epoch()) {
      return stamp.epoch() > epoch.epoch();
    }
    return at >= epoch.stampedAtMicros()
        || account.isFirstCharge(stamp, costTokens)
        || (costTokens > 0 && at >= account.chargedAtMicros());
  }

  /**
   * Returns whether a record is a denial by a limit that differs from the limit of the cache's
   * bucket.
   */
  boolean isRefusalUnderAnother(BucketLimit ownLimit, @Nullable Stamp stamp, long costTokens) {
    return costTokens == 0
        && ownLimit.refills()
        && !ownLimit.equals(account.limit())
        && (stamp == null
            || stamp.epoch() == account.epoch().epoch()
            || ownLimit.capacityTokens() == 0);
  }

  /**
   * Processes a denial by a limit that differs from the limit of the cache's bucket. The cache
   * stores nothing because of the denial, but the stamp shows the version of the newest applied
   * correction.
   */
  void takeRefusalUnderAnother(BucketLimit ownLimit, Stamp stamp, long at) {
    EpochAccount epoch = account.epoch();
    CorrectionCycle corrections = account.corrections();
    if (stamp.epoch() == epoch.epoch()
        && stamp.version() >= corrections.version()
        && stamp.charged() >= epoch.chargedTokens()) {
      boolean isFirstShown = corrections.confirmedVersion() != corrections.version();
      corrections.confirm(stamp.version());
      if (isFirstShown) {
        giveUnder(ownLimit, stamp, at);
      }
    }
  }

  /**
   * Applies the limit of a denial if the cache's bucket has too few tokens, and makes a correction
   * with that limit due. A correction with a limit that is not in force can only remove tokens. If
   * such a correction is confirmed and the bucket still has too few tokens, the bucket would deny
   * calls until it has refilled (simulation, seed 58182).
   */
  private void giveUnder(BucketLimit inForce, Stamp stamp, long at) {
    TimeToFull time = account.timeToFull();
    LimitChange change = LimitChange.of(account.limit(), inForce, account.chargedAtMicros());
    Refill refill = inForce.refill();
    if (change == null || refill == null || inForce.capacityTokens() == 0) {
      return;
    }
    long fullAt = Math.max(change.fullAtMicros(time.trueMicros()), at);
    if (stamp.fullAtEpochMicros()
        <= fullAt + refill.boundedMicrosFor(1) + TimeToFull.CLOCK_STEP_MICROS) {
      return;
    }
    account.setLimit(inForce);
    time.followTrue(change);
    time.show(stamp);
    account.followTimes(change, at);
    account.corrections().disturb(Cause.RESTORE, 0, at);
  }
}
