// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

/**
 * The settings by which calls are counted; lengths of time are in milliseconds. The content of the
 * ledger depends on them, so all instances of an aggregator must have the same.
 *
 * @param windowMillis size of a ledger window; divides a day, so that days and months are sums of
 *     windows
 * @param graceMillis how far behind the watermark a window stays open; zero means not at all
 * @param maxHoldMillis by how much a node's low watermark may lag behind the newest one before
 *     windows close without that node
 * @param latenessMillis how old a call may be when it arrives; older ones are quarantined
 * @param maxEndpoints how many endpoints of a client and meter have rows of their own in a window;
 *     all further ones share a row
 */
public record CountSettings(
    long windowMillis,
    long graceMillis,
    long maxHoldMillis,
    long latenessMillis,
    int maxEndpoints) {

  /** Default of {@code maxEndpoints}. */
  public static final int DEFAULT_MAX_ENDPOINTS = 1_000;

  /** By how much a call may be dated after the broker took it: clocks differ by less. */
  public static final long MAX_AHEAD_MILLIS = 5 * 60_000L;

  private static final long MAX_AHEAD_OF_NODES_MILLIS = 3_600_000L;

  private static final long DAY_MILLIS = 24 * 3_600_000L;

  public CountSettings {
    if (windowMillis < 1 || DAY_MILLIS % windowMillis != 0) {
      throw new IllegalArgumentException("window must divide a day, is " + windowMillis + " ms");
    }
    if (graceMillis < 0) {
      throw new IllegalArgumentException("grace must not be negative, is " + graceMillis + " ms");
    }
    if (maxHoldMillis < 1) {
      throw new IllegalArgumentException("max hold must be positive, is " + maxHoldMillis + " ms");
    }
    if (latenessMillis < windowMillis) {
      throw new IllegalArgumentException(
          "lateness must be at least a window, is " + latenessMillis + " ms");
    }
    if (maxEndpoints < 1) {
      throw new IllegalArgumentException("max endpoints must be positive, is " + maxEndpoints);
    }
  }

  /** Creates settings with {@value #DEFAULT_MAX_ENDPOINTS} endpoints. */
  public CountSettings(
      long windowMillis, long graceMillis, long maxHoldMillis, long latenessMillis) {
    this(windowMillis, graceMillis, maxHoldMillis, latenessMillis, DEFAULT_MAX_ENDPOINTS);
  }

  /**
   * Returns how far the broker's clock is believed beyond the newest low watermark of any node: an
   * hour, or a quarter of the lateness if that is less, so that no call becomes too old by it.
   */
  long maxAheadOfNodesMillis() {
    return Math.min(MAX_AHEAD_OF_NODES_MILLIS, latenessMillis / 4);
  }

  /** Returns the window boundary at or before a time. */
  long boundaryAtOrBefore(long epochMillis) {
    return epochMillis - Math.floorMod(epochMillis, windowMillis);
  }
}
