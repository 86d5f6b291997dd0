// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.clock.LocalClock;

/**
 * Limits how often a lasting condition is logged. The first log line is immediate. Not thread-safe.
 */
final class LogPace {
  private final LocalClock clock;
  private final long pauseNanos;
  private long loggedNanos;

  /**
   * Creates a limit without a logged line.
   *
   * @param pauseNanos minimum time between two log lines, in nanoseconds
   */
  LogPace(LocalClock clock, long pauseNanos) {
    this.clock = clock;
    this.pauseNanos = pauseNanos;
    this.loggedNanos = clock.nowNanos() - pauseNanos;
  }

  /** Returns whether a log line is due now. If so, the next line is due after the pause. */
  boolean isDue() {
    long nowNanos = clock.nowNanos();
    boolean due = nowNanos - loggedNanos >= pauseNanos;
    if (due) {
      loggedNanos = nowNanos;
    }
    return due;
  }
}
