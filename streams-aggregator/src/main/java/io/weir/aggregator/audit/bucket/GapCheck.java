// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.limits.LimitChange;
import io.weir.topics.model.Stamp;

/**
 * The search for charges that were never recorded. A check waits until the watermark has passed a
 * bucket's newest stamp. Charges up to that stamp that are not recorded then will never be
 * recorded; they are a gap, and the bucket is credited. The check remembers the effects of a
 * possible gap: the least distance from full, which bounds the credit, and the number of denials.
 * Both are kept for two checks, because a charge that one check finds missing may be older than the
 * previous check.
 *
 * <p>A known record gives an exact distance from full. A charge in flight is visible only in the
 * counter of a later stamp, and may be as late as that stamp. The distance derived from it is valid
 * until the watermark has passed the stamp. The charge then has a record with its own distance, or
 * is a gap itself. Not thread-safe.
 */
final class GapCheck {
  /** An unbounded distance from full. */
  static final long UNBOUNDED = Long.MAX_VALUE;

  private long stampedAtMicros;
  private long chargedTokens;
  private long exactTokens;
  private long driftTokens;
  private long headroomMicros = UNBOUNDED;
  private long nextHeadroomMicros = UNBOUNDED;
  private long inFlightHeadroomMicros = UNBOUNDED;
  private long nextInFlightHeadroomMicros = UNBOUNDED;
  private long inFlightUntilMicros;
  private long nextInFlightUntilMicros;
  private long refusals;
  private long nextRefusals;
  private long certainMicros;

  /**
   * The check as a value.
   *
   * @param stampedAtMicros time of the check's stamp; records up to it are summed
   * @param chargedTokens the cache's counter in that stamp
   * @param exactTokens Σ cost of the records up to that stamp
   * @param driftTokens the accepted drift of the epoch when the check began
   * @param headroomMicros least distance from full between the previous check and this one
   * @param nextHeadroomMicros least distance from full since this check began
   * @param inFlightHeadroomMicros least distance from full before charges in flight between the
   *     previous check and this one
   * @param nextInFlightHeadroomMicros the same since this check began
   * @param inFlightUntilMicros time of the newest stamp that showed charges in flight between the
   *     previous check and this one
   * @param nextInFlightUntilMicros the same since this check began
   * @param refusals number of denials between the previous check and this one
   * @param nextRefusals number of denials since this check began
   * @param certainMicros refill time of charges in flight that was certainly not refilled,
   *     regardless of the distances
   */
  record State(
      long stampedAtMicros,
      long chargedTokens,
      long exactTokens,
      long driftTokens,
      long headroomMicros,
      long nextHeadroomMicros,
      long inFlightHeadroomMicros,
      long nextInFlightHeadroomMicros,
      long inFlightUntilMicros,
      long nextInFlightUntilMicros,
      long refusals,
      long nextRefusals,
      long certainMicros) {}

  /** Restores a check from its state. */
  static GapCheck of(State state) {
    GapCheck check = new GapCheck();
    check.stampedAtMicros = state.stampedAtMicros;
    check.chargedTokens = state.chargedTokens;
    check.exactTokens = state.exactTokens;
    check.driftTokens = state.driftTokens;
    check.headroomMicros = state.headroomMicros;
    check.nextHeadroomMicros = state.nextHeadroomMicros;
    check.inFlightHeadroomMicros = state.inFlightHeadroomMicros;
    check.nextInFlightHeadroomMicros = state.nextInFlightHeadroomMicros;
    check.inFlightUntilMicros = state.inFlightUntilMicros;
    check.nextInFlightUntilMicros = state.nextInFlightUntilMicros;
    check.refusals = state.refusals;
    check.nextRefusals = state.nextRefusals;
    check.certainMicros = state.certainMicros;
    return check;
  }

  /** Returns the check as a value. */
  State state() {
    return new State(
        stampedAtMicros,
        chargedTokens,
        exactTokens,
        driftTokens,
        headroomMicros,
        nextHeadroomMicros,
        inFlightHeadroomMicros,
        nextInFlightHeadroomMicros,
        inFlightUntilMicros,
        nextInFlightUntilMicros,
        refusals,
        nextRefusals,
        certainMicros);
  }

  /** Begins a check at an epoch's newest stamp. */
  void begin(EpochAccount epoch) {
    stampedAtMicros = epoch.stampedAtMicros();
    chargedTokens = epoch.chargedTokens();
    exactTokens = epoch.exactTokens();
    driftTokens = epoch.driftTokens();
  }

  /**
   * Begins the next check when this one is complete.
   *
   * @param keepsHeadroom whether the distances remain valid for the next check: no charge is known
   *     to be in flight, but earlier charges may still be unknown
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
   * Begins the check of another epoch. Distances of charges in flight in previous epochs are kept
   * separately; they are valid while those charges are in flight.
   */
  void beginEpoch(EpochAccount epoch) {
    inFlightHeadroomMicros = Math.min(inFlightHeadroomMicros, nextInFlightHeadroomMicros);
    inFlightUntilMicros = Math.max(inFlightUntilMicros, nextInFlightUntilMicros);
    nextInFlightHeadroomMicros = UNBOUNDED;
    nextInFlightUntilMicros = 0;
    certainMicros = 0;
    begin(epoch);
  }

