// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.limits.LimitChange;
import io.weir.topics.model.Stamp;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The accounts of a bucket's current epoch and of the previous epochs that have charges in flight.
 * It also contains the check for charges that were never recorded. Not thread-safe.
 */
final class EpochAccounts {
  private EpochAccount current;
  private final PreviousEpochs previous = new PreviousEpochs();
  private final GapCheck gapCheck;

  /** Creates the accounts of a bucket with the bucket's first epoch. */
  EpochAccounts(EpochAccount first) {
    this.current = first;
    this.gapCheck = new GapCheck();
    gapCheck.begin(first);
  }

  /** Creates the accounts from their states. */
  EpochAccounts(EpochAccount.State current, List<EpochAccount.State> ended, GapCheck.State check) {
    this.current = EpochAccount.of(current);
    this.gapCheck = GapCheck.of(check);
    ended.forEach(epoch -> previous.add(EpochAccount.of(epoch)));
  }

  /** Returns the newest known epoch. */
  EpochAccount current() {
    return current;
  }

  /** Returns the states of the previous epochs, in ascending order. */
  List<EpochAccount.State> previousStates() {
    return previous.states();
  }

  /** Returns the state of the gap check. */
  GapCheck.State gapCheckState() {
    return gapCheck.state();
  }

  /** Ends the current epoch and begins the next epoch. */
  void begin(EpochAccount next) {
    previous.add(current);
    current = next;
  }

  /** Adds charges of epochs that ended before the first known stamp. */
  void addUnknown(long tokens, long atMicros) {
    previous.add(new EpochAccount(PreviousEpochs.UNKNOWN, tokens, atMicros, 0, 0));
  }

  /**
   * Returns the account of an epoch. Returns null if the epoch is unknown, or is a previous epoch
   * without charges in flight.
   */
  @Nullable EpochAccount find(long epoch) {
    return epoch == current.epoch() ? current : previous.find(epoch);
  }

  /**
   * Returns the previous epoch whose charges in flight may include a record of {@code epoch}.
   * Returns null if there is none.
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
   * Returns the number of tokens in flight in all epochs. The overlap of credited gaps reduces the
   * pending tokens until the next check, so it is added here (simulation, seed 50004349).
   */
  long inFlightTokens() {
    long ofCurrent = Saturating.add(current.pendingTokens(), gapCheck.overlapTokens(current));
    return Saturating.add(Math.max(0, ofCurrent), previous.pendingTokens());
  }

  /** Adds a record of the current epoch to the gap check. */
  void noteInCheck(Stamp stamp, long costTokens, long atMicros) {
    gapCheck.note(stamp, costTokens, atMicros);
  }

  /** Counts a denial by the bucket's limit. */
  void noteRefusal() {
    gapCheck.noteRefusal();
  }

  /** Begins the gap check at the first stamp of the current epoch. */
  void beginCheck() {
    gapCheck.beginEpoch(current);
  }

  /**
   * Records a distance from full. If no charge is in flight, no earlier charge can become a gap.
   * This method then clears all distances instead.
   */
  void noteDistance(long fromFullMicros) {
    if (!forgetHeadroom()) {
      gapCheck.noteHeadroom(fromFullMicros);
    }
  }

  /**
   * Records the distance from full before a call without the cache, according to the records. The
   * distance does not include charges of the cache that are not known yet. The bucket refilled a
   * part of these charges only if it was full without them.
   */
  void noteOwed(long fromFullMicros) {
    if (hasPending() || fromFullMicros <= 0) {
      gapCheck.noteHeadroom(fromFullMicros);
    }
  }

  /**
   * Records the part of the refill time of charges in flight that was certainly missing at the
   * newest stamp.
   */
  void noteCertain(long micros) {
    gapCheck.noteCertain(micros);
  }

  /**
   * Records that the record of a charge in flight has arrived. {@code micros} is the refill time of
   * the charge.
   */
  void noteRecorded(long micros) {
    gapCheck.noteRecorded(micros);
  }

  /** Records a distance from full, even if no charge is in flight. */
  void noteHeadroom(long fromFullMicros) {
    gapCheck.noteHeadroom(fromFullMicros);
  }

  /** Records the distance from full at an earlier time, according to a late record. */
  void noteHeadroomThen(long fromFullMicros, long atMicros) {
    gapCheck.noteHeadroomThen(fromFullMicros, atMicros);
  }

  /** Records the least distance from full before charges in flight. */
  void noteHeadroomInFlight(long fromFullMicros, long stampedAtMicros) {
    gapCheck.noteHeadroomInFlight(fromFullMicros, stampedAtMicros);
  }

  /** Clears all distances if no charge is in flight. Returns whether it cleared them. */
  boolean forgetHeadroom() {
    if (hasPending()) {
      return false;
    }
    gapCheck.forgetHeadroom();
    return true;
  }

  /** Converts durations that represent tokens to the refill rate of a new limit. */
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

  /**
   * Returns the previous epochs that still have missing charges although all their calls are known
   * at a watermark.
   */
  List<EpochAccount> duePrevious(long watermarkMicros) {
    return previous.due(watermarkMicros);
  }

  /** Returns whether the check of the current epoch is due at this watermark. */
  boolean isCheckDue(long watermarkMicros) {
    return gapCheck.isDue(watermarkMicros);
  }

  /**
   * Returns the number of tokens of the current epoch that the due check finds missing. It is at
   * most the number of pending tokens, because recorded tokens may seem missing after a decrease of
   * the counter.
   */
  long missingTokens() {
    return Math.min(gapCheck.missingTokens(), current.pendingTokens());
  }

  /**
   * Returns the number of recorded tokens of the current epoch by which the due check finds the
   * counter exceeded.
   */
  long overlapTokens() {
    return gapCheck.overlapTokens(current);
  }

  /** Ends the due check of the current epoch and begins the next check. */
  void beginNextCheck() {
    gapCheck.beginNext(current, !hasPending());
  }

  /**
   * Returns the maximum duration by which the credit of a gap may move the time to full earlier.
   *
   * @param watermarkMicros time before which all calls are known
   */
  long leastHeadroomMicros(long watermarkMicros) {
    return gapCheck.leastHeadroomMicros(watermarkMicros);
  }

  /** Returns the time up to which the due check of the current epoch includes charges. */
  long checkedUntilMicros() {
    return gapCheck.stampedAtMicros();
  }

  /** Reduces all distances by the credit of a gap. */
  void spendHeadroom(long micros) {
    gapCheck.spendHeadroom(micros);
  }

  /** Returns the number of denials that missing charges may have caused. */
  long possibleRefusals() {
    return gapCheck.possibleRefusals();
  }
}
