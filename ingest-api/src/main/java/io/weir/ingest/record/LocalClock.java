// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

/** This machine's clocks; nothing else in the package reads them. */
final class LocalClock {
  private LocalClock() {}

  /** The clock on the wall: may step. */
  static long epochMillis() {
    return System.currentTimeMillis();
  }

  /** For lengths of time: never steps, has no meaning of its own. */
  static long nanos() {
    return System.nanoTime();
  }
}
