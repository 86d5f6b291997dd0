// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.limits.LimitChange;
import io.weir.topics.model.Stamp;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The accounts of a bucket's epochs: the current one, and previous ones with charges in flight.
 * Also holds the check for charges that were never recorded. Not thread-safe.
 */
final class EpochAccounts {
  private EpochAccount current;
  private final PreviousEpochs previous = new PreviousEpochs();
  private final GapCheck gapCheck;

  /** Creates the accounts with a bucket's first epoch. */
  EpochAccounts(EpochAccount first) {
    this.current = first;
    this.gapCheck = new GapCheck();
    gapCheck.begin(first);
  }

  /** Restores the accounts from their states. */
  EpochAccounts(EpochAccount.State current, List<EpochAccount.State> ended, GapCheck.State check) {
    this.current = EpochAccount.of(current);
    this.gapCheck = GapCheck.of(check);
    ended.forEach(epoch -> previous.add(EpochAccount.of(epoch)));
  }

  /** Returns the newest known epoch. */
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

  /** Adds charges of epochs that ended before the first known stamp. */
  void addUnknown(long tokens, long atMicros) {
    previous.add(new EpochAccount(PreviousEpochs.UNKNOWN, tokens, atMicros, 0, 0));
  }

  /**
   * Returns the account of an epoch, or null if the epoch is unknown or has no charges in flight.
   */
  @Nullable EpochAccount find(long epoch) {
    return epoch == current.epoch() ? current : previous.find(epoch);
  }

  /**
   * Returns the previous epoch whose charges in flight may include a record of {@code epoch}, or
   * null.
   */
  @Nullable EpochAccount findPrevious(long epoch) {
    EpochAccount known = previous.find(epoch);
    return known == null ? previous.find(PreviousEpochs.UNKNOWN) : known;
  }

  /** Returns whether charges of any epoch are in flight. */
  boolean hasPending() {
    return current.pendingTokens() > 0 || previous.pendingTokens() > 0;
  }

  /**
   * Returns the number of tokens in flight in all epochs. Adds overlaps of credited gaps: they
   * would otherwise hide as many tokens in flight until the next check (simulation, seed 50004349).
   */
  long inFlightTokens() {
    long ofCurrent = Saturating.add(current.pendingTokens(), gapCheck.overlapTokens(current));
    return Saturating.add(Math.max(0, ofCurrent), previous.pendingTokens());
  }

  /** Adds a record of the current epoch to the gap check. */
  void noteInCheck(Stamp stamp, long costTokens, long atMicros) {
    gapCheck.note(stamp, costTokens, atMicros);
  }

  /** Counts a denial by the bucket. */
  void noteRefusal() {
    gapCheck.noteRefusal();
  }

  /** Begins a gap check at the first stamp of the current epoch. */
  void beginCheck() {
    gapCheck.beginEpoch(current);
  }

  /**
   * Records how far from full the bucket was. If no charge is in flight, forgets all distances
   * instead: no earlier charge can become a gap.
   */
  void noteDistance(long fromFullMicros) {
    if (!forgetHeadroom()) {
      gapCheck.noteHeadroom(fromFullMicros);
    }
  }

  /**
   * Records how far from full the bucket was, according to the records, before a call without the
   * cache. The distance excludes charges of the cache that are not known yet. The bucket refilled
   * part of those only if it was full without them.
   */
  void noteOwed(long fromFullMicros) {
    if (hasPending() || fromFullMicros <= 0) {
      gapCheck.noteHeadroom(fromFullMicros);
    }
  }

  /** Records how much of the charges in flight was certainly not refilled at the newest stamp. */
  void noteCertain(long micros) {
    gapCheck.noteCertain(micros);
  }

  /** Records that a charge in flight has been recorded; {@code micros} is its refill time. */
  void noteRecorded(long micros) {
    gapCheck.noteRecorded(micros);
  }

  /** Records how far from full the bucket was, whether or not charges are in flight. */
  void noteHeadroom(long fromFullMicros) {
    gapCheck.noteHeadroom(fromFullMicros);
  }

  /** Records how far from full the bucket was at an earlier time, according to a late record. */
  void noteHeadroomThen(long fromFullMicros, long atMicros) {
    gapCheck.noteHeadroomThen(fromFullMicros, atMicros);
  }

  /** Records the least distance from full before charges in flight. */
  void noteHeadroomInFlight(long fromFullMicros, long stampedAtMicros) {
    gapCheck.noteHeadroomInFlight(fromFullMicros, stampedAtMicros);
  }

  /** Forgets all distances if no charge is in flight; returns whether it did. */
  boolean forgetHeadroom() {
    if (hasPending()) {
      return false;
    }
    gapCheck.forgetHeadroom();
    return true;
  }

  /** Converts durations that represent tokens to the refill rate of a changed limit. */
  void follow(LimitChange change) {
    gapCheck.followHeadroom(change);
    current.followCredit(change);
    previous.followCredit(change);
  }

  /** Returns whether a check is needed at this watermark. */
  boolean needsCheck(long watermarkMicros) {
    return !previous.due(watermarkMicros).isEmpty()
        || (gapCheck.isDue(watermarkMicros) && gapCheck.isOpen(current));
  }

  /** Returns whether the bucket must be examined when the watermark passes its newest stamp. */
  boolean awaitsWatermark() {
    return previous.pendingTokens() > 0 || gapCheck.isOpen(current) || current.pendingTokens() != 0;
  }

  /** Returns the previous epochs with missing charges although every call is known. */
  List<EpochAccount> duePrevious(long watermarkMicros) {
    return previous.due(watermarkMicros);
  }

  /** Returns whether the check of the current epoch is due at this watermark. */
  boolean isCheckDue(long watermarkMicros) {
    return gapCheck.isDue(watermarkMicros);
  }

  /**
   * Returns how many tokens of the current epoch the due check finds missing. At most those in
   * flight: a counter that went back may hide recorded ones.
   */
  long missingTokens() {
    return Math.min(gapCheck.missingTokens(), current.pendingTokens());
  }

  /**
   * Returns how many recorded tokens of the current epoch the due check finds beyond the counter.
   */
  long overlapTokens() {
    return gapCheck.overlapTokens(current);
  }

  /** Ends the due check of the current epoch and begins the next. */
  void beginNextCheck() {
    gapCheck.beginNext(current, !hasPending());
  }

  /**
   * Returns the maximum by which a gap may move the time to full earlier.
   *
   * @param watermarkMicros every call decided before this time is known
   */
  long leastHeadroomMicros(long watermarkMicros) {
    return gapCheck.leastHeadroomMicros(watermarkMicros);
  }

  /** Returns the time up to which the due check of the current epoch examines charges. */
  long checkedUntilMicros() {
    return gapCheck.stampedAtMicros();
  }

  /** Reduces the distances from full by the credit of a gap. */
  void spendHeadroom(long micros) {
    gapCheck.spendHeadroom(micros);
  }

  /** Returns the number of denials that a missing charge may have caused. */
  long possibleRefusals() {
    return gapCheck.possibleRefusals();
  }
}
