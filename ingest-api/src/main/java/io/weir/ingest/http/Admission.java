// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Decides whether a call is admitted, before any work is done for it. A call is refused if too many
 * calls are in progress or, while calls wait long for a thread, if it belongs to the {@link
 * QueueDelayShedder share} that is shed. An admitted call that needs a thread is {@link #queue
 * queued} and {@link #begin begins} when one takes it up; each ends with {@link #end}. Thread-safe.
 */
final class Admission {
  private final int maxCallsUnderWay;
  private final @Nullable AdaptiveBound bound;
  private final @Nullable QueueDelayShedder share;
  private final LongSupplier nanos;
  private final DoubleSupplier random;
  private final AtomicInteger underWay = new AtomicInteger();

  /** Those of them that are compared with the adaptive bound. */
  private final AtomicInteger compared = new AtomicInteger();

  /**
   * Creates an admission.
   *
   * @param maxCallsUnderWay most calls in progress, at least 1
   * @param bound follows how long calls take, up to that; null if the bound is fixed
   * @param share sheds by queue delay; null if that is disabled
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
          "maxCallsUnderWay must be at least 1, is " + maxCallsUnderWay);
    }
    this.maxCallsUnderWay = maxCallsUnderWay;
    this.bound = bound;
    this.share = share;
    this.nanos = nanos;
    this.random = random;
  }

  /**
   * Creates an admission that uses the system's clock. With {@code targetNanos} 0 it never sheds by
   * queue delay.
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
   * @return null if the call is admitted, in which case {@link #end} must follow; otherwise why it
   *     is shed
   */
  HttpStatistics.@Nullable Shed ask() {
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
   * Requests admission of a call that is compared with others of its kind, as {@link #ask} does.
   *
   * @return null if the call is admitted, in which case {@link #end(long)} must follow; otherwise
   *     why it is shed
   */
  HttpStatistics.@Nullable Shed askCompared() {
    if (bound == null) {
      return ask();
    }
    if (compared.incrementAndGet() > bound.calls()) {
      compared.decrementAndGet();
      return HttpStatistics.Shed.CALLS_UNDER_WAY;
    }
    HttpStatistics.Shed refusal = ask();
    if (refusal != null) {
      compared.decrementAndGet();
    }
    return refusal;
  }

  /**
   * Records that an admitted call waits for a thread.
   *
   * @return now, to be passed to {@link #begin}
   */
  long queue() {
    long now = nanos.getAsLong();
    if (share != null) {
      share.queued(now);
    }
    return now;
  }

  /**
   * Records that a thread has taken up a call.
   *
   * @param queuedNanos what {@link #queue} returned
   */
  void begin(long queuedNanos) {
    if (share != null) {
      long now = nanos.getAsLong();
      share.begun(now - queuedNanos, now);
    }
  }

  /** Records how long answers have waited for the thread that writes them, one of several. */
  void waited(Object queue, long waitNanos) {
    if (share != null) {
      share.waited(queue, waitNanos, nanos.getAsLong());
    }
  }

  /** Records that an admitted call was answered or has failed. */
  void end() {
    underWay.decrementAndGet();
  }

  /**
   * Records that a call that was compared was answered or has failed, and how long that took.
   *
   * @param beganNanos when it was admitted, by the clock of this admission
   */
  void end(long beganNanos) {
    underWay.decrementAndGet();
    if (bound != null) {
      int with = compared.getAndDecrement();
      bound.took(beganNanos, Math.max(1, nanos.getAsLong() - beganNanos), with);
    }
  }

  int underWay() {
    return underWay.get();
  }

  /** Returns the most calls in progress at present. */
  int maxCallsUnderWay() {
    return bound == null ? maxCallsUnderWay : bound.calls();
  }

  /** Returns the share of calls that are shed at present. */
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
