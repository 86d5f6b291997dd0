// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.limits.LimitChange;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The previous epochs of a bucket with charges in flight. An epoch without such charges is not
 * kept: its later records are a debt in full, whether the epoch is known or not. There are several
 * epochs if the cache is lost repeatedly before a record arrives. Not thread-safe.
 */
final class PreviousEpochs {
  /**
   * Maximum number of epochs. If the cache is lost more often within the watermark's lag, the gaps
   * of the oldest epochs are not credited.
   */
  static final int MAX_EPOCHS = 8;

  /** The identity that represents all epochs that ended before the first known stamp. */
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

  /** Returns an epoch by its identity, or null if it has no charges in flight. */
  @Nullable EpochAccount find(long epoch) {
    for (EpochAccount ended : newestLast) {
      if (ended.epoch() == epoch && ended.isOpen()) {
        return ended;
      }
    }
    return null;
  }

  /** Returns how many tokens of all these epochs are charged without a known record. */
  long pendingTokens() {
    long pending = 0;
    for (EpochAccount ended : newestLast) {
      pending = Saturating.add(pending, Math.max(0, ended.pendingTokens()));
    }
    return pending;
  }

  /**
   * Returns the epochs with missing charges although every call is known.
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

  /** Converts all credited times to the refill rate of a changed limit. */
  void followCredit(LimitChange change) {
    newestLast.forEach(ended -> ended.followCredit(change));
  }

  /** Returns all epochs as values, the newest last. */
  List<EpochAccount.State> states() {
    return newestLast.stream().map(EpochAccount::state).toList();
  }
}
