// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.limits.LimitChange;
import io.weir.limits.Refill;
import io.weir.topics.model.Stamp;

/**
 * When one bucket is full if nothing more is taken: by the cache's newest stamp, and by the
 * records, which is the truth. All times are in microseconds since 1970 by the cache's clock. Not
 * thread-safe.
 *
 * <p>The true time is T in decision record 0005. A charge of c tokens at time t moves it: T ←
 * max(T, t) + c·τ, where τ is the time in which the bucket gains one token. That is the generic
 * cell rate algorithm in its virtual-scheduling form (ITU-T I.371), and T its theoretical arrival
 * time.
 *
 * <p>A bucket that does not refill keeps the end of its period as both times.
 */
final class TimeToFull {
  /** The error of a clock that is read in whole milliseconds. */
  static final long CLOCK_STEP_MICROS = 1_000;

  /** By no more do the clocks of the cache and of its nodes differ while they are right. */
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
   * @param cacheMicros when the bucket is full by the cache's newest stamp
   * @param trueMicros when it is full by the records
   * @param owedSinceMicros by how much the true time has moved beyond the cache's since the newest
   *     correction was published: what is owed and stated by no correction yet
   * @param owedSinceConfirmedMicros the same since the newest correction that a stamp has shown
   * @param owedUntilMicros when the newest charge was made that the cache did not know of, or a
   *     time after it
   * @param clockMicros the cache's clock in the newest stamp, as far as it has not stepped back
   * @param fullTimes when the bucket was full by the records, under the limit that is followed
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
   * Begins with the same time for the cache and the truth.
   *
   * @param clockMicros the cache's clock in the first stamp; 0 if there is none
   */
  TimeToFull(long fullAtMicros, long clockMicros) {
    this(new State(fullAtMicros, fullAtMicros, 0, 0, 0, clockMicros, new FullTimes()));
  }

  /** Restores the times. */
  TimeToFull(State state) {
    this.cacheMicros = state.cacheMicros;
    this.trueMicros = state.trueMicros;
    this.owedSinceMicros = state.owedSinceMicros;
    this.owedSinceConfirmedMicros = state.owedSinceConfirmedMicros;
    this.owedUntilMicros = state.owedUntilMicros;
    this.clockMicros = state.clockMicros;
    this.fullTimes = state.fullTimes;
  }

  /** Returns the times as a value, which holds until the next change. */
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

  /** Returns when the bucket is full by the cache's newest stamp. */
  long cacheMicros() {
    return cacheMicros;
  }

  /** Returns when the bucket is full by the records. */
  long trueMicros() {
    return trueMicros;
  }

  /**
   * Returns whether all that the cache did not know of was charged before a time: then it was owed
   * at that time, too.
   */
  boolean isOwedBefore(long atMicros) {
    return owedUntilMicros < atMicros;
  }

  /** Takes a charge at its time: T ← max(T, at) + tokens·τ. */
  void charge(Refill refill, long tokens, long atMicros) {
    chargeMicros(refill.boundedMicrosFor(tokens), atMicros);
  }

  /**
   * Takes a charge that may be older than others that are known: as {@link #charge}, less what the
   * bucket has refilled since the charge was made. The cache does not know of it, so it is owed: in
   * full, since the cache may have been full at another time.
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
   * Makes the bucket full earlier, by the refill of tokens or by a credited time. The result may
   * lie in the past, which is full: the next charge begins at its own time.
   */
  void credit(long micros) {
    trueMicros = Math.max(0, trueMicros - micros);
  }

  /**
   * Takes a refund. Charges since the one that is refunded have used what the bucket had, so
   * whether it was full, with the refund, before the time by which it is full without is not known.
   */
  void refund(long micros) {
    fullTimes.notBefore(trueMicros);
    credit(micros);
  }

  /** Observes the cache's clock, in the newest stamp. */
  void observeClock(long atMicros) {
    fullTimes.notBeyond(atMicros, CLOCKS_DIFFER_MICROS);
    clockMicros = Math.max(clockMicros, atMicros);
  }

  /**
   * Observes the cache's clock in a stamp that the cache certainly made after the newest one. If
   * the clock has stepped back by more than the bucket takes to fill, the cache lets the time of
   * the bucket count as now, and so do the records: all times are earlier by the step.
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

  /** Returns the time by the cache's clock of the newest stamp or charge that is known. */
  long knownThroughMicros() {
    return owedUntilMicros == Long.MAX_VALUE
        ? clockMicros // a state of before that time was kept
        : Math.max(clockMicros, owedUntilMicros);
  }

  /**
   * Takes a credit back, which the cache does not know of, less what the bucket has refilled while
   * it stood full by that credit.
   *
   * @param fromMicros from when the credit could make the bucket full
   * @param untilMicros when the newest known charge was made
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

  /** Notes the cache's time in its newest stamp. */
  void show(Stamp stamp) {
    cacheMicros = stamp.fullAtEpochMicros();
  }

