// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import io.weir.aggregator.state.Budget;
import java.time.Duration;

/** Spent after a length of time; looks at the clock once in a while only. Not safe for threads. */
final class TimeBudget implements Budget {
  /** Steps between two looks at the clock; a step takes some 5 µs. */
  private static final int STEPS_PER_LOOK = 16;

  private final long endNanos;
  private int steps;
  private boolean spent;

  TimeBudget(Duration length) {
    this.endNanos = System.nanoTime() + length.toNanos();
  }

  @Override
  public boolean isSpent() {
    if (!spent && ++steps % STEPS_PER_LOOK == 0) {
      spent = System.nanoTime() - endNanos >= 0;
    }
    return spent;
  }
}
