// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

/**
 * The broker's clock as seen in one partition, by which calls are judged too old or in the future.
 * The broker's time is believed only up to an hour, or a quarter of the lateness if that is less,
 * beyond the latest time published by any node. Once a node has published a time, the believed time
 * does not decrease. Not thread-safe.
 */
final class BrokerTime {
  /** How far a call's time may be ahead of the broker's clock. */
  static final long MAX_AHEAD_MILLIS = 5 * 60_000;

  private static final long HOUR_MILLIS = 3_600_000;

  private final long latenessMillis;
  private final long aheadMillis;
  private long newestWordEpochMillis;
  private long believedEpochMillis;
  private long stampEpochMillis;

  BrokerTime(long latenessMillis) {
    this.latenessMillis = latenessMillis;
    this.aheadMillis = Math.min(HOUR_MILLIS, latenessMillis / 4);
  }

  /** Records the broker's time of a record and the time of the node that wrote it. */
  void hear(long brokerEpochMillis, long nodeEpochMillis) {
    stampEpochMillis = brokerEpochMillis;
    if (nodeEpochMillis <= brokerEpochMillis + aheadMillis) {
      newestWordEpochMillis = Math.max(newestWordEpochMillis, nodeEpochMillis);
    }
    believedEpochMillis = Math.max(believedEpochMillis, brokerEpochMillis);
    if (newestWordEpochMillis > 0) {
      believedEpochMillis = Math.min(believedEpochMillis, newestWordEpochMillis + aheadMillis);
    }
  }

  long believedEpochMillis() {
    return believedEpochMillis;
  }

  boolean isFuture(long decidedAtEpochMillis) {
    return decidedAtEpochMillis
        > Math.max(believedEpochMillis, stampEpochMillis) + MAX_AHEAD_MILLIS;
  }

  boolean isTooOld(long decidedAtEpochMillis) {
    return decidedAtEpochMillis < believedEpochMillis - latenessMillis;
  }
}
