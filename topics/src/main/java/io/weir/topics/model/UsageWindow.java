// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

/**
 * A half-open interval of event time, {@code [start, end)}, aligned to the epoch. With a size of 15
 * minutes, a call at 14:03:07 belongs to [14:00:00, 14:15:00), and a call at 14:15:00.000 to the
 * next window. Immutable.
 *
 * @param startEpochMillis first millisecond of the window
 * @param endEpochMillis first millisecond after the window
 */
public record UsageWindow(long startEpochMillis, long endEpochMillis) {
  public UsageWindow {
    if (startEpochMillis < 0 || endEpochMillis <= startEpochMillis) {
      throw new IllegalArgumentException(
          "window must start at 0 or later and end after its start: ["
              + startEpochMillis
              + ", "
              + endEpochMillis
              + ")");
    }
  }

  /** Returns the window of the given size that contains a time. */
  public static UsageWindow holding(long epochMillis, long sizeMillis) {
    long start = epochMillis - Math.floorMod(epochMillis, sizeMillis);
    return new UsageWindow(start, start + sizeMillis);
  }

  /** Returns the length in milliseconds. */
  public long sizeMillis() {
    return endEpochMillis - startEpochMillis;
  }
}
