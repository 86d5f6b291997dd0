// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

/** The clock on the wall of one machine: off by some time, and sometimes set. */
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

  /** Time that has passed by this clock when its steps back are left out: never falls. */
  long passedMicros() {
    return scheduler.nowMicros() + steppedForwardMicros;
  }

  /** Sets the clock. */
  void step(long byMicros) {
    offsetMicros += byMicros;
    steppedForwardMicros += Math.max(0, byMicros);
  }
}
