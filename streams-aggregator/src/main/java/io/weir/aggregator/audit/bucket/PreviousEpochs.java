// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.limits.LimitChange;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The previous epochs of a bucket that have charges in flight. An epoch without charges in flight
 * is not kept, because each later record of the epoch is a debt of its full cost. There are several
 * previous epochs if the cache loses its state repeatedly before the records arrive. Not
 * thread-safe.
 */
final class PreviousEpochs {
  /**
   * Maximum number of epochs. If the cache loses its state more often within the watermark's lag,
   * the gaps of the oldest epochs are not credited.
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

  /**
   * Returns the epoch with this start. Returns null if it is unknown or has no charges in flight.
   */
  @Nullable EpochAccount find(long epoch) {
    for (EpochAccount ended : newestLast) {
      if (ended.epoch() == epoch && ended.isOpen()) {
        return ended;
      }
    }
    return null;
  }

  /**
   * Returns the number of tokens that the cache has charged in these epochs without a known record.
   */
  long pendingTokens() {
    long pending = 0;
    for (EpochAccount ended : newestLast) {
      pending = Saturating.add(pending, Math.max(0, ended.pendingTokens()));
    }
    return pending;
  }

  /**
   * Returns the epochs that still have missing charges although all their calls are known.
   *
   * @param watermarkMicros time before which all calls are known
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

  /** Converts all credited durations to the refill rate of a new limit. */
  void followCredit(LimitChange change) {
    newestLast.forEach(ended -> ended.followCredit(change));
  }

  /** Returns the states of all epochs, in ascending order. */
  List<EpochAccount.State> states() {
    return newestLast.stream().map(EpochAccount::state).toList();
  }
}
