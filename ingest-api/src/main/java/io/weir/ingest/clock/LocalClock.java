// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.clock;

import java.util.function.LongSupplier;

/**
 * The clocks of one machine. Recording and correcting use only these clocks, so that they also run
 * under virtual time. As thread-safe as its two sources.
 *
 * @param nanos measures durations; monotonic, with an arbitrary origin
 * @param epochMillis the wall clock; may step
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
