// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Lives of a bucket that are over and have charges on their way. A life without any is not kept:
 * whatever is recorded of it later is owed in full, known or not. A cache that is lost several
 * times within the time a record takes leaves several. Not safe for threads.
 */
final class PreviousEpochs {
  /** Most that are kept; more losses than that within a watermark's lag leave their gaps open. */
  static final int MAX_LIVES = 8;

  /** Stands for the lives that were over before the first stamp came. */
  static final long UNKNOWN = 0;

  private final Deque<EpochAccount> newestLast = new ArrayDeque<>();

  /** A life is over. */
  void add(EpochAccount life) {
    newestLast.removeIf(older -> !older.isOpen());
    if (!life.isOpen()) {
      return;
    }
    if (newestLast.size() == MAX_LIVES) {
      newestLast.removeFirst();
    }
    newestLast.addLast(life);
  }

  /** The life of this name; null when nothing of it may come. */
  @Nullable EpochAccount find(long epoch) {
    for (EpochAccount life : newestLast) {
      if (life.epoch == epoch && life.isOpen()) {
        return life;
      }
    }
    return null;
  }

  /** Charged in all of them, and not seen in a record yet. */
  long pendingTokens() {
    long pending = 0;
    for (EpochAccount life : newestLast) {
      pending = Saturating.add(pending, Math.max(0, life.pendingTokens()));
    }
    return pending;
  }

  /** Those of which every call is known, and some charges are missing. */
  List<EpochAccount> due(long watermarkMicros) {
    List<EpochAccount> due = new ArrayList<>();
    for (EpochAccount life : newestLast) {
      if (life.pendingTokens() > 0 && watermarkMicros > life.stampedAtMicros) {
        due.add(life);
      }
    }
    return due;
  }

  /** All, the newest last. */
  List<EpochAccount> all() {
    return List.copyOf(newestLast);
  }
}
