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
 * The rule by which a bucket follows a changed limit: as the cache does ({@link LimitChange}), in
 * the order of the decisions and not of the records. Not thread-safe.
 */
final class LimitFollowing {
  private static final long MICROS_PER_MILLI = 1_000;

  private final BucketAccount account;

  LimitFollowing(BucketAccount account) {
    this.account = account;
  }

  /**
   * Follows the limit of a record if the record is not older than the newest one. A call that the
   * cache did not decide is newer if nothing is known of the bucket since: while the cache is away,
   * its calls are charged by the limit in force (simulation, seeds 7063 and 10425). A refusal
   * leaves the cache's bucket as it is, and so under the limit of its last charge: a charge is
   * newer if no later charge is known, whatever was refused. A bucket of which only refusals are
   * known is under the limit of its first charge. A bucket that was full and is created again is
   * full. Of a bucket that does not refill the tokens used are known, which no limit changes.
   *
   * @param stamp the stamp of the record; null when the cache did not decide the call
   * @param costTokens what the call took; 0 when the bucket refused it
   */
  void follow(BucketLimit changed, @Nullable Stamp stamp, long costTokens, long atMillis) {
    long at = atMillis * MICROS_PER_MILLI;
    BucketLimit before = account.limit();
    if (changed.equals(before)
        || isRefusalUnderAnother(changed, stamp, costTokens)
        || !isNewer(stamp, costTokens, at)) {
      return;
    }
    account.setLimit(changed);
    if (stamp != null && account.isFirstCharge(stamp, costTokens)) {
      account.timeToFull().forgetFullTimes(at);
      account.believe(stamp);
      return;
    }
    LimitChange change = LimitChange.of(before, changed, account.chargedAtMicros());
    if (change != null) {
      boolean isCreatedAnew =
          stamp == null ? isForgotten(at) : stamp.epoch() > account.epoch().epoch();
      follow(change, isCreatedAnew, at);
    }
  }

  private void follow(LimitChange change, boolean isCreatedAnew, long at) {
    TimeToFull time = account.timeToFull();
    account.followTimes(change, at);
    if (!isCreatedAnew || time.trueMicros() > at) {
      time.followTrue(change);
      account.epochs().noteHeadroom(time.trueMicros() - account.chargedAtMicros());
    }
    if (!isCreatedAnew || time.cacheMicros() > at) {
      time.followCache(change);
    }
  }

  /**
   * Returns whether the cache no longer keeps the bucket: it forgets one that has been full for the
   * margin. Until then it carries over what was left, also to a limit that is raised.
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

  /** Returns whether a record is a refusal by a limit that the cache's bucket does not follow. */
  boolean isRefusalUnderAnother(BucketLimit ownLimit, @Nullable Stamp stamp, long costTokens) {
    return costTokens == 0
        && ownLimit.refills()
        && !ownLimit.equals(account.limit())
        && (stamp == null
            || stamp.epoch() == account.epoch().epoch()
            || ownLimit.capacityTokens() == 0);
  }

  /**
   * Takes a refusal by a limit that the cache's bucket does not follow: nothing in the cache stands
   * by that limit, but the cache has shown the version of its newest correction.
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
   * Follows the limit of a refusal if the bucket holds less than it should, and makes a correction
   * by that limit due. A correction by another limit than the one in force only takes tokens: when
   * a refusal shows the newest one as applied, and the bucket still holds less than it should, the
   * bucket would refuse every call until it has refilled (simulation, seed 58182).
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
    account.corrections().disturb(Cause.RESTORE, 0, at / MICROS_PER_MILLI);
  }
}
