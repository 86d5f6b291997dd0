// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import io.weir.ingest.clock.LocalClock;

/**
 * Clocks whose monotonic one runs ten times as fast, so that tests of a periodic loop are short.
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
