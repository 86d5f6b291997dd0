// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record.journal;

import io.weir.topics.model.BatchHeader;

/**
 * The owner of a journal and its current epoch. Each opening of a journal begins a new epoch: the
 * journal may then hold less than it once held (a disk restored, power lost), and a position must
 * never name two lines (docs/decisions/0008).
 *
 * @param node name of the ingest node
 * @param epoch time of the opening in milliseconds since the epoch of Unix; greater than that of
 *     every earlier opening
 * @param partitions number of partitions of the calls topic, ≥ 1; line numbers depend on it
 */
public record JournalIdentity(String node, long epoch, int partitions) {
  /** Exclusive bound of the random advance of an epoch while the clock is behind. */
  private static final long MAX_LEAP_MILLIS = 1_000_000;

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

  /**
   * Returns the identity of the next epoch. While the clock is not ahead of the current epoch, as
   * after it was set back, it cannot distinguish two openings of copies of one journal; then the
   * epoch advances by a random 1 ms to 1,000 s.
   *
   * @param random any number
   */
  public JournalIdentity next(long nowEpochMillis, long random) {
    long leap = epoch + 1 + Math.floorMod(random, MAX_LEAP_MILLIS);
    return new JournalIdentity(node, nowEpochMillis > epoch ? nowEpochMillis : leap, partitions);
  }
}
