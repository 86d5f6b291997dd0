// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import java.util.HashMap;
import java.util.Map;

/**
 * Computes the share of calls to shed from the time that admitted calls wait for a thread. Pure:
 * every method receives the time, in nanoseconds of a monotonic clock. Thread-safe.
 *
 * <p>An admitted call is {@link #queued}, then {@link #begun} when a thread runs it. Once per
 * {@linkplain #INTERVAL_NANOS interval} the share is computed again:
 *
 * <ul>
 *   <li>The <i>delay</i> of an interval is the shortest wait of a call that began in it or, if none
 *       began, the wait of a call that still waits. Of several queues the longest delay counts. The
 *       minimum, not the mean: a queue that is empty for a moment is only a burst; one that is
 *       never empty is a standing queue (CoDel [1]).
 *   <li>If the delay exceeds the target in two consecutive intervals, the share grows with the
 *       excess and with the growth of the delay. A delay that grows by d seconds per second shows
 *       by how much the calls exceed the capacity (a proportional-integral controller, as in PIE
 *       [2]).
 *   <li>If the delay does not exceed the target, the share shrinks by the same rule, and by another
 *       twentieth of itself if the delay is below half the target.
 * </ul>
 *
 * <p>Example: a target of 10 ms, delays of 60 ms and then 160 ms: the share grows by 2 × 0.1 s + 2
 * × 0.15 s × 0.1 = 0.23. After a further interval without a delay it is 0.95 of that or less.
 *
 * <p>[1] K. Nichols, V. Jacobson, Controlled Delay Active Queue Management, RFC 8289. [2] R. Pan et
 * al., Proportional Integral Controller Enhanced, RFC 8033. The gains differ, because senders there
 * slow down by themselves, and here they do not.
 */
final class QueueDelayShedder {
  /**
   * How often the share is computed: several round trips of a call, and a tenth of a wait that a
   * caller notices.
   */
  static final long INTERVAL_NANOS = 100_000_000;

  /**
   * Maximum share of calls that are shed. Some calls are always served, so that callers make
   * progress whatever their number, and a falling delay is noticed.
   */
  static final double MAX_SHARE = 0.95;

  /** How much the share grows for each second by which the delay has grown. */
  private static final double GAIN_GROWTH = 2;

  /** How much the share grows in a second for each second by which the delay exceeds the target. */
  private static final double GAIN_EXCESS = 2;

  private static final double DECAY = 0.95;

  /** A share below this counts as zero. */
  private static final double LEAST_SHARE = 0.01;

  /** After this many intervals of decay even the largest share has become zero. */
  private static final long INTERVALS_OF_DECAY = 90;

  private static final double NANOS_PER_SECOND = 1e9;
  private static final double INTERVAL_SECONDS = INTERVAL_NANOS / NANOS_PER_SECOND;

  /** The queue of calls that wait for a thread. */
  private static final Object CALLS = new Object();

  private final long targetNanos;
  private long intervalBeganNanos;

  /** The shortest wait in this interval, for each queue in which something waited. */
  private final Map<Object, Long> leastWaitsNanos = new HashMap<>();

  private long delayNanos;
  private long waiting;
  private double share;

  /**
   * Creates a share that does not shed yet.
   *
   * @param targetNanos wait above which calls are shed, above 0
   * @param nowNanos the current time
   */
  QueueDelayShedder(long targetNanos, long nowNanos) {
    if (targetNanos <= 0) {
      throw new IllegalArgumentException("targetNanos must be above 0, but is " + targetNanos);
    }
    this.targetNanos = targetNanos;
    this.intervalBeganNanos = nowNanos;
  }

  /** Records that a call was admitted and waits for a thread. */
  synchronized void queued(long nowNanos) {
    roll(nowNanos);
    waiting++;
  }

  /** Records that a thread runs a call that was queued {@code waitNanos} ago. */
  synchronized void begun(long waitNanos, long nowNanos) {
    waiting--;
    leastWaitsNanos.merge(CALLS, waitNanos, Math::min);
    roll(nowNanos);
  }

  /**
   * Records how long answers waited for the thread that writes them.
   *
   * @param queue identifies the thread among several
   */
  synchronized void waited(Object queue, long waitNanos, long nowNanos) {
    leastWaitsNanos.merge(queue, waitNanos, Math::min);
    roll(nowNanos);
  }

  /** Returns the share of calls to shed, 0 to {@value #MAX_SHARE}. */
  synchronized double share(long nowNanos) {
    roll(nowNanos);
    return share;
  }

  /** Returns the delay of the last complete interval. */
  synchronized long delayNanos(long nowNanos) {
    roll(nowNanos);
    return delayNanos;
  }

  /** Returns the number of calls that wait for a thread. */
  synchronized long waiting() {
    return waiting;
  }

  private void roll(long nowNanos) {
    long elapsedNanos = nowNanos - intervalBeganNanos;
    if (elapsedNanos < INTERVAL_NANOS) {
      return;
    }
    set(delayOf(elapsedNanos));
    leastWaitsNanos.clear();
    // intervals without calls, in which no call waited
    long idle = waiting > 0 ? 0 : Math.min(elapsedNanos / INTERVAL_NANOS - 1, INTERVALS_OF_DECAY);
    for (long i = 0; i < idle; i++) {
      set(0);
    }
    intervalBeganNanos = nowNanos;
  }

  private long delayOf(long elapsedNanos) {
    // a queue that is empty for a moment says nothing about the others
    long most = 0;
    for (long leastNanos : leastWaitsNanos.values()) {
      most = Math.max(most, leastNanos);
    }
    boolean isStuck = waiting > 0 && !leastWaitsNanos.containsKey(CALLS);
    return isStuck ? Math.max(most, delayNanos + elapsedNanos) : most;
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
