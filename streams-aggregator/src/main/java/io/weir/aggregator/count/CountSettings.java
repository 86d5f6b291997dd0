// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

/**
 * The settings of the counting rules. The content of the ledger depends on these settings, so they
 * must be the same in all instances of an aggregator.
 *
 * @param windowMillis length of a ledger window in milliseconds; must divide a day, so that days
 *     and months consist of whole windows
 * @param graceMillis time in milliseconds for which a window stays open after the watermark has
 *     passed the window's end; may be 0
 * @param maxHoldMillis the hold in milliseconds: maximum lag of a node's low watermark behind the
 *     newest low watermark. Windows do not wait for a node whose lag is greater than the hold
 * @param latenessMillis maximum age of a call when it arrives, in milliseconds; older calls are
 *     quarantined
 * @param maxEndpoints maximum number of endpoints with their own rows, for each client, meter and
 *     window; all other endpoints share one row
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
   * Maximum time by which a call's decision time may be later than the broker's time, in
   * milliseconds. The clocks that set these two times must differ by less than this.
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

  /** Creates settings with the default of {@value #DEFAULT_MAX_ENDPOINTS} endpoints. */
  public CountSettings(
      long windowMillis, long graceMillis, long maxHoldMillis, long latenessMillis) {
    this(windowMillis, graceMillis, maxHoldMillis, latenessMillis, DEFAULT_MAX_ENDPOINTS);
  }

  /**
   * Returns the maximum time by which a broker's time may be later than the newest low watermark of
   * all nodes, in milliseconds. The counter reduces a later broker's time to this limit. The
   * maximum is one hour, or a quarter of the lateness if that is less. So a broker's wrong clock
   * never makes a call too old.
   */
  long maxAheadOfNodesMillis() {
    return Math.min(MAX_AHEAD_OF_NODES_MILLIS, latenessMillis / 4);
  }

  /** Returns the latest window boundary that is not after a time. */
  long boundaryAtOrBefore(long epochMillis) {
    return epochMillis - Math.floorMod(epochMillis, windowMillis);
  }
}
