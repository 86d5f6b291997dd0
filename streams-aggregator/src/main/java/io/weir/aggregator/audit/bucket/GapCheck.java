// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.aggregator.state.StoredMembers;
import io.weir.limits.LimitChange;
import io.weir.topics.model.Stamp;
import java.util.function.LongUnaryOperator;

/**
 * The check for charges that were never recorded. A check waits until the watermark has passed a
 * bucket's newest stamp. If charges up to that stamp are not recorded by then, they will never be
 * recorded. These charges are a gap, and the audit credits them to the bucket. The <em>distance
 * from full</em> is the time that the bucket needs to become full. The check stores the least
 * distance from full, which limits the credit. It also stores the number of denials. The least
 * distance and the number of denials are stored for two checks. A charge that a check finds missing
 * may be older than the previous check.
 *
 * <p>A known record gives an exact distance from full. A charge in flight is visible only in the
 * counter of a later stamp, so its time is at most the time of that stamp. A distance derived from
 * that stamp is valid until the watermark has passed the stamp. The charge then has a record with
 * its own distance, or it is a gap. Not thread-safe.
 */
final class GapCheck {
  /** Represents an unlimited distance from full. */
  static final long UNBOUNDED = Long.MAX_VALUE;

  /** Time of the check's stamp. */
  private long stampedAtMicros;

  /** The cache's counter in the check's stamp. */
  private long chargedTokens;

  /** Sum of the costs of the records up to the check's stamp. */
  private long exactTokens;

  /** The accepted drift of the epoch when the check began. */
  private long driftTokens;

  // "next" means: since this check began. The other fields are of the time between the beginnings
  // of the previous check and this check.

  /** Least distance from full. */
  private long headroomMicros = UNBOUNDED;

  private long nextHeadroomMicros = UNBOUNDED;

  /** Least distance from full before charges in flight. */
  private long inFlightHeadroomMicros = UNBOUNDED;

  private long nextInFlightHeadroomMicros = UNBOUNDED;

  /** Time of the newest stamp that showed charges in flight. */
  private long inFlightUntilMicros;

  private long nextInFlightUntilMicros;

  /** Number of denials by the bucket's limit. */
  private long refusals;

  private long nextRefusals;

  /**
   * Part of the refill time of charges in flight that was certainly missing, regardless of the
   * distances.
   */
  private long certainMicros;

  /** Writes or reads the check. */
  void store(StoredMembers members) {
    stampedAtMicros = members.integer(stampedAtMicros);
    chargedTokens = members.integer(chargedTokens);
    exactTokens = members.integer(exactTokens);
    driftTokens = members.integer(driftTokens);
    headroomMicros = members.integer(headroomMicros);
    nextHeadroomMicros = members.integer(nextHeadroomMicros);
    inFlightHeadroomMicros = members.integer(inFlightHeadroomMicros);
    nextInFlightHeadroomMicros = members.integer(nextInFlightHeadroomMicros);
    inFlightUntilMicros = members.integer(inFlightUntilMicros);
    nextInFlightUntilMicros = members.integer(nextInFlightUntilMicros);
    refusals = members.integer(refusals);
    nextRefusals = members.integer(nextRefusals);
    certainMicros = members.integer(certainMicros);
  }

  /** Begins a check at the newest stamp of an epoch. */
  void begin(EpochAccount epoch) {
    stampedAtMicros = epoch.stampedAtMicros();
    chargedTokens = epoch.chargedTokens();
    exactTokens = epoch.exactTokens();
    driftTokens = epoch.driftTokens();
  }

  /**
   * Begins the next check, because this check is complete.
   *
   * @param keepsHeadroom whether the next check keeps the distances. The next check must keep the
   *     distances if no charge is known to be in flight, because records of earlier charges may
   *     still arrive
   */
  void beginNext(EpochAccount epoch, boolean keepsHeadroom) {
    long kept = keepsHeadroom ? Math.min(headroomMicros, nextHeadroomMicros) : UNBOUNDED;
    headroomMicros = nextHeadroomMicros;
    inFlightHeadroomMicros = nextInFlightHeadroomMicros;
    inFlightUntilMicros = nextInFlightUntilMicros;
    refusals = nextRefusals;
    nextHeadroomMicros = kept;
    nextInFlightHeadroomMicros = UNBOUNDED;
    nextInFlightUntilMicros = 0;
    nextRefusals = 0;
    begin(epoch);
  }

  /**
   * Begins the check of another epoch. The distances before charges in flight of previous epochs
   * are kept separately. These distances are valid while the charges are in flight.
   */
  void beginEpoch(EpochAccount epoch) {
    inFlightHeadroomMicros = Math.min(inFlightHeadroomMicros, nextInFlightHeadroomMicros);
    inFlightUntilMicros = Math.max(inFlightUntilMicros, nextInFlightUntilMicros);
    nextInFlightHeadroomMicros = UNBOUNDED;
    nextInFlightUntilMicros = 0;
    certainMicros = 0;
    begin(epoch);
  }

  /**
   * Adds the cost of a record of the epoch, if the record's stamp is not later than the check's
   * stamp.
   */
  void note(Stamp stamp, long costTokens, long atMicros) {
    if (stamp.charged() <= chargedTokens && atMicros <= stampedAtMicros) {
      exactTokens = Saturating.add(exactTokens, costTokens);
    }
  }

