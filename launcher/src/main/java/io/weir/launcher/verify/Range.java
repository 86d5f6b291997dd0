// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher.verify;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * What is asked for: the windows that start in {@code [from, to)}, of everyone or of one client.
 *
 * @param fromEpochMillis start of the first window
 * @param endEpochMillis end of the last window
 * @param windowMillis size of a window
 * @param client null for everyone
 */
record Range(
    long fromEpochMillis, long endEpochMillis, long windowMillis, @Nullable String client) {
  static Range of(Instant from, Instant to, long windowMillis, @Nullable String client) {
    return new Range(
        Verifier.windowStartAtOrAfter(from, windowMillis),
        Verifier.windowStartAtOrAfter(to, windowMillis),
        windowMillis,
        client);
  }

  /** Whether a client's window that starts at a moment is asked for. */
  boolean holds(String name, long startEpochMillis) {
    return startEpochMillis >= fromEpochMillis
        && startEpochMillis < endEpochMillis
        && (client == null || client.equals(name));
  }

  /** Whether a boundary ends a window that is asked for. */
  boolean holdsBoundary(long epochMillis) {
    return epochMillis > fromEpochMillis && epochMillis <= endEpochMillis;
  }
}
