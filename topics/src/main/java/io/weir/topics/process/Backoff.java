// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.process;

/**
 * An exponential back-off. The pause doubles with each failure, up to a maximum. Not thread-safe.
 */
public final class Backoff {
  private final long minMillis;
  private final long maxMillis;
  private long nextMillis;

  /**
   * Creates a back-off without failures.
   *
   * @param minMillis the first pause
   * @param maxMillis the longest pause
   */
  public Backoff(long minMillis, long maxMillis) {
    this.minMillis = minMillis;
    this.maxMillis = maxMillis;
    this.nextMillis = minMillis;
  }

  /** Records a failure, and returns the pause before the next attempt, in milliseconds. */
  public long failedMillis() {
    long pause = nextMillis;
    nextMillis = Math.min(maxMillis, 2 * pause);
    return pause;
  }

  /** Records a success. After the next failure, the pause is the first pause again. */
  public void reset() {
    nextMillis = minMillis;
  }
}
