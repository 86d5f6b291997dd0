// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.clock;

import java.util.function.LongSupplier;

/**
 * The clocks of one machine. Recording and correcting read no other, so that they run under virtual
 * time, too. As safe for threads as its two sources.
 *
 * @param nanos for lengths of time: never steps, has no meaning of its own
 * @param epochMillis the clock on the wall: may step
 */
public record LocalClock(LongSupplier nanos, LongSupplier epochMillis) {
  /** This machine's. */
  public static LocalClock ofSystem() {
    return new LocalClock(System::nanoTime, System::currentTimeMillis);
  }

  /** A moment by {@code nanos}. */
  public long nowNanos() {
    return nanos.getAsLong();
  }

  /** A moment by {@code epochMillis}. */
  public long nowEpochMillis() {
    return epochMillis.getAsLong();
  }
}
