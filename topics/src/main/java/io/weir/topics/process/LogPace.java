// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.process;

import java.util.function.LongSupplier;

/**
 * Limits how often a lasting condition is logged. The first log line is immediate. Not thread-safe.
 */
public final class LogPace {
  private final LongSupplier nanoTime;
  private final long pauseNanos;
  private long loggedNanos;

  /**
   * Creates a limit that has not logged a line yet.
   *
   * @param nanoTime returns nanoseconds of a monotonic clock
   * @param pauseNanos minimum time between two log lines, in nanoseconds
   */
  public LogPace(LongSupplier nanoTime, long pauseNanos) {
    this.nanoTime = nanoTime;
    this.pauseNanos = pauseNanos;
    this.loggedNanos = nanoTime.getAsLong() - pauseNanos;
  }

  /**
   * Returns whether a log line is due now. If a line is due now, the next line is due after the
   * pause.
   */
  public boolean isDue() {
    long nowNanos = nanoTime.getAsLong();
    boolean due = nowNanos - loggedNanos >= pauseNanos;
    if (due) {
      loggedNanos = nowNanos;
    }
    return due;
  }
}
