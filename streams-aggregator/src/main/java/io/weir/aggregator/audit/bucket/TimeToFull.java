// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.limits.LimitChange;
import io.weir.limits.Refill;
import io.weir.topics.model.Stamp;

/**
 * The times at which one bucket is full without further charges: according to the cache's newest
 * stamp, and according to the records, which is the truth. All times are in microseconds since 1970
 * by the cache's clock. Not thread-safe.
 *
 * <p>The true time is T in decision record 0005. A charge of c tokens at time t moves it: T ←
 * max(T, t) + c·τ. The bucket gains one token in the time τ. That is the generic cell rate
 * algorithm in its virtual-scheduling form (ITU-T I.371), and T its theoretical arrival time.
 *
 * <p>For a bucket that does not refill, both times are the end of its period.
 */
final class TimeToFull {
  /** Maximum error of a clock that is read in whole milliseconds. */
  static final long CLOCK_STEP_MICROS = 1_000;

  /** Maximum difference between correct clocks of the cache and its nodes. */
  static final long CLOCKS_DIFFER_MICROS = 1_000_000;

  private long cacheMicros;
  private long trueMicros;
  private long owedSinceMicros;
  private long owedSinceConfirmedMicros;
  private long owedUntilMicros;
  private long clockMicros;
  private final FullTimes fullTimes;

  /**
   * The times as a value.
   *
   * @param cacheMicros when the bucket is full according to the cache's newest stamp
   * @param trueMicros when the bucket is full according to the records
   * @param owedSinceMicros the debt since the newest published correction, as refill time; no
   *     correction includes it yet
   * @param owedSinceConfirmedMicros the debt since the newest confirmed correction, as refill time
   * @param owedUntilMicros time of the newest charge that the cache did not know, or a later time
   * @param clockMicros the latest time of the cache's clock in stamps since it last stepped back
   * @param fullTimes when the bucket was full according to the records, under the limit in force
   */
  record State(
      long cacheMicros,
      long trueMicros,
      long owedSinceMicros,
      long owedSinceConfirmedMicros,
      long owedUntilMicros,
      long clockMicros,
      FullTimes fullTimes) {}

  /**
   * Creates the times, with the same time to full for the cache and the truth.
   *
   * @param clockMicros the cache's clock in the first stamp; 0 if there is none
   */
  TimeToFull(long fullAtMicros, long clockMicros) {
    this(new State(fullAtMicros, fullAtMicros, 0, 0, 0, clockMicros, new FullTimes()));
  }

  /** Restores the times from their state. */
  TimeToFull(State state) {
    this.cacheMicros = state.cacheMicros;
    this.trueMicros = state.trueMicros;
    this.owedSinceMicros = state.owedSinceMicros;
    this.owedSinceConfirmedMicros = state.owedSinceConfirmedMicros;
    this.owedUntilMicros = state.owedUntilMicros;
    this.clockMicros = state.clockMicros;
    this.fullTimes = state.fullTimes;
  }

  /** Returns the times as a value that is valid until the next change. */
  State state() {
    return new State(
        cacheMicros,
        trueMicros,
        owedSinceMicros,
        owedSinceConfirmedMicros,
        owedUntilMicros,
        clockMicros,
        fullTimes);
  }

  /** Returns when the bucket is full according to the cache's newest stamp. */
  long cacheMicros() {
    return cacheMicros;
  }

  /** Returns when the bucket is full according to the records. */
  long trueMicros() {
    return trueMicros;
  }

  /**
   * Returns whether every charge of the debt is older than a time; the debt then existed at that
   * time.
   */
  boolean isOwedBefore(long atMicros) {
    return owedUntilMicros < atMicros;
  }

  /** Adds a charge at its time: T ← max(T, at) + tokens·τ. */
  void charge(Refill refill, long tokens, long atMicros) {
    chargeMicros(refill.boundedMicrosFor(tokens), atMicros);
  }

  /**
   * Adds a charge that may be older than known charges: as {@link #charge}, less what the bucket
   * has refilled since. The cache does not know the charge, so it is a debt. The debt is the full
   * charge, because the cache's bucket may have been full at other times.
   */
  void chargeLate(Refill refill, long tokens, long atMicros) {
    long micros = refill.boundedMicrosFor(tokens);
    long left = micros - fullTimes.take(atMicros, micros);
    owe(micros, atMicros);
    chargeMicros(left, atMicros);
  }

