// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

/** Pauses that double from one failure to the next, up to a bound. Not thread-safe. */
final class Backoff {
  private final long minMillis;
  private final long maxMillis;
  private long nextMillis;

  Backoff(long minMillis, long maxMillis) {
    this.minMillis = minMillis;
    this.maxMillis = maxMillis;
    this.nextMillis = minMillis;
  }

  /** Returns the pause after one more failure, in milliseconds. */
  long failedMillis() {
    long pause = nextMillis;
    nextMillis = Math.min(maxMillis, 2 * pause);
    return pause;
  }

  /** Returns to the first pause, after a success. */
  void reset() {
    nextMillis = minMillis;
  }
}
