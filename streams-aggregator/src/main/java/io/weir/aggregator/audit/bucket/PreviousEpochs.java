// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.limits.LimitChange;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The epochs of a bucket that have ended while charges of them are in flight. An epoch without such
 * charges is not kept: whatever is recorded of it later is owed in full, whether the epoch is known
 * or not. A cache that is lost several times within the time in which a record travels leaves
 * several. Not thread-safe.
 */
final class PreviousEpochs {
  /** Most epochs kept; further losses within the watermark's lag leave the oldest gaps open. */
  static final int MAX_EPOCHS = 8;

  /** The name that stands for all epochs that ended before the first stamp was seen. */
  static final long UNKNOWN = 0;

  private final Deque<EpochAccount> newestLast = new ArrayDeque<>();

  /** Adds an epoch that has ended. */
  void add(EpochAccount ended) {
    newestLast.removeIf(older -> !older.isOpen());
    if (!ended.isOpen()) {
      return;
    }
    if (newestLast.size() == MAX_EPOCHS) {
      newestLast.removeFirst();
    }
    newestLast.addLast(ended);
  }

  /** Returns the epoch of this name, or null if no record of it can still be explained by it. */
  @Nullable EpochAccount find(long epoch) {
    for (EpochAccount ended : newestLast) {
      if (ended.epoch() == epoch && ended.isOpen()) {
        return ended;
      }
    }
    return null;
  }

  /** Returns the tokens charged in all of them that no record shows yet. */
  long pendingTokens() {
    long pending = 0;
    for (EpochAccount ended : newestLast) {
      pending = Saturating.add(pending, Math.max(0, ended.pendingTokens()));
    }
    return pending;
  }

  /**
   * Returns the epochs of which every call is known, and some charges are missing all the same.
   *
   * @param watermarkMicros every call decided before this time is known
   */
  List<EpochAccount> due(long watermarkMicros) {
    List<EpochAccount> due = new ArrayList<>();
    for (EpochAccount ended : newestLast) {
      if (ended.pendingTokens() > 0 && watermarkMicros > ended.stampedAtMicros()) {
        due.add(ended);
      }
    }
    return due;
  }

  /** Converts all credited times to those of a changed limit. */
  void followCredit(LimitChange change) {
    newestLast.forEach(ended -> ended.followCredit(change));
  }

  /** Returns all as values, the newest last. */
  List<EpochAccount.State> states() {
    return newestLast.stream().map(EpochAccount::state).toList();
  }
}
