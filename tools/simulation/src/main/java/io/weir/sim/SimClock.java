// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

/** The wall clock of one machine. The clock may be wrong, and the simulation can set it. */
final class SimClock {
  private final Scheduler scheduler;
  private long offsetMicros;
  private long steppedForwardMicros;

  SimClock(Scheduler scheduler, long offsetMicros) {
    this.scheduler = scheduler;
    this.offsetMicros = offsetMicros;
  }

  long epochMicros() {
    return scheduler.nowMicros() + offsetMicros;
  }

  long epochMillis() {
    return Math.floorDiv(epochMicros(), 1_000);
  }

  /** Returns the time that has elapsed on this clock, without its steps back. Never decreases. */
  long passedMicros() {
    return scheduler.nowMicros() + steppedForwardMicros;
  }

  /** Sets the clock forward, or back if {@code byMicros} is negative. */
  void step(long byMicros) {
    offsetMicros += byMicros;
    steppedForwardMicros += Math.max(0, byMicros);
  }
}
