// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * What a partition does between records, in bounded pieces: each kind of work at its own interval
 * while there is any, and nothing at all once everything that followed the last record is done.
 * Kafka Streams commits after every punctuation, whether it did anything or not, so that a
 * partition that rests costs no transactions. Not safe for threads.
 */
final class PeriodicWork {
  /** How often {@link #run} is to be called while there is work. */
  static final long TICK_MILLIS = 50;

  private final List<Kind> kinds = new ArrayList<>();

  /** One kind of work; what a later one does may depend on an earlier one, not the reverse. */
  private static final class Kind {
    private final long intervalMillis;
    private final BooleanSupplier work;
    private long lastRunMillis = Long.MIN_VALUE;
    private boolean unfinished;

    /** Whether it was run to its end, begun after the last record. */
    private boolean done;

    private Kind(long intervalMillis, BooleanSupplier work) {
      this.intervalMillis = intervalMillis;
      this.work = work;
    }

    /** Half a tick early rather than half a tick late. */
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
   * Adds a kind of work, behind those that it depends on.
   *
   * @param intervalMillis between two pieces of it
   * @param work does a piece; true when nothing is left to do until the next record
   */
  PeriodicWork every(long intervalMillis, BooleanSupplier work) {
    kinds.add(new Kind(intervalMillis, work));
    return this;
  }

  /** A record was taken: there may be work of each kind. */
  void recordTaken() {
    kinds.forEach(kind -> kind.done = false);
  }

  /**
   * Does what is due.
   *
   * @return whether all is done, so that nothing need be run until the next record
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

  /** One more piece of each, in order: an earlier kind may have been done after a later one. */
  private boolean isStillDone(long nowMillis) {
    boolean all = true;
    for (Kind kind : kinds) {
      kind.done = false;
      all &= kind.run(nowMillis);
    }
    return all;
  }
}
