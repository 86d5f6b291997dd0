// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * The windows to verify, of all clients or of one client. They start in {@code [from, to)}.
 *
 * @param fromEpochMillis start of the first window
 * @param endEpochMillis end of the last window
 * @param windowMillis size of a window
 * @param client the client; null for all clients
 */
record Range(
    long fromEpochMillis, long endEpochMillis, long windowMillis, @Nullable String client) {
  static Range of(Instant from, Instant to, long windowMillis, @Nullable String client) {
    return new Range(
        startAtOrAfter(from, windowMillis), startAtOrAfter(to, windowMillis), windowMillis, client);
  }

  /** Returns the earliest start of a window at or after a time. */
  private static long startAtOrAfter(Instant time, long windowMillis) {
    return -Math.floorDiv(-time.toEpochMilli(), windowMillis) * windowMillis;
  }

  /** Returns whether the window of a client with the given start is in the range. */
  boolean holds(String name, long startEpochMillis) {
    return startEpochMillis >= fromEpochMillis
        && startEpochMillis < endEpochMillis
        && (client == null || client.equals(name));
  }

  /** Returns whether a boundary is the end of a window in the range. */
  boolean holdsBoundary(long epochMillis) {
    return epochMillis > fromEpochMillis && epochMillis <= endEpochMillis;
  }
}
