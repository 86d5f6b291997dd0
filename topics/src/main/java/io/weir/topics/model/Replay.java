// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import io.weir.limits.Numbers;

/**
 * Marks a batch of the calls topic as the repetition of lines or a record that were refused before
 * and put into the quarantine. Immutable.
 *
 * <p>A batch of single lines is independent of the journals: its low watermark is ignored and
 * nothing is awaited because of it, and each of its lines is counted unless it was counted before.
 * Its lines have the positions they had when they were refused. If these are not known, or belong
 * to another partition, they are lines of the journal {@link #journal}, with the offset as the
 * epoch and the line's number as the position.
 *
 * @param partition partition of the calls topic in which the record was refused
 * @param offset the record's offset in it
 * @param firstLine number in that record, from 1, of the first line of the batch, which the others
 *     follow; 0 if the whole record is repeated as it arrived, under its own journal
 */
public record Replay(int partition, long offset, int firstLine) {
  public Replay {
    Numbers.require("partition of replay_of", partition, 0);
    Numbers.require("offset of replay_of", offset, 0);
    Numbers.require("replay_line", firstLine, 0);
  }

  /** Returns whether a whole record is repeated as it arrived. */
  public boolean isWhole() {
    return firstLine == 0;
  }

  /** Returns the journal name for lines whose own position cannot be used. */
  public String journal() {
    return "quarantine-" + partition;
  }

  /** Returns whether no other batch has lines at the positions of this one. */
  public boolean hasOwnPositions(BatchHeader header) {
    return header.node().equals(journal());
  }
}