  private void chargeMicros(long micros, long atMicros) {
    fullTimes.add(trueMicros, atMicros);
    long fullAt = Math.max(trueMicros, atMicros) + micros;
    trueMicros = Math.min(fullAt, Stamp.MAX_FULL_AT_MICROS);
  }

  /**
   * Moves the true time to full earlier by a duration. If the result is in the past, the bucket is
   * full, and the next charge begins at its own time.
   */
  void credit(long micros) {
    trueMicros = Math.max(0, trueMicros - micros);
  }

  /**
   * Adds a refund. Later charges used the refunded tokens. So it is unknown whether, with the
   * refund, the bucket was full before the current time to full.
   */
  void refund(long micros) {
    fullTimes.ignoreBefore(trueMicros);
    credit(micros);
  }

  /** Observes the cache's clock in the newest stamp. */
  void observeClock(long atMicros) {
    fullTimes.observeClock(atMicros, CLOCKS_DIFFER_MICROS);
    clockMicros = Math.max(clockMicros, atMicros);
  }

  /**
   * Observes the cache's clock in a stamp that is certainly later than the newest one. If the clock
   * has stepped back by more than the fill time, the cache treats the stored time of the bucket as
   * now. This method does the same: it moves all times earlier by the step.
   */
  void observeLaterClock(long atMicros, long fillMicros) {
    long backMicros = clockMicros - atMicros;
    if (backMicros > fillMicros) {
      cacheMicros = Math.max(0, cacheMicros - backMicros);
      trueMicros = Math.max(0, trueMicros - backMicros);
      owedUntilMicros = Math.max(0, owedUntilMicros - backMicros);
      clockMicros = atMicros;
    }
    observeClock(atMicros);
  }

  /** Returns the time, by the cache's clock, of the newest known stamp or charge. */
  long knownThroughMicros() {
    return owedUntilMicros == Long.MAX_VALUE
        ? clockMicros // an older stored state lacks that time
        : Math.max(clockMicros, owedUntilMicros);
  }

  /**
   * Takes back a credit, less what the bucket has refilled while that credit kept it full. The
   * cache does not know the credit.
   *
   * @param fromMicros the earliest time at which the credit could make the bucket full
   * @param untilMicros time of the newest known charge
   */
  void takeBack(long micros, long fromMicros, long untilMicros) {
    long left = micros - fullTimes.take(fromMicros, micros);
    owe(left, untilMicros);
    long fullAt = Saturating.add(trueMicros, left);
    trueMicros = Math.min(fullAt, Stamp.MAX_FULL_AT_MICROS);
  }

  private void owe(long micros, long atMicros) {
    owedUntilMicros = Math.max(owedUntilMicros, atMicros);
    owedSinceMicros = Saturating.add(owedSinceMicros, micros);
    owedSinceConfirmedMicros = Saturating.add(owedSinceConfirmedMicros, micros);
  }

  /** Sets the cache's time to full from its newest stamp. */
  void show(Stamp stamp) {
    cacheMicros = stamp.fullAtEpochMicros();
  }

  /** Sets the true time to the cache's time, because cache and records agree. */
  void trustCache() {
    trueMicros = cacheMicros;
    forgetOwed();
  }

  /**
   * Sets both times to the time in the stamp of an earlier charge, plus later charges.
   *
   * @param sinceMicros refill time of the charges since that stamp
   */
  void trust(Stamp stamp, long sinceMicros) {
    long fullAt = stamp.fullAtEpochMicros() + sinceMicros;
    fullAt = Math.max(0, Math.min(fullAt, Stamp.MAX_FULL_AT_MICROS));
    cacheMicros = fullAt;
    trueMicros = fullAt;
  }

  /** Raises the true time to the time in a stamp; a later true time does not change. */
  void raiseTo(Stamp stamp) {
    trueMicros = Math.max(trueMicros, stamp.fullAtEpochMicros());
  }

  /**
   * Sets the true time to the time in a stamp, although it includes charges without a known record.
   * It is unknown which full times those charges used up, so all are forgotten.
   */
  void trustUnexplained(Stamp stamp, long atMicros) {
    trueMicros = stamp.fullAtEpochMicros();
    fullTimes.restart(atMicros);
  }

