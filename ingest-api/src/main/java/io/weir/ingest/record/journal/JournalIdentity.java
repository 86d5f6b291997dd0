// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record.journal;

import io.weir.topics.model.BatchHeader;

/**
 * The owner of a journal and its current epoch. Each opening of a journal begins a new epoch. The
 * journal may then contain less than before (a restored disk, a power loss), and one position must
 * never name two lines (docs/decisions/0008).
 *
 * @param epoch time of the opening in milliseconds since the Unix epoch; greater than that of every
 *     earlier opening every earlier opening
 * @param partitions number of partitions of the calls topic, ≥ 1; line numbers depend on it
 */
public record JournalIdentity(String node, long epoch, int partitions) {
  /** Exclusive bound of the random advance of an epoch while the clock is behind. */
  private static final long MAX_LEAP_MILLIS = 1_000_000;

  public JournalIdentity {
    if (!BatchHeader.isNodeName(node)) {
      throw new IllegalArgumentException(
          "node must be 1 to 64 characters of A-Za-z0-9._-, but is '" + node + "'");
    }
    if (epoch < 0) {
      throw new IllegalArgumentException("epoch must not be negative, but is " + epoch);
    }
    if (partitions < 1) {
      throw new IllegalArgumentException("partitions must be at least 1, but is " + partitions);
    }
  }

  /**
   * Returns the identity of the next epoch. If the clock is not ahead of the current epoch, for
   * example after it was set back, the clock cannot distinguish two openings of copies of one
   * journal. The epoch then advances by a random 1 ms to 1,000 s.
   *
   * @param random any number
   */
  public JournalIdentity next(long nowEpochMillis, long random) {
    long leap = epoch + 1 + Math.floorMod(random, MAX_LEAP_MILLIS);
    return new JournalIdentity(node, nowEpochMillis > epoch ? nowEpochMillis : leap, partitions);
  }
}
