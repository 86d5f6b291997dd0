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
  /** The identity of the opening that follows at a moment. */
  JournalIdentity next(long nowEpochMillis) {
    return new JournalIdentity(node, Math.max(nowEpochMillis, epoch + 1), partitions);
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
