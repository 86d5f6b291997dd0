// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import java.util.function.LongSupplier;

/**
 * The clocks of the package; nothing else in it reads one.
 *
 * @param nanos for lengths of time: never steps, has no meaning of its own
 * @param epochMillis the clock on the wall: may step
 */
public record Clocks(LongSupplier nanos, LongSupplier epochMillis) {
  /** This machine's. */
  static Clocks ofSystem() {
    return new Clocks(System::nanoTime, System::currentTimeMillis);
  }

  long nowNanos() {
    return nanos.getAsLong();
  }

  long nowEpochMillis() {
    return epochMillis.getAsLong();
  }
}
