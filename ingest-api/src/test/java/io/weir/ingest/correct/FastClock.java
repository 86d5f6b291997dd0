// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import io.weir.ingest.clock.LocalClock;

/**
 * Clocks of which the one for lengths of time runs ten times as fast: what a loop does every few
 * seconds a test need not wait for so long.
 */
final class FastClock {
  private static final int TIMES = 10;

  private FastClock() {}

  static LocalClock start() {
    long beganNanos = System.nanoTime();
    return new LocalClock(
        () -> beganNanos + TIMES * (System.nanoTime() - beganNanos), System::currentTimeMillis);
  }
}
