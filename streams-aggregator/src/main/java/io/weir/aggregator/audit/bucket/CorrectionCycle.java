// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.aggregator.state.StoredMembers;
import io.weir.limits.correction.Correction.Cause;
import io.weir.topics.model.CallEvent;
import org.jspecify.annotations.Nullable;

/**
 * The state of a bucket's corrections. A difference between cache and records makes a correction
 * due. The audit publishes the correction, and a later stamp confirms it. Not thread-safe.
 *
 * <p>The cache and the records <em>agree</em> if a stamp has confirmed the newest published
 * correction and no correction is due.
 */
public final class CorrectionCycle {
  /**
   * Minimum time between two corrections of a bucket while the first correction is not confirmed,
   * in milliseconds.
   */
  public static final long UNCONFIRMED_INTERVAL_MILLIS = 1_000;

  /** Time after which a correction that is not confirmed is published again, in milliseconds. */
  static final long REPEAT_AFTER_MILLIS = 5_000;

  private static final long MICROS_PER_MILLI = 1_000;

  /** Version of the newest published correction. */
  private long version;

  /** Version of the newest confirmed correction. */
  private long confirmedVersion;

  /** Cause of the due correction; null if none is due. */
  private @Nullable Cause dueCause;

  /** Decision time of the oldest call that no published correction includes. */
  private long disturbedAtMillis;

  /**
   * The value of {@link #disturbedAtMillis} for the newest published correction; 0 if no call
   * caused that correction.
   */
  private long awaitedSinceMillis;

  /** Time at which the newest correction was published, by the partition's time. */
  private long publishedAtMillis;

  /** Number of tokens by which cache and records have differed since the last confirmation. */
  private long openDriftTokens;

  /** Number of tokens that were admitted without the cache since the last confirmation. */
  private long openOutageTokens;

  /**
   * Time until which the due correction waits for the confirmation of the previous correction. This
   * time is not stored.
   */
  private long waitingUntilMillis;

  /** Writes or reads the state. */
  void store(StoredMembers members) {
    version = members.integer(version);
    confirmedVersion = members.integer(confirmedVersion);
    String cause = members.text(dueCause == null ? "" : dueCause.wireName());
    dueCause = cause.isEmpty() ? null : Cause.ofWireName(cause);
    disturbedAtMillis = members.integer(disturbedAtMillis);
    awaitedSinceMillis = members.integer(awaitedSinceMillis);
    publishedAtMillis = members.integer(publishedAtMillis);
    openDriftTokens = members.integer(openDriftTokens);
    openOutageTokens = members.integer(openOutageTokens);
  }

  long version() {
    return version;
  }

  long confirmedVersion() {
    return confirmedVersion;
  }

  /** Returns the cause of the due correction, or null if none is due. */
  public @Nullable Cause dueCause() {
    return dueCause;
  }

  /**
   * Returns the number of tokens by which cache and records have differed since they last agreed.
   */
  public long openDriftTokens() {
    return openDriftTokens;
  }

  /**
   * Returns the number of tokens that were admitted without the cache since cache and records last
   * agreed.
   */
  public long openOutageTokens() {
    return openOutageTokens;
  }

  /** Returns whether cache and records are known to agree. */
  boolean isAgreed() {
    return version == confirmedVersion && dueCause == null;
  }

  /** Returns whether a published correction is not confirmed yet. */
  boolean isUnconfirmed() {
    return confirmedVersion < version;
  }

  /**
   * Makes a correction due if none is due. If a correction is already due, its cause does not
   * change.
   *
   * @param driftTokens number of tokens by which the difference between cache and records increases
   * @param atMicros decision time of the call that caused the difference
   */
  void disturb(Cause cause, long driftTokens, long atMicros) {
    long atMillis = atMicros / MICROS_PER_MILLI;
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

  /** Clears the open differences because cache and records agree. */
  void closeDifferences() {
    openDriftTokens = 0;
    openOutageTokens = 0;
  }

  /**
   * Sets the version to the version in the first stamp of an epoch. Each epoch has its own
   * versions.
   */
  void beginEpoch(long stampVersion) {
    version = stampVersion;
    confirmedVersion = stampVersion;
  }

  /**
   * Confirms the corrections up to the version in the newest stamp. After a reset of the
   * aggregator, the stamp may have a version from before the reset. The next correction must have a
   * greater version.
   */
  void confirm(long stampVersion) {
    version = Math.max(version, stampVersion);
    confirmedVersion = Math.max(confirmedVersion, stampVersion);
  }

  /**
   * Reduces the confirmed version to the version in a stamp, because the cache has returned to an
   * older state.
   */
  void goBack(long stampVersion) {
    confirmedVersion = Math.min(confirmedVersion, stampVersion);
  }

  /**
   * Advances to the next version, because the due correction is published now. No correction is due
   * afterwards.
   *
   * @return decision time of the oldest call that no earlier correction includes; {@code nowMillis}
   *     if no correction was due
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
   * Returns the time from the difference that caused the newest correction to the correction's
   * confirmation, in milliseconds. Returns a negative number if no difference caused the
   * correction.
   */
  long awaitedMillis(long atMillis) {
    return awaitedSinceMillis > 0 ? Math.max(0, atMillis - awaitedSinceMillis) : -1;
  }

  /**
   * Returns whether the next correction may be published now. Otherwise it waits for the
   * confirmation of the newest correction.
   */
  public boolean mayPublish(long nowMillis) {
    return confirmedVersion == version
        || isLongerAgo(publishedAtMillis, UNCONFIRMED_INTERVAL_MILLIS - 1, nowMillis);
  }

  /**
   * Returns whether the confirmation of the newest correction is overdue and no correction is due.
   */
  boolean isOverdue(long nowMillis) {
    return dueCause == null && isLongerAgo(publishedAtMillis, REPEAT_AFTER_MILLIS, nowMillis);
  }

  /**
   * Returns whether a time differs from the current time by more than an interval. The time may be
   * in the future because a clock was wrong.
   */
  private static boolean isLongerAgo(long epochMillis, long intervalMillis, long nowMillis) {
    return Math.abs(nowMillis - epochMillis) > intervalMillis;
  }

  /**
   * Returns the time until which the next correction waits for the confirmation of the newest
   * correction.
   */
  public long waitsUntilMillis() {
    return publishedAtMillis + UNCONFIRMED_INTERVAL_MILLIS;
  }

  /**
   * Begins to wait until {@link #waitsUntilMillis()}. Returns false if the correction already
   * waits.
   */
  public boolean beginWaiting() {
    boolean begins = waitingUntilMillis != waitsUntilMillis();
    waitingUntilMillis = waitsUntilMillis();
    return begins;
  }
}
