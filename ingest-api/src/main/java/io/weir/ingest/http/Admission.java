// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Decides whether a call is taken in, before anything is done for it: while fewer than a number of
 * calls are under way, and, when calls wait long for a thread, for a {@link ShedShare share} of
 * them not. A call that is taken in {@link #begin begins} when a thread has taken it up, and ends
 * with {@link #end}. Safe for threads.
 */
final class Admission {
  private final int maxCallsUnderWay;
  private final @Nullable ShedShare share;
  private final LongSupplier nanos;
  private final DoubleSupplier random;
  private final AtomicInteger underWay = new AtomicInteger();

  /**
   * Admits calls.
   *
   * @param maxCallsUnderWay most calls under way, at least 1
   * @param share sheds by queue delay; null when that is never done
   * @param nanos the clock of {@code share}
   * @param random 0 (inclusive) to 1 (exclusive)
   */
  Admission(
      int maxCallsUnderWay, @Nullable ShedShare share, LongSupplier nanos, DoubleSupplier random) {
    if (maxCallsUnderWay < 1) {
      throw new IllegalArgumentException(
          "maxCallsUnderWay must be at least 1, is " + maxCallsUnderWay);
    }
    this.maxCallsUnderWay = maxCallsUnderWay;
    this.share = share;
    this.nanos = nanos;
    this.random = random;
  }

  /** Admits by the system's clock; {@code targetNanos} 0 never sheds by queue delay. */
  static Admission of(int maxCallsUnderWay, long targetNanos) {
    return new Admission(
        maxCallsUnderWay,
        targetNanos == 0 ? null : new ShedShare(targetNanos, System.nanoTime()),
        System::nanoTime,
        () -> ThreadLocalRandom.current().nextDouble());
  }

  /**
   * Asks for a call.
   *
   * @return null when it is taken in, then {@link #begin} and {@link #end} must follow
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
    if (share != null) {
      share.queued(now);
    }
    return null;
  }

  /**
   * A thread has taken up a call that was taken in.
   *
   * @param queuedNanos {@link #now} when it was queued
   */
  void begin(long queuedNanos) {
    if (share != null) {
      long now = nanos.getAsLong();
      share.begun(now - queuedNanos, now);
    }
  }

  /** A call that was taken in is answered, or has failed. */
  void end() {
    underWay.decrementAndGet();
  }

  long now() {
    return nanos.getAsLong();
  }

  int underWay() {
    return underWay.get();
  }

  int maxCallsUnderWay() {
    return maxCallsUnderWay;
  }

  /** The share of calls that are shed now. */
  double share() {
    return share == null ? 0 : share.share(nanos.getAsLong());
  }

  /** How long calls wait for a thread, at least; 0 when that is not looked at. */
  long queueDelayNanos() {
    return share == null ? 0 : share.delayNanos(nanos.getAsLong());
  }
}
