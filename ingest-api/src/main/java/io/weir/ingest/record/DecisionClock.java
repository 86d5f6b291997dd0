// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.clock.LocalClock;

/**
 * The decision cache's clock as this node knows it: the local clock plus the largest offset seen in
 * the last 10 to 20 seconds. Safe for threads.
 *
 * <p>An observation is the time the cache stamped on a decision, compared with the local time at
 * receipt. The decision was made before its receipt, so the difference is at most the true offset:
 * of such lower bounds the largest is the best, and the estimate never runs ahead of the cache. It
 * is forgotten after a while, so that a clock that was set back is followed. Before the first
 * observation the two clocks are taken as equal, and again when the local clock has been set by
 * more than {@value #STEP_MILLIS} ms since the last: what is known of a clock that was wrong says
 * nothing of the one that was set.
 */
public final class DecisionClock {
  /** How long an observation counts at least; it counts at most twice as long. */
  static final long WINDOW_MILLIS = 10_000;

  /** More than clocks drift from one observation to the next. */
  static final long STEP_MILLIS = 1_000;

  private static final long NONE = Long.MIN_VALUE;
  private static final long NANOS_PER_MILLI = 1_000_000;

  private final LocalClock local;
  // written without a guard: an observation lost to another thread's is no harm
  private volatile Offsets offsets = new Offsets(NONE, NONE, NONE);

  /** The clock on the wall less the one that never steps, when the offsets were learned. */
  private volatile long originMillis;

  /** A clock over this machine's. */
  public DecisionClock(LocalClock local) {
    this.local = local;
    this.originMillis = originMillis(local.nowEpochMillis());
  }

  /** A clock over the system's. */
  public static DecisionClock ofSystem() {
    return new DecisionClock(LocalClock.ofSystem());
  }

  /** Now, or a little before, by the decision cache's clock. */
  public long nowEpochMillis() {
    long localMillis = local.nowEpochMillis();
    return Math.max(0, localMillis + offsetMillis(localMillis));
  }

  /**
   * How far the cache's clock is ahead of this machine's, at least; negative when it is behind, 0
   * when it is not known.
   */
  public long offsetMillis() {
    return offsetMillis(local.nowEpochMillis());
  }

  private long offsetMillis(long localMillis) {
    return isStepped(originMillis(localMillis)) ? 0 : offsets.bestMillis();
  }

  /** Takes note of a time that the decision cache's clock has shown before now. */
  public void observe(long decidedAtEpochMillis) {
    long localMillis = local.nowEpochMillis();
    // one less, since both clocks were cut to whole milliseconds
    long offsetMillis = decidedAtEpochMillis - localMillis - 1;
    long origin = originMillis(localMillis);
    if (isStepped(origin)) {
      offsets = new Offsets(NONE, NONE, NONE);
    }
    originMillis = origin;
    Offsets seen = offsets;
    Offsets next = seen.with(offsetMillis, localMillis);
    if (!next.equals(seen)) {
      offsets = next;
    }
  }

  private long originMillis(long localMillis) {
    return localMillis - local.nowNanos() / NANOS_PER_MILLI;
  }

  private boolean isStepped(long nowOriginMillis) {
    return Math.abs(nowOriginMillis - originMillis) > STEP_MILLIS;
  }

  /**
   * The best offsets of this window and of the one before.
   *
   * @param windowEndLocalMillis local time at which this window ends
   * @param currentMillis best of this window
   * @param previousMillis best of the one before
   */
  private record Offsets(long windowEndLocalMillis, long currentMillis, long previousMillis) {
    Offsets with(long offsetMillis, long local) {
      // a local clock that was set back by much begins a new window, too
      boolean within =
          local < windowEndLocalMillis && local >= windowEndLocalMillis - 2 * WINDOW_MILLIS;
      if (within) {
        return offsetMillis <= currentMillis
            ? this
            : new Offsets(windowEndLocalMillis, offsetMillis, previousMillis);
      }
      boolean adjacent =
          local >= windowEndLocalMillis && local - WINDOW_MILLIS < windowEndLocalMillis;
      return new Offsets(local + WINDOW_MILLIS, offsetMillis, adjacent ? currentMillis : NONE);
    }

    long bestMillis() {
      long best = Math.max(currentMillis, previousMillis);
      return best == NONE ? 0 : best;
    }
  }
}
