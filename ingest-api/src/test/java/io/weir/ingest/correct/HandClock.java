// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import io.weir.ingest.clock.LocalClock;
import java.util.concurrent.TimeUnit;

/** Clocks that stand still until they are moved. */
final class HandClock {
  private long nanos = 1_000_000_000_000L;
  private long epochMillis = 1_800_000_000_000L;

  LocalClock clock() {
    return new LocalClock(() -> nanos, () -> epochMillis);
  }

  long nanos() {
    return nanos;
  }

  void advanceNanos(long by) {
    nanos += by;
  }

  void advanceMillis(long by) {
    nanos += TimeUnit.MILLISECONDS.toNanos(by);
    epochMillis += by;
  }
}
