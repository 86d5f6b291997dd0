// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.clock.LocalClock;

/** Says when something that lasts is logged again: the first time at once. Not safe for threads. */
final class LogPace {
  private final LocalClock clock;
  private final long pauseNanos;
  private long loggedNanos;

  /**
   * A pace.
   *
   * @param pauseNanos least time between two lines
   */
  LogPace(LocalClock clock, long pauseNanos) {
    this.clock = clock;
    this.pauseNanos = pauseNanos;
    this.loggedNanos = clock.nowNanos() - pauseNanos;
  }

  /** Whether a line is to be written now; if so, the next one is due after the pause. */
  boolean isDue() {
    long nowNanos = clock.nowNanos();
    boolean due = nowNanos - loggedNanos >= pauseNanos;
    if (due) {
      loggedNanos = nowNanos;
    }
    return due;
  }
}
