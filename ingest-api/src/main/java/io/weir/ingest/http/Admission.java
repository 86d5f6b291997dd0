// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.weir.ingest.http.HttpStatistics.Shed;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Decides whether to admit a request, before any other work for the request. Refuses a request if
 * too many requests of its {@link Kind} are in progress. While calls wait too long for a thread,
 * also refuses a {@linkplain QueueDelayShedder share} of the calls. An admitted call that needs a
 * thread is {@link #queue queued}, and {@link #begin begins} when a thread runs the call. Every
 * admitted request ends with {@link #end}. Thread-safe.
 */
final class Admission {
  /** Maximum number of concurrent batches. The body of a batch has up to 1 MiB. */
  private static final int MAX_BATCHES = 64;

  /** Maximum number of concurrent scrapes. One scrape takes the CPU time of many calls. */
  private static final int MAX_SCRAPES = 4;

  private final int maxCallsUnderWay;
  private final @Nullable AdaptiveBound bound;
  private final @Nullable QueueDelayShedder share;
  private final LongSupplier nanos;
  private final DoubleSupplier random;
  private final AtomicInteger underWay = new AtomicInteger();

  /** Number of calls in progress that count towards the adaptive bound. */
  private final AtomicInteger measured = new AtomicInteger();

  private final Semaphore onThreads;
  private final Semaphore batches = new Semaphore(MAX_BATCHES);
  private final Semaphore scrapes = new Semaphore(MAX_SCRAPES);

  /** The kinds of requests. Each kind has a bound. */
  enum Kind {
    /** A call that occupies no thread, and whose latency changes the adaptive bound. */
    CALL,
    /**
     * A call that occupies a thread. Calls on threads vary too much in duration for the adaptive
     * bound.
     */
    CALL_ON_THREAD,
    /** A batch, which occupies a thread. */
    BATCH,
    /** A request for metrics. Scrapes have a separate bound, and do not count as calls. */
    SCRAPE
  }

  /**
   * Creates an admission.
   *
   * @param maxCallsUnderWay maximum number of calls in progress, at least 1
   * @param maxOnThreads maximum number of calls in progress that occupy a thread
   * @param bound the bound that adapts to the latency of calls, at most {@code maxCallsUnderWay};
   *     null for a fixed bound
   * @param share computes the share of calls to shed because of queue delay; null for no such
   *     shedding
   * @param nanos the clock of {@code share}
   * @param random returns numbers from 0 (inclusive) to 1 (exclusive)
   */
  Admission(
      int maxCallsUnderWay,
      int maxOnThreads,
      @Nullable AdaptiveBound bound,
      @Nullable QueueDelayShedder share,
      LongSupplier nanos,
      DoubleSupplier random) {
    if (maxCallsUnderWay < 1) {
      throw new IllegalArgumentException(
          "maxCallsUnderWay must be at least 1, but is " + maxCallsUnderWay);
    }
    this.maxCallsUnderWay = maxCallsUnderWay;
    this.onThreads = new Semaphore(maxOnThreads);
    this.bound = bound;
    this.share = share;
    this.nanos = nanos;
    this.random = random;
  }

  /**
   * Creates an admission that uses the system's clock. If the setting {@code queueDelayTarget} is
   * 0, no call is shed because of queue delay.
   */
  static Admission of(HttpSettings settings) {
    int maxCallsUnderWay = settings.maxCallsUnderWay();
    long targetNanos = settings.queueDelayTarget().toNanos();
    return new Admission(
        maxCallsUnderWay,
        settings.callsOnThreads(),
        settings.adaptiveBound() ? new AdaptiveBound(maxCallsUnderWay) : null,
        targetNanos == 0 ? null : new QueueDelayShedder(targetNanos, System.nanoTime()),
        System::nanoTime,
        () -> ThreadLocalRandom.current().nextDouble());
  }

  /**
   * Requests admission of a request.
   *
   * @return null if the request is admitted, otherwise the reason why the request is shed. After an
   *     admission the caller must later call {@link #end}
   */
  @Nullable Shed tryAdmit(Kind kind) {
    Shed refusal = tryTakePlace(kind);
    if (refusal == null && kind != Kind.SCRAPE) {
      refusal = tryTakePlaceOfCalls();
      if (refusal != null) {
        freePlace(kind);
      }
    }
    return refusal;
  }

  /**
   * Takes a place among the requests of a kind. If no place is free, returns the exhausted bound.
   */
  private @Nullable Shed tryTakePlace(Kind kind) {
    if (kind == Kind.SCRAPE) {
      return scrapes.tryAcquire() ? null : Shed.SCRAPES;
    }
    if (kind == Kind.CALL) {
      if (bound == null || measured.incrementAndGet() <= bound.calls()) {
        return null;
      }
      measured.decrementAndGet();
      return Shed.CALLS_UNDER_WAY;
    }
    if (kind == Kind.BATCH && !batches.tryAcquire()) {
      return Shed.BATCHES;
    }
    if (onThreads.tryAcquire()) {
      return null;
    }
    if (kind == Kind.BATCH) {
      batches.release();
    }
    return Shed.CALLS_UNDER_WAY;
  }

  private void freePlace(Kind kind) {
    switch (kind) {
      case CALL -> {
        if (bound != null) {
          measured.decrementAndGet();
        }
      }
      case CALL_ON_THREAD -> onThreads.release();
      case BATCH -> {
        onThreads.release();
        batches.release();
      }
      case SCRAPE -> scrapes.release();
    }
  }

  /** Takes a place among all calls, or returns the reason to shed the call. */
  private @Nullable Shed tryTakePlaceOfCalls() {
    if (share != null) {
      double shed = share.share(nanos.getAsLong());
      if (shed > 0 && random.getAsDouble() < shed) {
        return Shed.QUEUE_DELAY;
      }
    }
    if (underWay.incrementAndGet() > maxCallsUnderWay) {
      underWay.decrementAndGet();
      return Shed.CALLS_UNDER_WAY;
    }
    return null;
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
   * Records how long responses waited for a thread that writes responses. Each of these threads has
   * its own queue.
   */
  void waited(Object queue, long waitNanos) {
    if (share != null) {
      share.waited(queue, waitNanos, nanos.getAsLong());
    }
  }

  /**
   * Records that an admitted request was answered or failed.
   *
   * @param beganNanos time of admission, by the clock of this object
   */
  void end(Kind kind, long beganNanos) {
    if (kind == Kind.CALL && bound != null) {
      bound.took(beganNanos, Math.max(1, nanos.getAsLong() - beganNanos), measured.get());
    }
    if (kind != Kind.SCRAPE) {
      underWay.decrementAndGet();
    }
    freePlace(kind);
  }

  /** Returns the number of calls in progress. */
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
   * Returns the shortest recent wait of a call for a thread, in nanoseconds; 0 if the waits are not
   * measured.
   */
  long queueDelayNanos() {
    return share == null ? 0 : share.delayNanos(nanos.getAsLong());
  }
}
