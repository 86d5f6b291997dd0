// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.topics.model.BatchHeader;

/**
 * Whose journal it is; written once, when the journal is made.
 *
 * @param node the ingest node
 * @param epoch epoch milliseconds of the journal's creation
 * @param partitions partitions of the calls topic, on which every line number rests
 */
public record JournalIdentity(String node, long epoch, int partitions) {
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