  /** Adds the cost of a record of the epoch if its stamp is not later than the check's stamp. */
  void note(Stamp stamp, long costTokens, long atMicros) {
    if (stamp.charged() <= chargedTokens && atMicros <= stampedAtMicros) {
      exactTokens = Saturating.add(exactTokens, costTokens);
    }
  }

  /** Counts a denial by the bucket. */
  void noteRefusal() {
    nextRefusals++;
  }

  /**
   * Records how much of the charges in flight was certainly not refilled at the newest stamp.
   * Earlier calls without the cache do not change this.
   */
  void noteCertain(long micros) {
    certainMicros = Math.max(certainMicros, micros);
  }

  /**
   * Records that a charge in flight has been recorded; reduces the certain part of the others by
   * its refill time.
   */
  void noteRecorded(long micros) {
    certainMicros = Math.max(0, certainMicros - micros);
  }

  /** Records how far from full the bucket was; a negative distance counts as 0. */
  void noteHeadroom(long micros) {
    long distance = Math.max(0, micros);
    nextHeadroomMicros = Math.min(nextHeadroomMicros, distance);
    certainMicros = Math.min(certainMicros, distance);
  }

  /**
   * Records how far from full the bucket was at an earlier time, according to a late record; a
   * negative distance counts as 0. Charges that the next check finds missing are later than this
   * check's stamp, so an earlier distance does not bound them.
   */
  void noteHeadroomThen(long micros, long atMicros) {
    if (atMicros < stampedAtMicros - TimeToFull.CLOCKS_DIFFER_MICROS) {
      headroomMicros = Math.min(headroomMicros, Math.max(0, micros));
    } else {
      noteHeadroom(micros);
    }
  }

  /**
   * Records the least distance from full before charges in flight; a negative distance counts as 0.
   *
   * @param stampedAtMicros time of the stamp whose counter includes them
   */
  void noteHeadroomInFlight(long micros, long stampedAtMicros) {
    nextInFlightUntilMicros = Math.max(nextInFlightUntilMicros, stampedAtMicros);
    nextInFlightHeadroomMicros = Math.min(nextInFlightHeadroomMicros, Math.max(0, micros));
  }

  /** Converts the distances to the refill rate of a changed limit. */
  void followHeadroom(LimitChange change) {
    headroomMicros = follow(headroomMicros, change);
    nextHeadroomMicros = follow(nextHeadroomMicros, change);
    inFlightHeadroomMicros = follow(inFlightHeadroomMicros, change);
    nextInFlightHeadroomMicros = follow(nextInFlightHeadroomMicros, change);
    certainMicros = change.sameTokensMicros(certainMicros);
  }

  private static long follow(long micros, LimitChange change) {
    return micros == UNBOUNDED ? micros : change.sameTokensMicros(micros);
  }

  /**
   * Reduces the distances by the credit of a gap; only the rest remains for other gaps (simulation,
   * seed 60920).
   */
  void spendHeadroom(long micros) {
    headroomMicros = spend(headroomMicros, micros);
    nextHeadroomMicros = spend(nextHeadroomMicros, micros);
    inFlightHeadroomMicros = spend(inFlightHeadroomMicros, micros);
    nextInFlightHeadroomMicros = spend(nextInFlightHeadroomMicros, micros);
    certainMicros = spend(certainMicros, micros);
  }

  private static long spend(long headroom, long micros) {
    return headroom == UNBOUNDED ? headroom : Math.max(0, headroom - micros);
  }

  /** Forgets the distances because no charge is in flight: no gap can be older than now. */
  void forgetHeadroom() {
    headroomMicros = UNBOUNDED;
    nextHeadroomMicros = UNBOUNDED;
    inFlightHeadroomMicros = UNBOUNDED;
    nextInFlightHeadroomMicros = UNBOUNDED;
    certainMicros = 0;
  }

  /**
   * Returns the maximum by which a gap may move the time to full earlier, for any time of its
   * charges.
   *
   * @param watermarkMicros every call decided before this time is known, so no earlier charge is in
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

  /** Returns the number of denials that a missing charge may have caused. */
  long possibleRefusals() {
    return refusals + nextRefusals;
  }

  /** Returns whether every call up to the check's stamp is known at a watermark. */
  boolean isDue(long watermarkMicros) {
    return watermarkMicros > stampedAtMicros;
  }

  /** Returns whether this check can find a difference, or a newer stamp requires a new check. */
  boolean isOpen(EpochAccount epoch) {
    return epoch.exactTokens() != exactTokens
        || epoch.chargedTokens() != chargedTokens
        || epoch.driftTokens() != driftTokens
        || missingTokens() != 0;
  }

  /**
   * Returns how many tokens up to the check's stamp are recorded beyond the cache's counter. They
   * were credited as a gap, or the cache went back and charged them again. Later charges in flight
   * do not hide them here (simulation, seed 4027591). Overlaps that the epoch has accepted since
   * the check began are excluded.
   */
  long overlapTokens(EpochAccount epoch) {
    long acceptedSince = Math.max(0, Saturating.subtract(epoch.driftTokens(), driftTokens));
    return Math.max(0, Saturating.subtract(-missingTokens(), acceptedSince));
  }

  /** Returns the time of this check's stamp. */
  long stampedAtMicros() {
    return stampedAtMicros;
  }

  /**
   * Returns how many tokens the cache had charged up to the check's stamp without a known record.
   */
  long missingTokens() {
    return Saturating.subtract(Saturating.add(chargedTokens, driftTokens), exactTokens);
  }
}
