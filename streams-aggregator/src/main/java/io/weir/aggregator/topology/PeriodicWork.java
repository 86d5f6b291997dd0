// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * The work of a partition between records, in bounded pieces: each kind of work runs at its own
 * interval while there is any, and nothing runs once all work that followed the last record is
 * done. Kafka Streams commits after every punctuation, whether or not it changed anything, so an
 * idle partition that ran none costs no transactions. Not thread-safe.
 */
final class PeriodicWork {
  /** How often {@link #run} is to be called while there is work, in milliseconds. */
  static final long TICK_MILLIS = 50;

  private final List<Kind> kinds = new ArrayList<>();

  /**
   * One kind of work. A kind may depend on the kinds added before it, never on those added after
   * it.
   */
  private static final class Kind {
    private final long intervalMillis;
    private final BooleanSupplier work;
    private long lastRunMillis = Long.MIN_VALUE;
    private boolean unfinished;

    /** Whether the work has been completed by a run that began after the last record. */
    private boolean done;

    private Kind(long intervalMillis, BooleanSupplier work) {
      this.intervalMillis = intervalMillis;
      this.work = work;
    }

    /** Returns whether the work is due; rounds to the nearest tick. */
    private boolean isDue(long nowMillis) {
      // a clock that was set back must not put the work off
      return lastRunMillis == Long.MIN_VALUE
          || nowMillis < lastRunMillis
          || nowMillis - lastRunMillis >= intervalMillis - TICK_MILLIS / 2;
    }

    private boolean run(long nowMillis) {
      lastRunMillis = nowMillis;
      boolean begunBefore = unfinished;
      unfinished = !work.getAsBoolean();
      done |= !unfinished && !begunBefore;
      return done;
    }
  }

  /**
   * Adds a kind of work, after those on which it depends.
   *
   * @param intervalMillis time between two pieces of the work, in milliseconds
   * @param work does one piece; returns true if nothing is left to do until the next record
   */
  PeriodicWork every(long intervalMillis, BooleanSupplier work) {
    kinds.add(new Kind(intervalMillis, work));
    return this;
  }

  /** Records that a record was taken, so that there may be work of each kind. */
  void recordTaken() {
    kinds.forEach(kind -> kind.done = false);
  }

  /**
   * Does the work that is due.
   *
   * @return whether all work is done, so that nothing needs to run until the next record
   */
  boolean run(long nowMillis) {
    boolean allDone = true;
    boolean allInOrder = true;
    for (Kind kind : kinds) {
      boolean wasDone = kind.done;
      if (kind.isDue(nowMillis)) {
        kind.run(nowMillis);
      }
      allInOrder &= kind.done && !wasDone;
      allDone &= kind.done;
    }
    return allInOrder || (allDone && isStillDone(nowMillis));
  }

  /**
   * Does one more piece of each kind, in order, and returns whether all are done: an earlier kind
   * may have been completed after a later one that depends on it.
   */
  private boolean isStillDone(long nowMillis) {
    boolean all = true;
    for (Kind kind : kinds) {
      kind.done = false;
      all &= kind.run(nowMillis);
    }
    return all;
  }
}
