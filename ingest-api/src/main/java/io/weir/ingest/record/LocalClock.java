// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import java.util.function.LongSupplier;

/**
 * The clocks of one machine; nothing else in the package reads any.
 *
 * @param nanos for lengths of time: never steps, has no meaning of its own
 * @param epochMillis the clock on the wall: may step
 */
public record LocalClock(LongSupplier nanos, LongSupplier epochMillis) {
  /** This machine's. */
  public static LocalClock ofSystem() {
    return new LocalClock(System::nanoTime, System::currentTimeMillis);
  }

  long nowNanos() {
    return nanos.getAsLong();
  }

  long nowEpochMillis() {
    return epochMillis.getAsLong();
  }
}
