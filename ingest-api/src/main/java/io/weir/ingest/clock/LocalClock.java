// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.clock;

import java.util.function.LongSupplier;

/**
 * The monotonic clock and the wall clock of one machine. The recorder and the correction code use
 * only these clocks, so that a simulation can run them in virtual time. Thread-safe if both
 * functions are thread-safe.
 *
 * @param nanos returns nanoseconds of a monotonic clock with an arbitrary origin
 * @param epochMillis returns milliseconds since the epoch of the wall clock, which may step
 */
public record LocalClock(LongSupplier nanos, LongSupplier epochMillis) {
  /** Returns the clocks of this machine. */
  public static LocalClock ofSystem() {
    return new LocalClock(System::nanoTime, System::currentTimeMillis);
  }

  /** Returns the current value of {@code nanos}. */
  public long nowNanos() {
    return nanos.getAsLong();
  }

  /** Returns the current value of {@code epochMillis}. */
  public long nowEpochMillis() {
    return epochMillis.getAsLong();
  }
}
