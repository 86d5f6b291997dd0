// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * The work of a partition between records, in short steps. Each kind of work runs at its own
 * interval until the work after the last record is complete. The caller must then end the
 * punctuations, because Kafka Streams commits a transaction after each punctuation, even if nothing
 * has changed. Not thread-safe.
 */
final class PeriodicWork {
  /** Interval at which the caller must call {@link #run} until it returns true, in milliseconds. */
  static final long TICK_MILLIS = 50;

  private final List<Kind> kinds = new ArrayList<>();

  /** One kind of work. A kind may depend only on kinds that were added earlier. */
  private static final class Kind {
    private final long intervalMillis;
    private final BooleanSupplier work;
    private long lastRunMillis = Long.MIN_VALUE;
    private boolean unfinished;

    /** Whether a run that began after the last record has completed the work. */
    private boolean done;

    private Kind(long intervalMillis, BooleanSupplier work) {
      this.intervalMillis = intervalMillis;
      this.work = work;
    }

    /** Returns whether the work is due. Rounds the interval to the nearest tick. */
    private boolean isDue(long nowMillis) {
      // the second condition is true if the clock was set back, which must not delay the work
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
   * Adds a kind of work. The kinds on which the new kind depends must be added first.
   *
   * @param intervalMillis time between two steps of the work, in milliseconds
   * @param work does one step; returns true if the work is complete until the next record
   */
  PeriodicWork every(long intervalMillis, BooleanSupplier work) {
    kinds.add(new Kind(intervalMillis, work));
    return this;
  }

  /** Marks all kinds as incomplete, because a record was counted. */
  void recordTaken() {
    kinds.forEach(kind -> kind.done = false);
  }

  /**
   * Does one step of each kind of work that is due.
   *
   * @return whether all work is complete until the next record
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
   * Does one more step of each kind, in order, and returns whether all kinds are complete. The step
   * is necessary because a kind may have been completed before a kind on which it depends.
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
