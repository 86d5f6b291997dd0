// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import org.jspecify.annotations.Nullable;

/**
 * The position of a call among all calls that an ingest node recorded. A report that has reached
 * this position includes the call. The text form is {@code partition:node:epoch:line}. Immutable.
 *
 * @param partition partition of the calls topic
 * @param node the ingest node
 * @param nodeEpoch the epoch of the node's journal
 * @param line number of the line among the node's calls for the partition, from 1
 */
public record UsagePosition(int partition, String node, long nodeEpoch, long line) {
  public UsagePosition {
    if (partition < 0 || nodeEpoch < 0 || line < 1 || !BatchHeader.isNodeName(node)) {
      throw new IllegalArgumentException(
          "a usage position must be partition:node:epoch:line with valid values, but is "
              + partition
              + ":"
              + node
              + ":"
              + nodeEpoch
              + ":"
              + line);
    }
  }

  /** Returns the position with the given text form; null if the text is not valid. */
  public static @Nullable UsagePosition parse(String text) {
    String[] parts = text.split(":", -1);
    if (parts.length != 4) {
      return null;
    }
    try {
      UsagePosition position =
          new UsagePosition(
              Integer.parseInt(parts[0]),
              parts[1],
              Long.parseLong(parts[2]),
              Long.parseLong(parts[3]));
      return position.toString().equals(text)
          ? position
          : null; // rejects digits that are not ASCII
    } catch (IllegalArgumentException notAPosition) {
      return null;
    }
  }

  @Override
  public String toString() {
    return partition + ":" + node + ":" + nodeEpoch + ":" + line;
  }
}
