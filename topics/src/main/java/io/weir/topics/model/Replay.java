// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import io.weir.limits.Numbers;

/**
 * Marks a batch of the calls topic as the replay of quarantined lines or a quarantined record.
 * Immutable.
 *
 * <p>A batch of single lines is independent of the journals. Its low watermark is ignored, and no
 * further batch is awaited. Each of its lines is counted unless it was counted before. Its lines
 * have their original positions. If these are unknown or belong to another partition, they are
 * lines of the journal {@link #journal}, with the offset as the epoch and the line's number as the
 * position.
 *
 * @param partition partition of the calls topic with the quarantined record
 * @param offset the record's offset in it
 * @param firstLine number in that record, from 1, of the first line of the batch; the other lines
 *     follow it. 0 if the whole record is repeated as received, with its own journal
 */
public record Replay(int partition, long offset, int firstLine) {
  public Replay {
    Numbers.require("partition of replay_of", partition, 0);
    Numbers.require("offset of replay_of", offset, 0);
    Numbers.require("replay_line", firstLine, 0);
  }

  /** Returns whether a whole record is repeated as received. */
  public boolean isWhole() {
    return firstLine == 0;
  }

  /** Returns the journal name for lines whose original position cannot be used. */
  public String journal() {
    return "quarantine-" + partition;
  }

  /** Returns whether no other batch has lines at the positions of this one. */
  public boolean hasOwnPositions(BatchHeader header) {
    return header.node().equals(journal());
  }
}
