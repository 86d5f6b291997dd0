// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import java.util.HashMap;
import java.util.Map;

/**
 * Computes the share of calls to shed. The share depends on the time that admitted calls wait for a
 * thread. This class reads no clock: callers pass the time, in nanoseconds of a monotonic clock.
 * Thread-safe.
 *
 * <p>The admission reports each call that is {@link #queued}, and each call that is {@link #begun}
 * by a thread. The share is computed again in each {@linkplain #INTERVAL_NANOS interval}:
 *
 * <ul>
 *   <li>The <i>delay</i> of an interval is the shortest wait of the calls that began in the
 *       interval. If calls wait but no call began, the delay grows by the length of the interval.
 *       If there are several queues, the longest delay applies. The shortest wait distinguishes two
 *       cases (CoDel [1]). After a burst, the queue is empty for a moment. A standing queue is
 *       never empty.
 *   <li>If the delay exceeds the target in two consecutive intervals, the share grows in proportion
 *       to the excess and to the growth of the delay. The growth of the delay, in seconds per
 *       second, shows by how much the load exceeds the capacity. This class is a
 *       proportional-integral controller like PIE [2].
 *   <li>In all other intervals, the controller can only reduce the share. If the delay is below
 *       half the target, the share shrinks by at least a twentieth.
 * </ul>
 *
 * <p>Example: the target is 10 ms, and the delays are 60 ms and then 160 ms. The share grows by 2 ×
 * 0.1 s + 2 × 0.15 s × 0.1 = 0.23. After a further interval without a delay, the share is at most
 * 0.95 × 0.23.
 *
 * <p>[1] K. Nichols, V. Jacobson, Controlled Delay Active Queue Management, RFC 8289. [2] R. Pan et
 * al., Proportional Integral Controller Enhanced, RFC 8033. The gains differ from those of PIE: TCP
 * senders slow down by themselves, but callers of Weir do not.
 */
final class QueueDelayShedder {
  /**
   * Length of an interval, which is longer than several round trips of a call. A person does not
   * notice a wait of this length.
   */
  static final long INTERVAL_NANOS = 100_000_000;

  /**
   * Maximum share of calls that are shed. Some calls must be served: otherwise callers would make
   * no progress, and this class could not measure a falling delay.
   */
  static final double MAX_SHARE = 0.95;

  /** Growth of the share when the delay grows by one second. */
  private static final double GAIN_GROWTH = 2;

  /** Growth of the share in one second while the delay exceeds the target by one second. */
  private static final double GAIN_EXCESS = 2;

  private static final double DECAY = 0.95;

  /** Minimum share of shed calls. A share below this minimum is set to zero. */
  private static final double LEAST_SHARE = 0.01;

  /** Number of intervals in which even the largest share decays to zero. */
  private static final long INTERVALS_OF_DECAY = 90;

  private static final double NANOS_PER_SECOND = 1e9;
  private static final double INTERVAL_SECONDS = INTERVAL_NANOS / NANOS_PER_SECOND;

  /** The queue of calls that wait for a thread. */
  private static final Object CALLS = new Object();

  private final long targetNanos;
  private long intervalBeganNanos;

  /** The shortest wait in this interval, for each queue with a wait. */
  private final Map<Object, Long> leastWaitsNanos = new HashMap<>();

  private long delayNanos;
  private long waiting;
  private double share;

  /**
   * Creates a shedder with a share of 0.
   *
   * @param targetNanos the target of the delay, above 0; if the delay is longer, calls are shed
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
   * Records how long responses waited for the thread that writes them.
   *
   * @param queue the identity of the thread
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
    // in intervals without calls the delay was 0
    long idle = waiting > 0 ? 0 : Math.min(elapsedNanos / INTERVAL_NANOS - 1, INTERVALS_OF_DECAY);
    for (long i = 0; i < idle; i++) {
      set(0);
    }
    intervalBeganNanos = nowNanos;
  }

  private long delayOf(long elapsedNanos) {
    // an empty queue must not hide the delay of another queue
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