  /** Records that a correction published now includes the debt. */
  void stateOwed() {
    owedSinceMicros = 0;
  }

  /** Records that a stamp confirms the newest correction. */
  void confirmOwed() {
    owedSinceConfirmedMicros = owedSinceMicros;
  }

  /** Clears the debt, because the newest stamp includes it. */
  void forgetOwed() {
    owedSinceMicros = 0;
    owedSinceConfirmedMicros = 0;
  }

  /**
   * Raises both debts to at least the difference between the truth and the cache.
   *
   * @param atMicros latest possible time of the charges
   */
  void oweBeyondCache(long atMicros) {
    owedUntilMicros = Math.max(owedUntilMicros, atMicros);
    long beyond = trueMicros - cacheMicros;
    owedSinceMicros = Math.max(owedSinceMicros, beyond);
    owedSinceConfirmedMicros = Math.max(owedSinceConfirmedMicros, beyond);
  }

  /**
   * Adds a debt that published corrections do not include, although stamps will show their
   * versions.
   */
  void oweBeyondCorrections(long micros, long atMicros) {
    owe(micros, atMicros);
  }

  /**
   * Bounds the truth by the newest stamp, which shows the newest correction, or one since the
   * newest confirmed. The same charges never increase the distance of two levels. So the truth
   * exceeds the stamp's time to full, or the time of the newest debt, at most by the debt since
   * that correction. Charges in flight were added to the truth as if made now. The cache may have
   * refilled them long before, or charged them under another limit (simulation, seeds 103 and
   * 6002804).
   *
   * <p>If the truth is lowered, these charges have used up full times of the same length. It is
   * unknown which, so the newest are used up; then a late charge of any time is refilled least.
   *
   * @param showsNewest whether the stamp shows the newest correction
   * @param atMicros time of the stamp
   * @return whether the truth exceeded the bound and was set to it
   */
  boolean boundByCache(boolean showsNewest, long atMicros) {
    long latest =
        Saturating.add(
            Math.max(cacheMicros, owedUntilMicros),
            showsNewest ? owedSinceMicros : owedSinceConfirmedMicros);
    if (trueMicros <= latest) {
      return false;
    }
    fullTimes.takeNewest(trueMicros - latest);
    fullTimes.ignoreBefore(atMicros);
    trueMicros = latest;
    return true;
  }

  /** Records that the bucket was full in an interval. */
  void noteFull(long fromMicros, long toMicros) {
    fullTimes.add(fromMicros, toMicros);
  }

  /**
   * Records how long the bucket was full before a charge of the cache. The cache may have made
   * other charges in that time whose records are not known yet, so their refill time is subtracted.
   *
   * @param fullAtBefore the true time before the charge
   * @param jumpTokens increase of the cache's counter up to this charge
   */
  void noteFullBefore(
      Refill refill, long fullAtBefore, long jumpTokens, long costTokens, long atMicros) {
    long byTheClock = atMicros - refill.boundedMicrosFor(jumpTokens - costTokens);
    long byTheStamp = trueMicros - refill.boundedMicrosFor(jumpTokens);
    fullTimes.add(fullAtBefore, Math.min(byTheClock, byTheStamp));
  }

  /** Forgets the full times before a charge under a changed limit. */
  void forgetFullTimes(long atMicros) {
    fullTimes.restart(atMicros);
  }

  /** Converts durations that represent tokens to the refill rate of a changed limit. */
  void followOwed(LimitChange change, long atMicros) {
    fullTimes.restart(atMicros);
    owedSinceMicros = change.sameTokensMicros(owedSinceMicros);
    owedSinceConfirmedMicros = change.sameTokensMicros(owedSinceConfirmedMicros);
  }

  /** Converts the true time to a changed limit. */
  void followTrue(LimitChange change) {
    trueMicros = change.fullAtMicros(trueMicros);
  }

  /** Converts the cache's time to a changed limit. */
  void followCache(LimitChange change) {
    cacheMicros = change.fullAtMicros(cacheMicros);
  }

  /** Returns how many tokens more the cache's bucket holds than the true bucket. */
  long lostTokens(Refill refill) {
    double missing = Math.max(0, trueMicros - cacheMicros);
    return Math.round(missing * refill.tokens() / refill.periodMicros());
  }
}
