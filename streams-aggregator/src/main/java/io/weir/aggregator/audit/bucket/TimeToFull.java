// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.aggregator.state.StoredMembers;
import io.weir.limits.LimitChange;
import io.weir.topics.model.Stamp;

/**
 * The two times at which one bucket is full if it has no further charges. One is according to the
 * cache's newest stamp. The other is according to the records, and is called the true time. All
 * times are in microseconds since 1970, by the cache's clock. Not thread-safe.
 *
 * <p>Decision record 0005 uses T for the true time. A charge of c tokens at time t changes it: T ←
 * max(T, t) + c·τ. The bucket gains one token in the time τ. This arithmetic is the
 * virtual-scheduling form of the generic cell rate algorithm (ITU-T I.371), in which T is the
 * theoretical arrival time.
 *
 * <p>For a bucket that does not refill, both times are the end of the bucket's period.
 */
final class TimeToFull {
  /** Maximum error of a time that is rounded to whole milliseconds, in microseconds. */
  static final long CLOCK_STEP_MICROS = 1_000;

  /** Maximum difference between correct clocks of the cache and of the nodes, in microseconds. */
  static final long CLOCKS_DIFFER_MICROS = 1_000_000;

  /** Time at which the bucket is full according to the cache's newest stamp. */
  private long cacheMicros;

  /** Time at which the bucket is full according to the records. */
  private long trueMicros;

  /** The debt that no published correction includes, as refill time. */
  private long owedSinceMicros;

  /** The debt since the newest confirmed correction, as refill time. */
  private long owedSinceConfirmedMicros;

  /** Upper bound of the times of the charges that the cache did not know. */
  private long owedUntilMicros;

  /** The latest time of the cache's clock in a stamp, since the clock last stepped back. */
  private long clockMicros;

  /** Intervals in which the bucket was full according to the records, under the limit in force. */
  private final FullTimes fullTimes = new FullTimes();

  /**
   * Creates an instance with the same time to full for the cache and the records.
   *
   * @param clockMicros the cache's clock in the first stamp; 0 if there is none
   */
  TimeToFull(long fullAtMicros, long clockMicros) {
    this.cacheMicros = fullAtMicros;
    this.trueMicros = fullAtMicros;
    this.clockMicros = clockMicros;
  }

  /** Writes or reads the two times to full. */
  void storeTimes(StoredMembers members) {
    cacheMicros = members.integer(cacheMicros);
    trueMicros = members.integer(trueMicros);
  }

  /** Writes or reads all members except the two times to full. */
  void storeDebt(StoredMembers members) {
    owedSinceMicros = members.integer(owedSinceMicros);
    owedSinceConfirmedMicros = members.integer(owedSinceConfirmedMicros);
    owedUntilMicros = members.integer(owedUntilMicros);
    clockMicros = members.integer(clockMicros);
    fullTimes.store(members);
  }

  long cacheMicros() {
    return cacheMicros;
  }

  long trueMicros() {
    return trueMicros;
  }

  /**
   * Returns whether all charges of the debt are older than a time. The complete debt then existed
   * at that time.
   */
  boolean isOwedBefore(long atMicros) {
    return owedUntilMicros < atMicros;
  }

  /**
   * Adds a charge at its time: T ← max(T, at) + micros. {@code micros} is the refill time of the
   * charge.
   */
  void charge(long micros, long atMicros) {
    fullTimes.add(trueMicros, atMicros);
    long fullAt = Math.max(trueMicros, atMicros) + micros;
    trueMicros = Math.min(fullAt, Stamp.MAX_FULL_AT_MICROS);
  }

  /**
   * Adds a charge that may be older than known charges. The true time changes as in {@link
   * #charge}, except for the part that the bucket has refilled since. The cache does not know the
   * charge, so it is a debt. The debt is the complete charge, because the cache's bucket may have
   * been full at other times.
   */
  void chargeLate(long micros, long atMicros) {
    long left = micros - fullTimes.take(atMicros, micros);
    owe(micros, atMicros);
    charge(left, atMicros);
  }

  /**
   * Moves the true time earlier by a duration. If the result is in the past, the bucket is full,
   * and the next charge begins at its own time.
   */
  void credit(long micros) {
    trueMicros = Math.max(0, trueMicros - micros);
  }

  /**
   * Adds a refund. Later charges may have used the refunded tokens. So it is unknown whether the
   * bucket with the refund was full at an earlier time.
   */
  void refund(long micros) {
    fullTimes.ignoreBefore(trueMicros);
    credit(micros);
  }

