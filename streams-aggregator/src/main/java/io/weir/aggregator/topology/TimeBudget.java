// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import io.weir.aggregator.state.Budget;
import java.time.Duration;

/**
 * A budget that is used up after a duration. The budget reads the clock once per {@value
 * #STEPS_PER_READING} steps. Not thread-safe.
 */
final class TimeBudget implements Budget {
  /** Number of steps between two reads of the clock. A step takes about 5 µs. */
  private static final int STEPS_PER_READING = 16;

  private final long endNanos;
  private int steps;
  private boolean spent;

  TimeBudget(Duration length) {
    this.endNanos = System.nanoTime() + length.toNanos();
  }

  @Override
  public boolean isSpent() {
    if (!spent && ++steps % STEPS_PER_READING == 0) {
      spent = System.nanoTime() - endNanos >= 0;
    }
    return spent;
  }
}
