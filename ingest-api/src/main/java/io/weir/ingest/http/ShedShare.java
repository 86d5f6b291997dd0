// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

/**
 * What share of the calls is shed, learned from how long admitted calls wait for a thread. Pure:
 * every method is given the time, in nanoseconds of a clock that never goes back. Safe for threads.
 *
 * <p>A call that is taken in is {@link #queued}, and {@link #begun} when a thread has taken it up.
 * Once an {@linkplain #INTERVAL_NANOS interval} the share is set anew:
 *
 * <ul>
 *   <li>The <i>delay</i> of an interval is the least wait of a call begun in it, and that of a call
 *       that still waits when none was begun. The least, not the mean: a queue that is empty for a
 *       moment is only a burst, one that never is, stands (CoDel [1]).
 *   <li>Above the target in two intervals in a row, the share grows with the excess and with the
 *       growth of the delay, since a delay that grows by d seconds a second says by how much the
 *       calls exceed what can be served (a proportional-integral controller, as in PIE [2]).
 *   <li>At or below the target it shrinks: by the same rule, and by a twentieth of itself when the
 *       delay is below half of the target.
 * </ul>
 *
 * Example: a target of 10 ms, delays of 60 ms and then 160 ms: the share grows by 2 × 0.1 s + 2 ×
 * 0.15 s × 0.1 = 0.23. An interval without a delay later it is 0.95 of that or less.
 *
 * <p>[1] K. Nichols, V. Jacobson, Controlled Delay Active Queue Management, RFC 8289. [2] R. Pan et
 * al., Proportional Integral Controller Enhanced, RFC 8033, with other gains: there the senders
 * slow down by themselves, here they do not.
 */
final class ShedShare {
  /**
   * How often the share is set: several round trips of a call, and a tenth of what a caller sees.
   */
  static final long INTERVAL_NANOS = 100_000_000;

  /**
   * Most calls that are shed. Some are always served, so that callers make progress however many
   * they are, and so that the delay is seen to fall.
   */
  static final double MAX_SHARE = 0.95;

  /** Share per second of growth of the delay. */
  private static final double GAIN_GROWTH = 2;

  /** Share per second of excess, each second. */
  private static final double GAIN_EXCESS = 2;

  private static final double DECAY = 0.95;

  /** A share below this is none. */
  private static final double LEAST_SHARE = 0.01;

  /** After so many intervals of decay from the greatest share nothing is left. */
  private static final long INTERVALS_OF_DECAY = 90;

  private static final double NANOS_PER_SECOND = 1e9;
  private static final double INTERVAL_SECONDS = INTERVAL_NANOS / NANOS_PER_SECOND;

  private final long targetNanos;
  private long intervalBeganNanos;
  private long leastWaitNanos = Long.MAX_VALUE;
  private long delayNanos;
  private long waiting;
  private double share;

  /**
   * Sheds nothing yet.
   *
   * @param targetNanos the wait above which calls are shed, above 0
   * @param nowNanos the time
   */
  ShedShare(long targetNanos, long nowNanos) {
    if (targetNanos <= 0) {
      throw new IllegalArgumentException("targetNanos must be above 0, is " + targetNanos);
    }
    this.targetNanos = targetNanos;
    this.intervalBeganNanos = nowNanos;
  }

  /** A call has been taken in and waits for a thread. */
  synchronized void queued(long nowNanos) {
    roll(nowNanos);
    waiting++;
  }

  /** A thread has taken up a call that was queued {@code waitNanos} ago. */
  synchronized void begun(long waitNanos, long nowNanos) {
    waiting--;
    leastWaitNanos = Math.min(leastWaitNanos, waitNanos);
    roll(nowNanos);
  }

  /** The share of calls to be shed, 0 to {@value #MAX_SHARE}. */
  synchronized double share(long nowNanos) {
    roll(nowNanos);
    return share;
  }

  /** The delay of the last whole interval. */
  synchronized long delayNanos(long nowNanos) {
    roll(nowNanos);
    return delayNanos;
  }

  /** Calls that wait for a thread. */
  synchronized long waiting() {
    return waiting;
  }

  private void roll(long nowNanos) {
    long elapsedNanos = nowNanos - intervalBeganNanos;
    if (elapsedNanos < INTERVAL_NANOS) {
      return;
    }
    set(delayOf(elapsedNanos));
    leastWaitNanos = Long.MAX_VALUE;
    // intervals without a call: nothing waited in them
    long idle = waiting > 0 ? 0 : Math.min(elapsedNanos / INTERVAL_NANOS - 1, INTERVALS_OF_DECAY);
    for (long i = 0; i < idle; i++) {
      set(0);
    }
    intervalBeganNanos = nowNanos;
  }

  private long delayOf(long elapsedNanos) {
    if (leastWaitNanos < Long.MAX_VALUE) {
      return leastWaitNanos;
    }
    return waiting > 0 ? delayNanos + elapsedNanos : 0;
  }

  private void set(long newDelayNanos) {
    share = next(share, delayNanos, newDelayNanos);
    delayNanos = newDelayNanos;
  }

  private double next(double last, long lastDelayNanos, long newDelayNanos) {
    double change =
        GAIN_GROWTH * (newDelayNanos - lastDelayNanos) / NANOS_PER_SECOND
            + GAIN_EXCESS * (newDelayNanos - targetNanos) / NANOS_PER_SECOND * INTERVAL_SECONDS;
    boolean above = newDelayNanos > targetNanos && lastDelayNanos > targetNanos;
    double next = last + (above ? change : Math.min(0, change));
    if (newDelayNanos < targetNanos / 2) {
      next = Math.min(next, last * DECAY);
    }
    return next < LEAST_SHARE ? 0 : Math.min(next, MAX_SHARE);
  }
}