  /** Updates the cache's clock from the newest stamp. */
  void observeClock(long atMicros) {
    fullTimes.observeClock(atMicros, CLOCKS_DIFFER_MICROS);
    clockMicros = Math.max(clockMicros, atMicros);
  }

  /**
   * Updates the cache's clock from a stamp that is certainly later than the newest stamp. If the
   * clock has stepped back by more than the fill time, the cache treats the stored time of the
   * bucket as the current time. In this case the method does the same, and moves all times earlier
   * by the step.
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

  /** Returns the time of the newest known stamp or charge, by the cache's clock. */
  long knownThroughMicros() {
    return Math.max(clockMicros, owedUntilMicros);
  }

  /**
   * Takes back a credit, except for the part that the bucket would have refilled while the credit
   * kept it full. The result is a debt, because the cache does not know it.
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

  /**
   * Adds a debt that no published correction includes.
   *
   * @param micros refill time of the debt
   * @param atMicros latest possible time of its charges
   */
  void owe(long micros, long atMicros) {
    owedUntilMicros = Math.max(owedUntilMicros, atMicros);
    owedSinceMicros = Saturating.add(owedSinceMicros, micros);
    owedSinceConfirmedMicros = Saturating.add(owedSinceConfirmedMicros, micros);
  }

  /** Sets the cache's time to full from its newest stamp. */
  void show(Stamp stamp) {
    cacheMicros = stamp.fullAtEpochMicros();
  }

  /** Sets the true time to the cache's time, because cache and records agree. Clears the debt. */
  void trustCache() {
    trueMicros = cacheMicros;
    forgetOwed();
  }

  /**
   * Sets both times to the time in the stamp of an earlier charge plus the refill time of later
   * charges.
   *
   * @param sinceMicros refill time of the charges since the stamp
   */
  void trust(Stamp stamp, long sinceMicros) {
    long fullAt = stamp.fullAtEpochMicros() + sinceMicros;
    fullAt = Math.max(0, Math.min(fullAt, Stamp.MAX_FULL_AT_MICROS));
    cacheMicros = fullAt;
    trueMicros = fullAt;
  }

  /** Increases the true time to the time in a stamp. A later true time does not change. */
  void raiseTo(Stamp stamp) {
    trueMicros = Math.max(trueMicros, stamp.fullAtEpochMicros());
  }

  /**
   * Sets the true time to the time in a stamp, although the stamp includes charges without a known
   * record. It is unknown which full times these charges used up, so all full times are removed.
   */
  void trustUnexplained(Stamp stamp, long atMicros) {
    trueMicros = stamp.fullAtEpochMicros();
    fullTimes.restart(atMicros);
  }

  /** Records that a correction that is published now includes the debt. */
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
   * Increases both debts to at least the difference between the true time and the cache's time.
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
   * Limits the true time by the newest stamp. The stamp shows the newest correction, or a
   * correction since the newest confirmed correction. Charges that both buckets receive never
   * increase the difference between the buckets. So the true time has an upper limit. This limit is
   * the later of the stamp's time to full and the time of the newest debt, plus the debt since the
   * correction. The true time may be later than this limit, because charges in flight were added as
   * if they were made now. The cache may have refilled them long before, or charged them under
   * another limit (simulation, seeds 103 and 6002804).
   *
   * <p>If this method reduces the true time, the charges in flight have used up full times of the
   * same length. It is unknown which full times they are. The method removes the newest full times,
   * because late charges are then refilled least.
   *
   * @param showsNewest whether the stamp shows the newest correction
   * @param atMicros time of the stamp
   * @return whether the true time was later than the limit and was set to it
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

  /** Removes the full times before a charge under a new limit. */
  void forgetFullTimes(long atMicros) {
    fullTimes.restart(atMicros);
  }

  /** Converts the debts to the refill rate of a new limit, and removes the full times. */
  void followOwed(LimitChange change, long atMicros) {
    fullTimes.restart(atMicros);
    owedSinceMicros = change.sameTokensMicros(owedSinceMicros);
    owedSinceConfirmedMicros = change.sameTokensMicros(owedSinceConfirmedMicros);
  }

  /** Converts the true time to a new limit. */
  void followTrue(LimitChange change) {
    trueMicros = change.fullAtMicros(trueMicros);
  }

  /** Converts the cache's time to a new limit. */
  void followCache(LimitChange change) {
    cacheMicros = change.fullAtMicros(cacheMicros);
  }
}