  /** Takes the cache's newest time for the truth, since both agree. */
  void trustCache() {
    trueMicros = cacheMicros;
    forgetOwed();
  }

  /**
   * Takes the time in the stamp of an earlier charge for the cache's and the truth.
   *
   * @param sinceMicros the refill time of what the cache has charged since that stamp
   */
  void believe(Stamp stamp, long sinceMicros) {
    long fullAt = stamp.fullAtEpochMicros() + sinceMicros;
    fullAt = Math.max(0, Math.min(fullAt, Stamp.MAX_FULL_AT_MICROS));
    cacheMicros = fullAt;
    trueMicros = fullAt;
  }

  /** Takes the time in a stamp for the truth, if the bucket is not full later anyway. */
  void raiseTo(Stamp stamp) {
    trueMicros = Math.max(trueMicros, stamp.fullAtEpochMicros());
  }

  /**
   * Takes the time in a stamp for the truth, though charges explain it that no record shows; which
   * of the full times these have used up is not known, so all are forgotten.
   */
  void believeUnexplained(Stamp stamp, long atMicros) {
    trueMicros = stamp.fullAtEpochMicros();
    fullTimes.restart(atMicros);
  }

  /** Notes that what is owed is stated by a correction that is published now. */
  void stateOwed() {
    owedSinceMicros = 0;
  }

  /** Notes that a stamp shows the newest correction. */
  void confirmOwed() {
    owedSinceConfirmedMicros = owedSinceMicros;
  }

  /** Notes that nothing is owed: the stamp of now states all of it. */
  void forgetOwed() {
    owedSinceMicros = 0;
    owedSinceConfirmedMicros = 0;
  }

  /**
   * Assumes that all by which the truth exceeds the cache is owed since either correction.
   *
   * @param atMicros when it was charged at the latest
   */
  void oweBeyondCache(long atMicros) {
    owedUntilMicros = Math.max(owedUntilMicros, atMicros);
    long beyond = trueMicros - cacheMicros;
    owedSinceMicros = Math.max(owedSinceMicros, beyond);
    owedSinceConfirmedMicros = Math.max(owedSinceConfirmedMicros, beyond);
  }

  /** Adds what no published correction states, though stamps will show their versions. */
  void oweBeyondCorrections(long micros, long atMicros) {
    owe(micros, atMicros);
  }

  /**
   * Bounds the truth by the newest stamp, which shows the newest correction, or one since the
   * newest that was confirmed. The same charges lead from two levels of a bucket to two levels that
   * are no farther apart, so the truth exceeds the stamp's time to full, or the time of the last
   * charge that is owed, by no more than what is owed since that correction. Charges that no record
   * has shown yet were added to the truth as if they had been made now; the cache may have refilled
   * them long before, or have taken them under another limit (simulation, seeds 103 and 6002804).
   *
   * <p>Where the truth is lowered, these charges have used as much refill of the full times; which
   * of them is not known, so the newest count as used, by which a charge of any time is refilled
   * least.
   *
   * @param showsNewest whether the stamp shows the newest correction
   * @param atMicros when the stamp was made
   * @return whether the truth was beyond the bound, and was set to it
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
    fullTimes.notBefore(atMicros);
    trueMicros = latest;
    return true;
  }

  /** Notes that the bucket was full from the time it became so until a later time. */
  void noteFull(long fromMicros, long toMicros) {
    fullTimes.add(fromMicros, toMicros);
  }

  /**
   * Notes how long the bucket was full before a charge of the cache. The cache may have made other
   * charges in that time, which no record has shown yet, so their refill is subtracted.
   *
   * @param fullAtBefore the true time before the charge
   * @param jumpTokens by how much the cache's counter has risen with the charge
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

  /** Converts the times that stand for tokens to those of a changed limit. */
  void followOwed(LimitChange change, long atMicros) {
    fullTimes.restart(atMicros);
    owedSinceMicros = change.sameTokensMicros(owedSinceMicros);
    owedSinceConfirmedMicros = change.sameTokensMicros(owedSinceConfirmedMicros);
  }

  /** Converts the true time to that of a changed limit. */
  void followTrue(LimitChange change) {
    trueMicros = change.fullAtMicros(trueMicros);
  }

  /** Converts the cache's time to that of a changed limit. */
  void followCache(LimitChange change) {
    cacheMicros = change.fullAtMicros(cacheMicros);
  }

  /** Returns the tokens that the cache believes the bucket to hold beyond the truth. */
  long lostTokens(Refill refill) {
    double missing = Math.max(0, trueMicros - cacheMicros);
    return Math.round(missing * refill.tokens() / refill.periodMicros());
  }
}
