// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.limits.LimitChange;
import io.weir.topics.model.Stamp;

/**
 * The search for charges that were never recorded. A check waits until the watermark has passed a
 * bucket's newest stamp: whatever the cache had charged up to that stamp must then be recorded, and
 * what is not never will be. Such a gap is given back to the bucket, so the check remembers what
 * the gap may have done meanwhile: how near the bucket came to full, which bounds the credit, and
 * how many calls the bucket refused. Both are kept for two checks, since a charge that one check
 * finds missing may have been made before the check before it.
 *
 * <p>How near to full the bucket came is known exactly where a record is known. A charge that is
 * still in flight is seen only in the counter of a later stamp, and may have been made as late as
 * that stamp: the distance that follows from this holds until the watermark has passed the stamp,
 * when the charge has either been recorded, with a distance of its own, or is a gap itself. Not
 * thread-safe.
 */
final class GapCheck {
  /** Stands for a distance from full that is not bounded. */
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
   * @param stampedAtMicros when the stamp was made up to which records are summed
   * @param chargedTokens the cache's counter in that stamp
   * @param exactTokens Σ cost of the records up to that stamp
   * @param driftTokens the drift that the epoch had accepted when the check began
   * @param headroomMicros least distance from full between the previous check and this one
   * @param nextHeadroomMicros least distance from full since this check began
   * @param inFlightHeadroomMicros least distance from full that charges in flight may have had
   *     between the previous check and this one
   * @param nextInFlightHeadroomMicros the same since this check began
   * @param inFlightUntilMicros newest stamp in which charges in flight were seen between the
   *     previous check and this one
   * @param nextInFlightUntilMicros the same since this check began
   * @param refusals refusals between the previous check and this one
   * @param nextRefusals refusals since this check began
   * @param certainMicros what of the charges in flight was certainly not refilled, whatever the
   *     distances show
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

  /** Restores a check. */
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

  /** Begins to wait for the watermark to pass an epoch's newest stamp. */
  void begin(EpochAccount epoch) {
    stampedAtMicros = epoch.stampedAtMicros();
    chargedTokens = epoch.chargedTokens();
    exactTokens = epoch.exactTokens();
    driftTokens = epoch.driftTokens();
  }

  /**
   * Begins the next check when this one is done.
   *
   * @param keepsHeadroom whether the distances hold for the next check, too: nothing is known to be
   *     in flight, but charges of before them may not be known yet
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
   * Begins the check of another epoch. The distances of charges that are in flight in the ended
   * epochs are kept apart from those of the next: they hold for as long as these are in flight.
   */
  void beginEpoch(EpochAccount epoch) {
    inFlightHeadroomMicros = Math.min(inFlightHeadroomMicros, nextInFlightHeadroomMicros);
    inFlightUntilMicros = Math.max(inFlightUntilMicros, nextInFlightUntilMicros);
    nextInFlightHeadroomMicros = UNBOUNDED;
    nextInFlightUntilMicros = 0;
    certainMicros = 0;
    begin(epoch);
  }

  /** Adds the cost of a record of the epoch if it was stamped no later than the check's stamp. */
  void note(Stamp stamp, long costTokens, long atMicros) {
    if (stamp.charged() <= chargedTokens && atMicros <= stampedAtMicros) {
      exactTokens = Saturating.add(exactTokens, costTokens);
    }
  }

  /** Notes that the bucket refused a call. */
  void noteRefusal() {
    nextRefusals++;
  }

  /**
   * Notes that charges in flight were certainly not refilled by so much when the newest stamp was
   * made, whatever calls without the cache seemed to show before.
   */
  void noteCertain(long micros) {
    certainMicros = Math.max(certainMicros, micros);
  }

  /** Notes that a charge that was in flight is recorded: as much less of the others is certain. */
  void noteRecorded(long micros) {
    certainMicros = Math.max(0, certainMicros - micros);
  }

  /** Notes how far from full the bucket was; a negative distance counts as none. */
  void noteHeadroom(long micros) {
    long distance = Math.max(0, micros);
    nextHeadroomMicros = Math.min(nextHeadroomMicros, distance);
    certainMicros = Math.min(certainMicros, distance);
  }

  /**
   * Notes how far from full the bucket was at a time, by a record that came late; a negative
   * distance counts as none. What the next check finds missing was charged after the stamp of this
   * one, so an earlier distance does not bound it.
   */
  void noteHeadroomThen(long micros, long atMicros) {
    if (atMicros < stampedAtMicros - TimeToFull.CLOCKS_DIFFER_MICROS) {
      headroomMicros = Math.min(headroomMicros, Math.max(0, micros));
    } else {
      noteHeadroom(micros);
    }
  }

  /**
   * Notes how far from full the bucket was, at the least, before charges that are in flight; a
   * negative distance counts as none.
   *
   * @param stampedAtMicros when the stamp was made that shows them in its counter
   */
  void noteHeadroomInFlight(long micros, long stampedAtMicros) {
    nextInFlightUntilMicros = Math.max(nextInFlightUntilMicros, stampedAtMicros);
    nextInFlightHeadroomMicros = Math.min(nextInFlightHeadroomMicros, Math.max(0, micros));
  }

  /** Converts the distances to the times in which a changed limit refills the same tokens. */
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
   * Reduces the distances by what a gap was credited with: only the rest is left for other gaps
   * (simulation, seed 60920).
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

  /** Forgets the distances: no charge is in flight, so no gap can be older than this moment. */
  void forgetHeadroom() {
    headroomMicros = UNBOUNDED;
    nextHeadroomMicros = UNBOUNDED;
    inFlightHeadroomMicros = UNBOUNDED;
    nextInFlightHeadroomMicros = UNBOUNDED;
    certainMicros = 0;
  }

  /**
   * Returns the most by which a gap may make the bucket full earlier, whenever it was charged.
   *
   * @param watermarkMicros every call decided before this time is known: no charge of before it is
   *     in flight
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

  /** Returns the refusals that a missing charge may have caused. */
  long possibleRefusals() {
    return refusals + nextRefusals;
  }

  /** Returns whether every call up to the check's stamp is known at this watermark. */
  boolean isDue(long watermarkMicros) {
    return watermarkMicros > stampedAtMicros;
  }

  /** Returns whether there is anything to find, or a newer stamp to begin the next check with. */
  boolean isOpen(EpochAccount epoch) {
    return epoch.exactTokens() != exactTokens
        || epoch.chargedTokens() != chargedTokens
        || epoch.driftTokens() != driftTokens
        || missingTokens() != 0;
  }

  /**
   * Returns the tokens up to the check's stamp that are recorded beyond the cache's counter: they
   * had been given up, or the cache had gone back and charged them again. What is in flight of
   * later charges does not hide them here (simulation, seed 4027591). What the epoch has accepted
   * as an overlap since the check began is left out.
   */
  long overlapTokens(EpochAccount epoch) {
    long acceptedSince = Math.max(0, Saturating.subtract(epoch.driftTokens(), driftTokens));
    return Math.max(0, Saturating.subtract(-missingTokens(), acceptedSince));
  }

  /** Returns when the stamp was made for which this check waits. */
  long stampedAtMicros() {
    return stampedAtMicros;
  }

  /** Returns the tokens that the cache had charged up to the stamp and no record shows. */
  long missingTokens() {
    return Saturating.subtract(Saturating.add(chargedTokens, driftTokens), exactTokens);
  }
}
