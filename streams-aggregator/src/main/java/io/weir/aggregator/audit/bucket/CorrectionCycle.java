// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.limits.correction.Correction.Cause;
import io.weir.topics.model.CallEvent;
import org.jspecify.annotations.Nullable;

/**
 * The corrections of one bucket, from the disturbance that makes one due, through its publication,
 * to the stamp that shows it as applied. Not thread-safe.
 *
 * <p>The cache and the records <em>agree</em> while a stamp has shown the newest correction that
 * was published and no correction is due.
 */
final class CorrectionCycle {
  /** Least time between two corrections of a bucket while no stamp shows the first as applied. */
  static final long UNCONFIRMED_INTERVAL_MILLIS = 1_000;

  /** A correction that no stamp shows as applied after this long is published again. */
  static final long REPEAT_AFTER_MILLIS = 5_000;

  private long version;
  private long confirmedVersion;
  private @Nullable Cause dueCause;
  private long disturbedAtMillis;
  private long awaitedSinceMillis;
  private long publishedAtMillis;
  private long openDriftTokens;
  private long openOutageTokens;

  /** Until when the correction that is due waits for the one before; of this process only. */
  private long waitsUntilMillis;

  /**
   * The cycle as a value.
   *
   * @param version version of the newest correction that was published
   * @param confirmedVersion version of the newest correction that a stamp has shown as applied
   * @param dueCause why a correction is due; null when none is
   * @param disturbedAtMillis when the oldest call was decided that the next correction is the first
   *     to take into account
   * @param awaitedSinceMillis the same of the newest correction that was published; 0 when it had
   *     no such call
   * @param publishedAtMillis when the newest correction was published, by the partition's time
   * @param openDriftTokens tokens by which cache and records differ since the last confirmation
   * @param openOutageTokens tokens admitted without the cache since the last confirmation
   */
  record State(
      long version,
      long confirmedVersion,
      @Nullable Cause dueCause,
      long disturbedAtMillis,
      long awaitedSinceMillis,
      long publishedAtMillis,
      long openDriftTokens,
      long openOutageTokens) {}

  /** Restores a cycle. */
  static CorrectionCycle of(State state) {
    CorrectionCycle cycle = new CorrectionCycle();
    cycle.version = state.version;
    cycle.confirmedVersion = state.confirmedVersion;
    cycle.dueCause = state.dueCause;
    cycle.disturbedAtMillis = state.disturbedAtMillis;
    cycle.awaitedSinceMillis = state.awaitedSinceMillis;
    cycle.publishedAtMillis = state.publishedAtMillis;
    cycle.openDriftTokens = state.openDriftTokens;
    cycle.openOutageTokens = state.openOutageTokens;
    return cycle;
  }

  /** Returns the cycle as a value. */
  State state() {
    return new State(
        version,
        confirmedVersion,
        dueCause,
        disturbedAtMillis,
        awaitedSinceMillis,
        publishedAtMillis,
        openDriftTokens,
        openOutageTokens);
  }

  /** Returns the version of the newest correction that was published. */
  long version() {
    return version;
  }

  /** Returns the version of the newest correction that a stamp has shown as applied. */
  long confirmedVersion() {
    return confirmedVersion;
  }

  /** Returns why a correction is due, or null if none is. */
  @Nullable Cause dueCause() {
    return dueCause;
  }

  /** Returns whether cache and records are known to agree. */
  boolean isAgreed() {
    return version == confirmedVersion && dueCause == null;
  }

  /** Returns whether a correction was published that no stamp has shown yet. */
  boolean isUnconfirmed() {
    return confirmedVersion < version;
  }

  /** Returns the tokens by which cache and records differ since the last confirmation. */
  long openDriftTokens() {
    return openDriftTokens;
  }

  /** Returns the tokens admitted without the cache since the last confirmation. */
  long openOutageTokens() {
    return openOutageTokens;
  }

  /**
   * Makes a correction due, if none is; the first cause stands.
   *
   * @param driftTokens by how many tokens cache and records differ more than before
   * @param atMillis when the call was decided that disturbed the bucket
   */
  void disturb(Cause cause, long driftTokens, long atMillis) {
    openDriftTokens = Saturating.add(openDriftTokens, driftTokens);
    if (dueCause == null) {
      dueCause = cause;
      disturbedAtMillis = atMillis;
    }
    disturbedAtMillis = Math.min(disturbedAtMillis, atMillis);
  }

  /** Counts tokens that were admitted without the cache. */
  void addOutage(long tokens) {
    openOutageTokens = Saturating.add(openOutageTokens, tokens);
  }

  /** Forgets the open differences, since cache and records agree. */
  void closeDifferences() {
    openDriftTokens = 0;
    openOutageTokens = 0;
  }

  /** Follows the version in the first stamp of an epoch: the versions of an epoch are its own. */
  void beginEpoch(long stampVersion) {
    version = stampVersion;
    confirmedVersion = stampVersion;
  }

  /**
   * Confirms the corrections up to the version that the newest stamp shows. After a reset of the
   * aggregator that may be one of before, which the next correction has to exceed.
   */
  void confirm(long stampVersion) {
    version = Math.max(version, stampVersion);
    confirmedVersion = Math.max(confirmedVersion, stampVersion);
  }

  /** Lowers the confirmed version to that of a stamp of a cache that has gone back. */
  void goBack(long stampVersion) {
    confirmedVersion = Math.min(confirmedVersion, stampVersion);
  }

  /**
   * Advances to the next version, which is published now and answers the due disturbance.
   *
   * @return when the oldest call was decided that this correction is the first to take into
   *     account; now when no correction was due
   */
  long publish(long nowMillis) {
    long pendingSinceMillis = dueCause == null ? nowMillis : disturbedAtMillis;
    version = Math.min(version + 1, CallEvent.MAX_QUANTITY);
    publishedAtMillis = nowMillis;
    awaitedSinceMillis = dueCause == null ? 0 : disturbedAtMillis;
    dueCause = null;
    return pendingSinceMillis;
  }

  /**
   * Returns how long the newest correction was awaited until now, in milliseconds, or a negative
   * number if no disturbance asked for it.
   */
  long awaitedMillis(long atMillis) {
    return awaitedSinceMillis > 0 ? Math.max(0, atMillis - awaitedSinceMillis) : -1;
  }

  /** Returns whether the next correction may be published now, or has to wait for the newest. */
  boolean mayPublish(long nowMillis) {
    return confirmedVersion == version
        || isLongerAgo(publishedAtMillis, UNCONFIRMED_INTERVAL_MILLIS - 1, nowMillis);
  }

  /** Returns whether the newest correction should have been shown by now, and none is due. */
  boolean isOverdue(long nowMillis) {
    return dueCause == null && isLongerAgo(publishedAtMillis, REPEAT_AFTER_MILLIS, nowMillis);
  }

  /**
   * Returns whether a time differs from now by more than an interval. A time in the future was
   * stamped by a clock that was wrong.
   */
  private static boolean isLongerAgo(long epochMillis, long intervalMillis, long nowMillis) {
    return Math.abs(nowMillis - epochMillis) > intervalMillis;
  }

  /** Returns until when the next correction waits for the newest to be confirmed. */
  long waitsUntilMillis() {
    return publishedAtMillis + UNCONFIRMED_INTERVAL_MILLIS;
  }

  /** Begins to wait until that time; returns false if the correction waits already. */
  boolean beginWaiting() {
    boolean begins = waitsUntilMillis != waitsUntilMillis();
    waitsUntilMillis = waitsUntilMillis();
    return begins;
  }
}
