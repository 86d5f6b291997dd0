// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

/**
 * The settings of the counting rules; durations are in milliseconds. The content of the ledger
 * depends on them, so all instances of an aggregator must have the same settings.
 *
 * @param windowMillis size of a ledger window; must divide a day, so that days and months are sums
 *     of windows
 * @param graceMillis how long a window stays open after the watermark has passed its end; may be 0
 * @param maxHoldMillis maximum lag of a node's low watermark behind the newest one; windows do not
 *     wait for a node with a greater lag
 * @param latenessMillis maximum age of a call when it arrives; older calls are quarantined
 * @param maxEndpoints maximum number of endpoints of a client and meter with their own rows in a
 *     window; all others share one row
 */
public record CountSettings(
    long windowMillis,
    long graceMillis,
    long maxHoldMillis,
    long latenessMillis,
    int maxEndpoints) {

  /** Default of {@code maxEndpoints}. */
  public static final int DEFAULT_MAX_ENDPOINTS = 1_000;

  /**
   * Maximum by which a call's decision time may exceed the broker's time; clocks differ by less.
   */
  public static final long MAX_AHEAD_MILLIS = 5 * 60_000L;

  private static final long MAX_AHEAD_OF_NODES_MILLIS = 3_600_000L;

  private static final long DAY_MILLIS = 24 * 3_600_000L;

  public CountSettings {
    if (windowMillis < 1 || DAY_MILLIS % windowMillis != 0) {
      throw new IllegalArgumentException(
          "window must divide a day evenly, but is " + windowMillis + " ms");
    }
    if (graceMillis < 0) {
      throw new IllegalArgumentException(
          "grace must not be negative, but is " + graceMillis + " ms");
    }
    if (maxHoldMillis < 1) {
      throw new IllegalArgumentException(
          "max hold must be positive, but is " + maxHoldMillis + " ms");
    }
    if (latenessMillis < windowMillis) {
      throw new IllegalArgumentException(
          "lateness must be at least a window, but is " + latenessMillis + " ms");
    }
    if (maxEndpoints < 1) {
      throw new IllegalArgumentException("max endpoints must be positive, but is " + maxEndpoints);
    }
  }

  /** Creates settings with {@value #DEFAULT_MAX_ENDPOINTS} endpoints. */
  public CountSettings(
      long windowMillis, long graceMillis, long maxHoldMillis, long latenessMillis) {
    this(windowMillis, graceMillis, maxHoldMillis, latenessMillis, DEFAULT_MAX_ENDPOINTS);
  }

  /**
   * Returns the maximum by which a trusted broker time exceeds the newest low watermark of all
   * nodes. It is one hour, or a quarter of the lateness if that is less, so that no call becomes
   * too old.
   */
  long maxAheadOfNodesMillis() {
    return Math.min(MAX_AHEAD_OF_NODES_MILLIS, latenessMillis / 4);
  }

  /** Returns the window boundary at or before a time. */
  long boundaryAtOrBefore(long epochMillis) {
    return epochMillis - Math.floorMod(epochMillis, windowMillis);
  }
}
