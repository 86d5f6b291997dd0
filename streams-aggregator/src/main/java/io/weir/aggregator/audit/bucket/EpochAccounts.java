// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.limits.LimitChange;
import io.weir.topics.model.Stamp;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The accounts of a bucket's epochs: the current one, the previous ones with charges in flight, and
 * the check that finds out which charges will never be recorded. Not thread-safe.
 */
final class EpochAccounts {
  private EpochAccount current;
  private final PreviousEpochs previous = new PreviousEpochs();
  private final GapCheck gapCheck;

  /** Begins with a bucket's first epoch. */
  EpochAccounts(EpochAccount first) {
    this.current = first;
    this.gapCheck = new GapCheck();
    gapCheck.begin(first);
  }

  /** Restores the accounts. */
  EpochAccounts(EpochAccount.State current, List<EpochAccount.State> ended, GapCheck.State check) {
    this.current = EpochAccount.of(current);
    this.gapCheck = GapCheck.of(check);
    ended.forEach(epoch -> previous.add(EpochAccount.of(epoch)));
  }

  /** Returns the newest epoch that is known. */
  EpochAccount current() {
    return current;
  }

  /** Returns the previous epochs as values, the newest last. */
  List<EpochAccount.State> previousStates() {
    return previous.states();
  }

  /** Returns the gap check as a value. */
  GapCheck.State gapCheckState() {
    return gapCheck.state();
  }

  /** Ends the current epoch and begins the next. */
  void begin(EpochAccount next) {
    previous.add(current);
    current = next;
  }

  /** Adds charges of epochs that ended before the first stamp was seen. */
  void addUnknown(long tokens, long atMicros) {
    previous.add(new EpochAccount(PreviousEpochs.UNKNOWN, tokens, atMicros, 0, 0));
  }

  /** Returns the account of an epoch, or null if nothing of it is known, or in flight, any more. */
  @Nullable EpochAccount find(long epoch) {
    return epoch == current.epoch() ? current : previous.find(epoch);
  }

  /** Returns the previous epoch that explains a record of this epoch, or null if none does. */
  @Nullable EpochAccount findPrevious(long epoch) {
    EpochAccount known = previous.find(epoch);
    return known == null ? previous.find(PreviousEpochs.UNKNOWN) : known;
  }

  /** Returns whether charges of any epoch are in flight. */
  boolean hasPending() {
    return current.pendingTokens() > 0 || previous.pendingTokens() > 0;
  }

  /**
   * Returns the tokens charged in all epochs that a record may still show. Charges that were given
   * up and have been recorded after all would hide as many that are on their way, until the next
   * check (simulation, seed 50004349).
   */
  long inFlightTokens() {
    long ofCurrent = Saturating.add(current.pendingTokens(), gapCheck.overlapTokens(current));
    return Saturating.add(Math.max(0, ofCurrent), previous.pendingTokens());
  }

  /** Adds a record of the current epoch to the gap check. */
  void noteInCheck(Stamp stamp, long costTokens, long atMicros) {
    gapCheck.note(stamp, costTokens, atMicros);
  }

  /** Notes that the bucket refused a call. */
  void noteRefusal() {
    gapCheck.noteRefusal();
  }

  /** Makes the gap check wait for the first stamp of the current epoch. */
  void beginCheck() {
    gapCheck.beginEpoch(current);
  }

  /**
   * Notes how far from full the bucket was, unless no charge is in flight: then there is nothing to
   * credit, and the distances before a gap do not matter to it.
   */
  void noteDistance(long fromFullMicros) {
    if (!forgetHeadroom()) {
      gapCheck.noteHeadroom(fromFullMicros);
    }
  }

  /**
   * Notes how far from full the records had the bucket before a call that the cache did not decide.
   * The cache may have made charges since its newest stamp that are not known yet: these are not in
   * that distance, and were refilled in part only if the bucket was full without them.
   */
  void noteOwed(long fromFullMicros) {
    if (hasPending() || fromFullMicros <= 0) {
      gapCheck.noteHeadroom(fromFullMicros);
    }
  }

  /** Notes how much of the charges in flight was certainly not refilled at the newest stamp. */
  void noteCertain(long micros) {
    gapCheck.noteCertain(micros);
  }

  /** Notes that a charge that was in flight is recorded, by the time in which it is refilled. */
  void noteRecorded(long micros) {
    gapCheck.noteRecorded(micros);
  }

  /** Notes how far from full the bucket was, whatever is in flight. */
  void noteHeadroom(long fromFullMicros) {
    gapCheck.noteHeadroom(fromFullMicros);
  }

  /** Notes how far from full the bucket was at a time, by a record that came late. */
  void noteHeadroomThen(long fromFullMicros, long atMicros) {
    gapCheck.noteHeadroomThen(fromFullMicros, atMicros);
  }

  /** Notes how far from full the bucket was, at the least, before charges that are in flight. */
  void noteHeadroomInFlight(long fromFullMicros, long stampedAtMicros) {
    gapCheck.noteHeadroomInFlight(fromFullMicros, stampedAtMicros);
  }

  /** Forgets the distances if no charge is in flight; returns whether it did. */
  boolean forgetHeadroom() {
    if (hasPending()) {
      return false;
    }
    gapCheck.forgetHeadroom();
    return true;
  }

  /** Converts times that stand for tokens to those of a changed limit. */
  void follow(LimitChange change) {
    gapCheck.followHeadroom(change);
    current.followCredit(change);
    previous.followCredit(change);
  }

  /** Returns whether a check has anything to find, or to note, at this watermark. */
  boolean needsCheck(long watermarkMicros) {
    return !previous.due(watermarkMicros).isEmpty()
        || (gapCheck.isDue(watermarkMicros) && gapCheck.isOpen(current));
  }

  /** Returns whether the bucket has to be examined again once its newest stamp is passed. */
  boolean awaitsWatermark() {
    return previous.pendingTokens() > 0 || gapCheck.isOpen(current) || current.pendingTokens() != 0;
  }

  /** Returns the previous epochs of which every call is known, and some charges are missing. */
  List<EpochAccount> duePrevious(long watermarkMicros) {
    return previous.due(watermarkMicros);
  }

  /** Returns whether the check of the current epoch can be made at this watermark. */
  boolean isCheckDue(long watermarkMicros) {
    return gapCheck.isDue(watermarkMicros);
  }

  /**
   * Returns the tokens of the current epoch that the due check finds missing. No more than is in
   * flight: some may have been recorded, hidden by a counter that went back.
   */
  long missingTokens() {
    return Math.min(gapCheck.missingTokens(), current.pendingTokens());
  }

  /** Returns the tokens of the current epoch that the due check finds beyond the counter. */
  long overlapTokens() {
    return gapCheck.overlapTokens(current);
  }

  /** Ends the due check of the current epoch and begins the next. */
  void beginNextCheck() {
    gapCheck.beginNext(current, !hasPending());
  }

  /**
   * Returns the most by which a gap may make the bucket full earlier.
   *
   * @param watermarkMicros every call decided before this time is known
   */
  long leastHeadroomMicros(long watermarkMicros) {
    return gapCheck.leastHeadroomMicros(watermarkMicros);
  }

  /** Returns until when charges are judged by the due check of the current epoch. */
  long checkedUntilMicros() {
    return gapCheck.stampedAtMicros();
  }

  /** Reduces the distances from full by what a gap was credited with. */
  void spendHeadroom(long micros) {
    gapCheck.spendHeadroom(micros);
  }

  /** Returns the refusals that a missing charge may have caused. */
  long possibleRefusals() {
    return gapCheck.possibleRefusals();
  }
}
