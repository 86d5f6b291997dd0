// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record.journal;

import io.weir.topics.model.BatchHeader;

/**
 * The owner and the current epoch of a journal. The journal may have lost lines, for example in a
 * power loss or with a restored disk. So each opening of a journal begins a new epoch, and two
 * lines never have the same position (docs/decisions/0008).
 *
 * @param epoch time of the opening in milliseconds since the Unix epoch; greater than the epochs of
 *     all earlier openings
 * @param partitions number of partitions of the calls topic, ≥ 1; each partition numbers its lines
 */
public record JournalIdentity(String node, long epoch, int partitions) {
  /** Maximum random increment of an epoch; used if the clock is not ahead of the epoch. */
  private static final long MAX_LEAP_MILLIS = 1_000_000;

  public JournalIdentity {
    if (!BatchHeader.isNodeName(node)) {
      throw new IllegalArgumentException(
          "node must have 1 to 64 characters from A-Za-z0-9._-, but is '" + node + "'");
    }
    if (epoch < 0) {
      throw new IllegalArgumentException("epoch must not be negative, but is " + epoch);
    }
    if (partitions < 1) {
      throw new IllegalArgumentException("partitions must be at least 1, but is " + partitions);
    }
  }

  /**
   * Returns the identity of the next epoch. Normally the new epoch is {@code nowEpochMillis}. If
   * the clock is not ahead of the current epoch, for example after a step back, the epoch increases
   * by a random 1 ms to 1,000 s, so that two copies of one journal get different epochs.
   *
   * @param random a random number
   */
  public JournalIdentity next(long nowEpochMillis, long random) {
    long leap = epoch + 1 + Math.floorMod(random, MAX_LEAP_MILLIS);
    return new JournalIdentity(node, nowEpochMillis > epoch ? nowEpochMillis : leap, partitions);
  }
}
