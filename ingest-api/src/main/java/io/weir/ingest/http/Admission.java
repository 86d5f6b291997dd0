// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Decides whether to admit a call, before any other work for the call. Refuses a call if too many
 * calls are in progress. Also refuses the {@link QueueDelayShedder share} of calls to shed while
 * calls wait too long for a thread. An admitted call that needs a thread is {@link #queue queued},
 * and {@link #begin begins} when a thread runs it. Every admitted call ends with {@link #end}.
 * Thread-safe.
 */
final class Admission {
  private final int maxCallsUnderWay;
  private final @Nullable AdaptiveBound bound;
  private final @Nullable QueueDelayShedder share;
  private final LongSupplier nanos;
  private final DoubleSupplier random;
  private final AtomicInteger underWay = new AtomicInteger();

  /** Number of calls in progress that the adaptive bound limits. */
  private final AtomicInteger measured = new AtomicInteger();

  /**
   * Creates an admission.
   *
   * @param maxCallsUnderWay maximum number of calls in progress, at least 1
   * @param bound the bound that adapts to the latency of calls, up to that maximum; null if the
   *     bound is fixed
   * @param share computes the share to shed because of queue delay; null to disable such shedding
   * @param nanos the clock of {@code share}
   * @param random returns numbers from 0 (inclusive) to 1 (exclusive)
   */
  Admission(
      int maxCallsUnderWay,
      @Nullable AdaptiveBound bound,
      @Nullable QueueDelayShedder share,
      LongSupplier nanos,
      DoubleSupplier random) {
    if (maxCallsUnderWay < 1) {
      throw new IllegalArgumentException(
          "maxCallsUnderWay must be at least 1, but is " + maxCallsUnderWay);
    }
    this.maxCallsUnderWay = maxCallsUnderWay;
    this.bound = bound;
    this.share = share;
    this.nanos = nanos;
    this.random = random;
  }

  /**
   * Creates an admission that uses the system's clock. If {@code targetNanos} is 0, it does not
   * shed because of queue delay.
   */
  static Admission of(int maxCallsUnderWay, boolean adaptive, long targetNanos) {
    return new Admission(
        maxCallsUnderWay,
        adaptive ? new AdaptiveBound(maxCallsUnderWay) : null,
        targetNanos == 0 ? null : new QueueDelayShedder(targetNanos, System.nanoTime()),
        System::nanoTime,
        () -> ThreadLocalRandom.current().nextDouble());
  }

  /**
   * Requests admission of a call.
   *
   * @return null if the call is admitted; the caller must then call {@link #end}. Otherwise the
   *     reason why the call is shed
   */
  HttpStatistics.@Nullable Shed tryAdmit() {
    long now = nanos.getAsLong();
    if (share != null) {
      double shed = share.share(now);
      if (shed > 0 && random.getAsDouble() < shed) {
        return HttpStatistics.Shed.QUEUE_DELAY;
      }
    }
    if (underWay.incrementAndGet() > maxCallsUnderWay) {
      underWay.decrementAndGet();
      return HttpStatistics.Shed.CALLS_UNDER_WAY;
    }
    return null;
  }

  /**
   * Requests admission of a call, like {@link #tryAdmit}. The latency of the call changes the
   * adaptive bound.
   *
   * @return null if the call is admitted; the caller must then call {@link #end(long)}. Otherwise
   *     the reason why the call is shed
   */
  HttpStatistics.@Nullable Shed tryAdmitMeasured() {
    if (bound == null) {
      return tryAdmit();
    }
    if (measured.incrementAndGet() > bound.calls()) {
      measured.decrementAndGet();
      return HttpStatistics.Shed.CALLS_UNDER_WAY;
    }
    HttpStatistics.Shed refusal = tryAdmit();
    if (refusal != null) {
      measured.decrementAndGet();
    }
    return refusal;
  }

  /**
   * Records that an admitted call waits for a thread.
   *
   * @return the current time, to be passed to {@link #begin}
   */
  long queue() {
    long now = nanos.getAsLong();
    if (share != null) {
      share.queued(now);
    }
    return now;
  }

  /**
   * Records that a thread runs a call that waited.
   *
   * @param queuedNanos the result of {@link #queue}
   */
  void begin(long queuedNanos) {
    if (share != null) {
      long now = nanos.getAsLong();
      share.begun(now - queuedNanos, now);
    }
  }

  /**
   * Records how long responses waited for the thread that writes them. There are several such
   * threads, each with a queue.
   */
  void waited(Object queue, long waitNanos) {
    if (share != null) {
      share.waited(queue, waitNanos, nanos.getAsLong());
    }
  }

  /** Records that an admitted call was answered or failed. */
  void end() {
    underWay.decrementAndGet();
  }

  /**
   * Records that a measured call was answered or failed, and its latency.
   *
   * @param beganNanos time of admission, by the clock of this object
   */
  void end(long beganNanos) {
    underWay.decrementAndGet();
    if (bound != null) {
      int with = measured.getAndDecrement();
      bound.took(beganNanos, Math.max(1, nanos.getAsLong() - beganNanos), with);
    }
  }

  int underWay() {
    return underWay.get();
  }

  /** Returns the current maximum number of calls in progress. */
  int maxCallsUnderWay() {
    return bound == null ? maxCallsUnderWay : bound.calls();
  }

  /** Returns the current share of calls to shed. */
  double share() {
    return share == null ? 0 : share.share(nanos.getAsLong());
  }

  /**
   * Returns the shortest recent wait of a call for a thread, in nanoseconds; 0 if it is not
   * measured.
   */
  long queueDelayNanos() {
    return share == null ? 0 : share.delayNanos(nanos.getAsLong());
  }
}
