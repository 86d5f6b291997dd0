// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher.verify;

/**
 * The broker's clock over one partition, by which calls are too old or from the future. It is
 * believed up to an hour, or a quarter of the lateness where that is less, beyond the newest word
 * of any node, and what is believed does not fall once a node has spoken. Not safe for threads.
 */
final class BrokerTime {
  /** How far ahead of the broker's clock a call may be dated. */
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

  /** Hears when the broker took a record, and what time it was for the node that wrote it. */
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
