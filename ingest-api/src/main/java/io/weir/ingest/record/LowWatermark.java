// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.gate.Ticket;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * The low watermark: a time before which no call is in progress. Thread-safe, lock-free.
 *
 * <p>Calls in progress are counted in a ring of {@value #BUCKETS} buckets of {@value
 * #BUCKET_MILLIS} ms, by the time at which they began. The watermark is the start of the oldest
 * bucket that holds a call, or else of the current bucket. Example: it is 12:00:05.250 and a call
 * that began at 12:00:03.480 is in progress; the watermark is 12:00:03.400. When that call ends, it
 * is 12:00:05.200.
 *
 * <p>A call in progress for longer than the ring's span (102 s) no longer holds the watermark back.
 * If it is recorded later, it is late, and an adjustment counts it.
 */
final class LowWatermark {
  /*
   * Why no call slips through: begin() first counts itself, then reads the candidate; advance()
   * first writes the candidate, then reads the counters. All four are volatile, so they have one
   * order. Either begin() sees the candidate and moves to a bucket that is not below it, or the
   * count came before the scan, which sees it. (The store-load argument of Dekker's mutual
   * exclusion, as described in Dijkstra, EWD 123, 1965.)
   */

  static final int BUCKET_MILLIS = 100;
  static final int BUCKETS = 1024;

  private final LongSupplier clockEpochMillis;
  private final AtomicIntegerArray inProgress = new AtomicIntegerArray(BUCKETS);
  private final AtomicLong candidate = new AtomicLong();
  private final AtomicLong advanced = new AtomicLong();

  /**
   * Creates a watermark without calls.
   *
   * @param clockEpochMillis the decision clock; may step back, which only makes calls late
   */
  LowWatermark(LongSupplier clockEpochMillis) {
    this.clockEpochMillis = clockEpochMillis;
  }

  /**
   * Counts a call as in progress.
   *
   * @return the time at which the call is counted, to be passed to {@link #end}: the clock's time,
   *     or the watermark if that is ahead of the clock. This is not the call's timestamp: after the
   *     clock was ahead once, the watermark stays ahead until the clock catches up
   */
  long begin() {
    while (true) {
      long begun = Math.max(clockEpochMillis.getAsLong(), candidate.get());
      int bucket = bucket(begun);
      inProgress.incrementAndGet(bucket);
      if (candidate.get() <= start(begun)) {
        return begun;
      }
      inProgress.decrementAndGet(bucket);
    }
  }

  /** Counts another call at the same time, which also holds the watermark there. */
  void beginAgain(long begun) {
    inProgress.incrementAndGet(bucket(begun));
  }

  /** Ends the call that {@link #begin} began. */
  void end(long begun) {
    inProgress.decrementAndGet(bucket(begun));
  }

  /**
   * Advances the watermark as far as the calls in progress allow, and returns it. Every call that
   * began before it has ended, and no call will begin before it from now on. It never decreases.
   */
  long advance() {
    long now =
        candidate.accumulateAndGet(start(clockEpochMillis.getAsLong()), (a, b) -> Math.max(a, b));
    long oldest = now;
    for (long start = Math.max(0, now - (BUCKETS - 1L) * BUCKET_MILLIS);
        start < now;
        start += BUCKET_MILLIS) {
      if (inProgress.get(bucket(start)) > 0) {
        oldest = start;
        break;
      }
    }
    return advanced.accumulateAndGet(oldest, (a, b) -> Math.max(a, b));
  }

  /** Returns the number of calls in progress; approximate while calls begin and end. */
  int countInProgress() {
    int sum = 0;
    for (int i = 0; i < BUCKETS; i++) {
      sum += inProgress.get(i);
    }
    return sum;
  }

  private static int bucket(long epochMillis) {
    return (int) ((epochMillis / BUCKET_MILLIS) % BUCKETS);
  }

  private static long start(long epochMillis) {
    return epochMillis - epochMillis % BUCKET_MILLIS;
  }

  /** A ticket that holds the watermark back until it is used. */
  static final class HeldTicket implements Ticket {
    private final LowWatermark watermark;
    private final long heldAtEpochMillis;
    private final long begunAtEpochMillis;
    private final boolean admitted;
    private boolean used;

    /**
     * Creates a ticket.
     *
     * @param heldAtEpochMillis the result of {@link LowWatermark#begin}
     * @param begunAtEpochMillis when the call began by the decision clock; not after {@code
     *     heldAtEpochMillis}, and before it if the clock was ahead once and was then corrected
     * @param admitted false when the node is stopping: the ticket then does not hold the watermark
     */
    HeldTicket(
        LowWatermark watermark, long heldAtEpochMillis, long begunAtEpochMillis, boolean admitted) {
      this.watermark = watermark;
      this.heldAtEpochMillis = heldAtEpochMillis;
      this.begunAtEpochMillis = begunAtEpochMillis;
      this.admitted = admitted;
    }

    @Override
    public long begunAtEpochMillis() {
      return begunAtEpochMillis;
    }

    @Override
    public Ticket again() {
      if (used) {
        throw new IllegalStateException("the ticket is already used");
      }
      if (admitted) {
        watermark.beginAgain(heldAtEpochMillis);
      }
      return new HeldTicket(watermark, heldAtEpochMillis, begunAtEpochMillis, admitted);
    }

    @Override
    public long heldAtEpochMillis() {
      return heldAtEpochMillis;
    }

    @Override
    public void abandon() {
      use();
      end();
    }

    boolean isOf(LowWatermark other) {
      return watermark == other;
    }

    boolean isAdmitted() {
      return admitted;
    }

    void use() {
      if (used) {
        throw new IllegalStateException("the ticket is already used");
      }
      used = true;
    }

    void end() {
      if (admitted) {
        watermark.end(heldAtEpochMillis);
      }
    }
  }
}
