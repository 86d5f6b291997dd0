// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.gate.Ticket;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * The low watermark of a node: a time such that every call that began earlier has ended.
 * Thread-safe and lock-free.
 *
 * <p>A ring of {@value #BUCKETS} time buckets of {@value #BUCKET_MILLIS} ms counts the calls in
 * progress by the time at which they began. The watermark is the start of the oldest bucket with a
 * call, or of the current bucket if there is none. Example: the time is 12:00:05.250, and a call
 * that began at 12:00:03.480 is in progress. The watermark is 12:00:03.400. When the call ends, the
 * watermark becomes 12:00:05.200.
 *
 * <p>A call in progress for longer than the ring's span (102 s) no longer holds the watermark back.
 * If such a call is recorded later, the call is late, and an adjustment counts it.
 */
final class LowWatermark {
  /*
   * Why the watermark misses no call: begin() first counts the call, then reads the candidate.
   * advance() first writes the candidate, then reads the counters. All four accesses are
   * volatile, so they have a total order. Either begin() sees the candidate and moves to a bucket
   * that is not below it, or advance() sees the count. (This is the store-load argument of
   * Dekker's mutual exclusion, as described in Dijkstra, EWD 123, 1965.)
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
   * @param clockEpochMillis returns the time of the decision clock; a step back only makes calls
   *     late
   */
  LowWatermark(LongSupplier clockEpochMillis) {
    this.clockEpochMillis = clockEpochMillis;
  }

  /**
   * Counts a call as in progress.
   *
   * @return the time under which the call is counted, to be passed to {@link #end}. The result is
   *     the later of the clock's time and the watermark. If the clock was set back, the result may
   *     be later than the call's timestamp, because the watermark never decreases
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

  /**
   * Counts one more call as in progress since the given time. The watermark waits for this call
   * too.
   */
  void beginAgain(long begun) {
    inProgress.incrementAndGet(bucket(begun));
  }

  /** Ends the call that {@link #begin} began. */
  void end(long begun) {
    inProgress.decrementAndGet(bucket(begun));
  }

  /**
   * Advances the watermark as far as the calls in progress allow, and returns it. Every call that
   * began before the watermark has ended, and no further call will begin before it. The watermark
   * never decreases.
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

  /** A ticket that holds the watermark back until the ticket is used. */
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
     * @param begunAtEpochMillis time at which the call began by the decision clock. This time
     *     equals {@code heldAtEpochMillis}, or is less if the clock was set back
     * @param admitted false if the node is stopping; the ticket then does not hold the watermark
     *     back
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
