// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

/**
 * The broker's clock in one partition, which decides whether a call is too old or in the future.
 * The broker's time is trusted only within a bound after the latest time that any node published.
 * The bound is an hour, or a quarter of the lateness if that is less. After a node has published a
 * time, the trusted time never decreases. Not thread-safe.
 */
final class BrokerTime {
  /** Maximum time by which a call may be ahead of the broker's clock. */
  static final long MAX_AHEAD_MILLIS = 5 * 60_000;

  private static final long HOUR_MILLIS = 3_600_000;

  private final long latenessMillis;
  private final long aheadMillis;
  private long newestNodeEpochMillis;
  private long trustedEpochMillis;
  private long stampEpochMillis;

  BrokerTime(long latenessMillis) {
    this.latenessMillis = latenessMillis;
    this.aheadMillis = Math.min(HOUR_MILLIS, latenessMillis / 4);
  }

  /** Records the broker's time of a record, and the time published by the node that wrote it. */
  void note(long brokerEpochMillis, long nodeEpochMillis) {
    stampEpochMillis = brokerEpochMillis;
    if (nodeEpochMillis <= brokerEpochMillis + aheadMillis) {
      newestNodeEpochMillis = Math.max(newestNodeEpochMillis, nodeEpochMillis);
    }
    trustedEpochMillis = Math.max(trustedEpochMillis, brokerEpochMillis);
    if (newestNodeEpochMillis > 0) {
      trustedEpochMillis = Math.min(trustedEpochMillis, newestNodeEpochMillis + aheadMillis);
    }
  }

  long trustedEpochMillis() {
    return trustedEpochMillis;
  }

  boolean isFuture(long decidedAtEpochMillis) {
    return decidedAtEpochMillis > Math.max(trustedEpochMillis, stampEpochMillis) + MAX_AHEAD_MILLIS;
  }

  boolean isTooOld(long decidedAtEpochMillis) {
    return decidedAtEpochMillis < trustedEpochMillis - latenessMillis;
  }
}
