// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.clock.LocalClock;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * An estimate of the decision cache's clock: the local clock plus the largest offset observed in
 * the last 10 to 20 seconds. If the cache has several servers, each server gives its decisions the
 * time of its own clock. The estimate then follows the slowest clock, so that no decision has an
 * earlier time than the estimate. Thread-safe.
 *
 * <p>An observation compares the time that the cache assigned to a decision with the local time at
 * which the node received it. The cache decided before the node received the decision, so the
 * difference is at most the true offset. The largest difference is therefore the best lower bound,
 * and the estimate is never ahead of the cache. Observations expire, so that the estimate follows a
 * cache clock that was set back. Before the first observation the offset is assumed to be zero.
 * After a step of the local clock by more than {@value #STEP_MILLIS} ms, earlier offsets are
 * invalid; the estimate discards them.
 */
public final class DecisionClock {
  /** Minimum lifetime of an observation. The maximum lifetime is twice this value. */
  static final long WINDOW_MILLIS = 10_000;

  /**
   * Maximum change of the local clock between two observations that counts as drift. A larger
   * change is a clock step.
   */
  static final long STEP_MILLIS = 1_000;

  private static final long NONE = Long.MIN_VALUE;

  /** The key of observations that do not name a server. */
  private static final String ANY_SERVER = "";

  private static final Offsets NOTHING = new Offsets(NONE, NONE, NONE);
  private static final long NANOS_PER_MILLI = 1_000_000;

  private final LocalClock local;
  // Written without a lock, because the loss of one of two concurrent observations does no harm.
  private final Map<String, Offsets> offsets = new ConcurrentHashMap<>();

  /** Local wall clock minus local monotonic clock at the last observation. */
  private volatile long originMillis;

  /** Creates an estimate based on the given local clock. */
  public DecisionClock(LocalClock local) {
    this.local = local;
    this.originMillis = originMillis(local.nowEpochMillis());
  }

  /** Creates an estimate based on the system's clock. */
  public static DecisionClock ofSystem() {
    return new DecisionClock(LocalClock.ofSystem());
  }

  /**
   * Returns the current time, or slightly less, by the decision cache's clock, in milliseconds
   * since the epoch.
   */
  public long nowEpochMillis() {
    long localMillis = local.nowEpochMillis();
    return Math.max(0, localMillis + offsetMillis(localMillis));
  }

  /**
   * Returns the minimum number of milliseconds by which the cache's clock is ahead of the local
   * clock; negative when it is behind, 0 when unknown.
   */
  public long offsetMillis() {
    return offsetMillis(local.nowEpochMillis());
  }

  private long offsetMillis(long localMillis) {
    return isStepped(originMillis(localMillis)) ? 0 : slowestMillis(localMillis);
  }

  private long slowestMillis(long localMillis) {
    long slowest = NONE;
    boolean isAnyRecent = false;
    for (Offsets each : offsets.values()) {
      boolean isRecent = each.isRecent(localMillis);
      if (isRecent == isAnyRecent) {
        slowest = slowest == NONE ? each.bestMillis() : Math.min(slowest, each.bestMillis());
      } else if (isRecent) {
        // ignore servers without a recent observation if another server has a recent observation
        isAnyRecent = true;
        slowest = each.bestMillis();
      }
    }
    return slowest == NONE ? 0 : slowest;
  }

  /**
   * Records a past time of the cache's clock, in milliseconds since the epoch. Has no effect if the
   * cache has several servers, because the time does not name its server.
   */
  public void observe(long decidedAtEpochMillis) {
    Iterator<String> known = offsets.keySet().iterator();
    String only = known.hasNext() ? known.next() : ANY_SERVER;
    if (!known.hasNext()) {
      observe(only, decidedAtEpochMillis);
    }
  }

  /** Records a past time of one cache server's clock, in milliseconds since the epoch. */
  public void observe(String server, long decidedAtEpochMillis) {
    long localMillis = local.nowEpochMillis();
    // subtract one, because both clocks are truncated to whole milliseconds
    long offsetMillis = decidedAtEpochMillis - localMillis - 1;
    long origin = originMillis(localMillis);
    if (isStepped(origin)) {
      offsets.clear();
    }
    originMillis = origin;
    if (!server.equals(ANY_SERVER)) {
      offsets.remove(ANY_SERVER);
    }
    Offsets seen = offsets.getOrDefault(server, NOTHING);
    Offsets next = seen.with(offsetMillis, localMillis);
    if (!next.equals(seen)) {
      offsets.put(server, next);
    }
  }

  private long originMillis(long localMillis) {
    return localMillis - local.nowNanos() / NANOS_PER_MILLI;
  }

  private boolean isStepped(long nowOriginMillis) {
    return Math.abs(nowOriginMillis - originMillis) > STEP_MILLIS;
  }

  /**
   * The largest offsets of the current and the previous window.
   *
   * @param windowEndLocalMillis local time at which the current window ends
   * @param currentMillis largest offset of the current window
   * @param previousMillis largest offset of the previous window
   */
  private record Offsets(long windowEndLocalMillis, long currentMillis, long previousMillis) {
    Offsets with(long offsetMillis, long local) {
      // a local clock that was set back by a large step also begins a new window
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

    /** Returns whether the observation is at most two windows old. */
    boolean isRecent(long local) {
      return local < windowEndLocalMillis + WINDOW_MILLIS;
    }

    long bestMillis() {
      long best = Math.max(currentMillis, previousMillis);
      return best == NONE ? 0 : best;
    }
  }
}