  /** Counts a denial by the bucket's limit. */
  void noteRefusal() {
    nextRefusals++;
  }

  /**
   * Records the part of the refill time of charges in flight that was certainly missing at the
   * newest stamp. Earlier calls without the cache do not change this part.
   */
  void noteCertain(long micros) {
    certainMicros = Math.max(certainMicros, micros);
  }

  /**
   * Records that the record of a charge in flight has arrived. Reduces the certainly missing part
   * by the charge's refill time.
   */
  void noteRecorded(long micros) {
    certainMicros = Math.max(0, certainMicros - micros);
  }

  /** Records a distance from full. A negative distance counts as 0. */
  void noteHeadroom(long micros) {
    long distance = Math.max(0, micros);
    nextHeadroomMicros = Math.min(nextHeadroomMicros, distance);
    certainMicros = Math.min(certainMicros, distance);
  }

  /**
   * Records the distance from full at an earlier time, according to a late record. A negative
   * distance counts as 0. Charges that the next check finds missing are later than this check's
   * stamp, so an earlier distance does not limit their credit.
   */
  void noteHeadroomThen(long micros, long atMicros) {
    if (atMicros < stampedAtMicros - TimeToFull.CLOCKS_DIFFER_MICROS) {
      headroomMicros = Math.min(headroomMicros, Math.max(0, micros));
    } else {
      noteHeadroom(micros);
    }
  }

  /**
   * Records the least distance from full before charges in flight. A negative distance counts as 0.
   *
   * @param stampedAtMicros time of the stamp whose counter includes the charges
   */
  void noteHeadroomInFlight(long micros, long stampedAtMicros) {
    nextInFlightUntilMicros = Math.max(nextInFlightUntilMicros, stampedAtMicros);
    nextInFlightHeadroomMicros = Math.min(nextInFlightHeadroomMicros, Math.max(0, micros));
  }

  /** Converts the distances to the refill rate of a new limit. */
  void followHeadroom(LimitChange change) {
    convert(change::sameTokensMicros);
  }

  /**
   * Reduces the distances by the credit of a gap. The remaining distances limit the credit of other
   * gaps (simulation, seed 60920).
   */
  void spendHeadroom(long micros) {
    convert(distance -> Math.max(0, distance - micros));
  }

  private void convert(LongUnaryOperator conversion) {
    headroomMicros = converted(headroomMicros, conversion);
    nextHeadroomMicros = converted(nextHeadroomMicros, conversion);
    inFlightHeadroomMicros = converted(inFlightHeadroomMicros, conversion);
    nextInFlightHeadroomMicros = converted(nextInFlightHeadroomMicros, conversion);
    certainMicros = conversion.applyAsLong(certainMicros);
  }

  private static long converted(long micros, LongUnaryOperator conversion) {
    return micros == UNBOUNDED ? micros : conversion.applyAsLong(micros);
  }

  /** Clears the distances. No charge is in flight, so no gap can begin before the current time. */
  void forgetHeadroom() {
    headroomMicros = UNBOUNDED;
    nextHeadroomMicros = UNBOUNDED;
    inFlightHeadroomMicros = UNBOUNDED;
    nextInFlightHeadroomMicros = UNBOUNDED;
    certainMicros = 0;
  }

  /**
   * Returns the maximum duration by which the credit of a gap can move the time to full earlier,
   * regardless of the times of the missing charges.
   *
   * @param watermarkMicros time before which all calls are known, so that no earlier charge is in
   *     flight
   */
  long leastHeadroomMicros(long watermarkMicros) {
    long least = Math.max(certainMicros, Math.min(headroomMicros, nextHeadroomMicros));
    if (watermarkMicros <= inFlightUntilMicros) {
      least = Math.min(least, inFlightHeadroomMicros);
    }
    if (watermarkMicros <= nextInFlightUntilMicros) {
      least = Math.min(least, nextInFlightHeadroomMicros);
    }
    return least;
  }

  /** Returns the number of denials that missing charges may have caused. */
  long possibleRefusals() {
    return refusals + nextRefusals;
  }

  /** Returns whether all calls up to the check's stamp are known at a watermark. */
  boolean isDue(long watermarkMicros) {
    return watermarkMicros > stampedAtMicros;
  }

  /** Returns whether this check can find a difference, or newer records require a new check. */
  boolean isOpen(EpochAccount epoch) {
    return epoch.exactTokens() != exactTokens
        || epoch.chargedTokens() != chargedTokens
        || epoch.driftTokens() != driftTokens
        || missingTokens() != 0;
  }

  /**
   * Returns the number of recorded tokens up to the check's stamp that exceeds the cache's counter.
   * These tokens were credited as a gap, or the cache charged them twice after it returned to an
   * older state. Later charges in flight do not reduce this number (simulation, seed 4027591). It
   * excludes overlaps that the epoch has accepted since the check began.
   */
  long overlapTokens(EpochAccount epoch) {
    long acceptedSince = Math.max(0, Saturating.subtract(epoch.driftTokens(), driftTokens));
    return Math.max(0, Saturating.subtract(-missingTokens(), acceptedSince));
  }

  long stampedAtMicros() {
    return stampedAtMicros;
  }

  /**
   * Returns the number of tokens that the cache had charged, up to the check's stamp, for calls
   * whose records are not known.
   */
  long missingTokens() {
    return Saturating.subtract(Saturating.add(chargedTokens, driftTokens), exactTokens);
  }
}
