// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import java.util.Comparator;
import java.util.PriorityQueue;

/**
 * Virtual time. Events run one after another on one thread, in the order of their times. Events
 * with equal times run in the order in which they were scheduled. While an event waits ({@link
 * #runUntil}), other events run.
 */
final class Scheduler {
  /** 2026-11-21T12:00:00Z. */
  static final long START_MICROS = 1_795_262_400_000_000L;

  private final PriorityQueue<Event> events =
      new PriorityQueue<>(
          Comparator.comparingLong(Event::atMicros).thenComparingLong(Event::number));
  private final Trace trace;
  private long nowMicros = START_MICROS;
  private long planned;

  private record Event(long atMicros, long number, String name, Runnable work) {}

  Scheduler(Trace trace) {
    this.trace = trace;
  }

  /** Returns the true time, which no machine in the simulation can read. */
  long nowMicros() {
    return nowMicros;
  }

  /** Schedules an event. */
  void after(long delayMicros, String name, Runnable work) {
    events.add(new Event(nowMicros + Math.max(0, delayMicros), planned++, name, work));
  }

  /** Advances the time to {@code endMicros}, and runs all events until this time, inclusive. */
  void runUntil(long endMicros) {
    for (Event next = events.peek();
        next != null && next.atMicros <= endMicros;
        next = events.peek()) {
      events.remove();
      nowMicros = Math.max(nowMicros, next.atMicros);
      trace.step(nowMicros, next.name);
      next.work.run();
    }
    nowMicros = Math.max(nowMicros, endMicros);
  }
}
