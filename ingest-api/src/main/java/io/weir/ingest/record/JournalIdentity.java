// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.topics.model.BatchHeader;

/**
 * Whose journal it is, and in which opening. A journal begins a new epoch each time it is opened:
 * what it holds then may be older than what it held once (a disk restored, power lost), and a
 * position of its lines must never name two of them.
 *
 * @param node the ingest node
 * @param epoch epoch milliseconds of the opening; greater than those before
 * @param partitions partitions of the calls topic, on which every line number rests
 */
public record JournalIdentity(String node, long epoch, int partitions) {
  private static final long MAX_LEAP_MILLIS = 1_000_000;

  /**
   * The identity of the opening that follows at a moment. While the clock is behind the epoch, as
   * when it was set back, it cannot tell two openings of one copy apart; then chance does.
   *
   * @param chance any number
   */
  JournalIdentity next(long nowEpochMillis, long chance) {
    long behind = epoch + 1 + Math.floorMod(chance, MAX_LEAP_MILLIS);
    return new JournalIdentity(node, nowEpochMillis > epoch ? nowEpochMillis : behind, partitions);
  }

  public JournalIdentity {
    if (!BatchHeader.isNodeName(node)) {
      throw new IllegalArgumentException("not a node name: '" + node + "'");
    }
    if (epoch < 0) {
      throw new IllegalArgumentException("epoch must not be negative, is " + epoch);
    }
    if (partitions < 1) {
      throw new IllegalArgumentException("partitions must be at least 1, is " + partitions);
    }
  }
}
