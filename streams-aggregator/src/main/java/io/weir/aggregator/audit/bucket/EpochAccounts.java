// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.aggregator.state.StoredMembers;
import io.weir.limits.LimitChange;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The accounts of a bucket's current epoch and of the previous epochs with charges in flight. This
 * class also contains the check for charges that were never recorded. A previous epoch without
 * charges in flight is not kept, because each later record of that epoch adds a debt of the
 * record's full cost. There are several previous epochs if the cache loses its state repeatedly
 * before the records arrive. Not thread-safe.
 */
final class EpochAccounts {
  /**
   * Maximum number of previous epochs. If the cache loses its state more often than this within the
   * watermark's lag, the gaps of the oldest epochs are not credited.
   */
  private static final int MAX_PREVIOUS = 8;

  /** The identity that represents all epochs that ended before the first known stamp. */
  private static final long UNKNOWN = 0;

  private EpochAccount current;

  /** The previous epochs, in ascending order. */
  private final List<EpochAccount> previous = new ArrayList<>();

  private final GapCheck gapCheck = new GapCheck();

  /** Creates the accounts of a bucket with the bucket's first epoch. */
  EpochAccounts(EpochAccount first) {
    this.current = first;
    gapCheck.begin(first);
  }

  /** Writes or reads the accounts, without the check. */
  void store(StoredMembers members) {
    current.store(members);
    int stored = members.count(previous.size());
    while (previous.size() < stored) {
      previous.add(new EpochAccount(UNKNOWN, 0, 0));
    }
    previous.forEach(epoch -> epoch.store(members));
  }

  /** Returns the newest known epoch. */
  EpochAccount current() {
    return current;
  }

  GapCheck gapCheck() {
    return gapCheck;
  }

  /** Ends the current epoch and begins the next epoch. */
  void begin(EpochAccount next) {
    addPrevious(current);
    current = next;
  }

  /** Adds charges of epochs that ended before the first known stamp. */
  void addUnknown(long tokens, long atMicros) {
    addPrevious(new EpochAccount(UNKNOWN, tokens, atMicros));
  }

  private void addPrevious(EpochAccount ended) {
    previous.removeIf(older -> !older.isOpen());
    if (!ended.isOpen()) {
      return;
    }
    if (previous.size() == MAX_PREVIOUS) {
      previous.remove(0);
    }
    previous.add(ended);
  }

  /**
   * Returns the account of an epoch. Returns null if the epoch is unknown, or is a previous epoch
   * without charges in flight.
   */
  @Nullable EpochAccount find(long epoch) {
    return epoch == current.epoch() ? current : openPrevious(epoch);
  }

  /**
   * Returns the previous epoch whose charges in flight may include the charge of a record of {@code
   * epoch}. Returns null if there is none.
   */
  @Nullable EpochAccount findPrevious(long epoch) {
    EpochAccount known = openPrevious(epoch);
    return known == null ? openPrevious(UNKNOWN) : known;
  }

  private @Nullable EpochAccount openPrevious(long epoch) {
    for (EpochAccount ended : previous) {
      if (ended.epoch() == epoch && ended.isOpen()) {
        return ended;
      }
    }
    return null;
  }

  /** Returns whether charges of any epoch are in flight. */
  boolean hasPending() {
    return current.pendingTokens() > 0 || pendingOfPrevious() > 0;
  }

  private long pendingOfPrevious() {
    long pending = 0;
    for (EpochAccount ended : previous) {
      pending = Saturating.add(pending, Math.max(0, ended.pendingTokens()));
    }
    return pending;
  }

  /**
   * Returns the number of tokens in flight in all epochs. The overlap of credited gaps reduces the
   * pending tokens until the next check, so it is added here (simulation, seed 50004349).
   */
  long inFlightTokens() {
    long ofCurrent = Saturating.add(current.pendingTokens(), gapCheck.overlapTokens(current));
    return Saturating.add(Math.max(0, ofCurrent), pendingOfPrevious());
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

  /** Clears all distances if no charge is in flight. Returns whether it cleared them. */
  boolean forgetHeadroom() {
    boolean clears = !hasPending();
    if (clears) {
      gapCheck.forgetHeadroom();
    }
    return clears;
  }

  /**
   * Converts the refill durations for a new limit, so that each represents the same number of
   * tokens at the new refill rate.
   */
  void follow(LimitChange change) {
    gapCheck.followHeadroom(change);
    current.followCredit(change);
    previous.forEach(ended -> ended.followCredit(change));
  }

  /** Returns whether a check is needed at this watermark. */
  boolean needsCheck(long watermarkMicros) {
    return !duePrevious(watermarkMicros).isEmpty()
        || (gapCheck.isDue(watermarkMicros) && gapCheck.isOpen(current));
  }

  /** Returns whether the bucket must be examined when the watermark passes its newest stamp. */
  boolean awaitsWatermark() {
    return pendingOfPrevious() > 0 || gapCheck.isOpen(current) || current.pendingTokens() != 0;
  }

  /**
   * Returns the previous epochs that still have missing charges at a watermark. All calls of these
   * epochs are known.
   */
  List<EpochAccount> duePrevious(long watermarkMicros) {
    return previous.stream()
        .filter(ended -> ended.pendingTokens() > 0 && watermarkMicros > ended.stampedAtMicros())
        .toList();
  }

  /**
   * Returns the number of tokens of the current epoch that the due check finds missing. The result
   * is at most the number of pending tokens, because recorded tokens may seem missing after a
   * decrease of the counter.
   */
  long missingTokens() {
    return Math.min(gapCheck.missingTokens(), current.pendingTokens());
  }

  /** Ends the due check of the current epoch and begins the next check. */
  void beginNextCheck() {
    gapCheck.beginNext(current, !hasPending());
  }
}
