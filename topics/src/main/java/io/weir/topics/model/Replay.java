// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import io.weir.limits.Numbers;

/**
 * Says of a batch of the calls topic that it repeats what was refused before and put into the
 * quarantine.
 *
 * <p>A batch of single lines stands beside the journals: no promise of it is believed and nothing
 * is waited for because of it, and each of its lines is counted unless it was counted before. Its
 * lines have the positions they had when they were refused; where these are not known, or belong to
 * another partition, they are lines of the journal {@link #journal} with the offset as its epoch
 * and the line's number as position.
 *
 * @param partition partition of the calls topic in which it was refused
 * @param offset the record there
 * @param firstLine number in that record, from 1, of the first line of the batch, which the others
 *     follow; 0 when the whole record is repeated as it came, by its own journal
 */
public record Replay(int partition, long offset, int firstLine) {
  public Replay {
    Numbers.require("partition of replay_of", partition, 0);
    Numbers.require("offset of replay_of", offset, 0);
    Numbers.require("replay_line", firstLine, 0);
  }

  /** Whether a whole record is repeated as it came. */
  public boolean isWhole() {
    return firstLine == 0;
  }

  /** The journal of lines whose own position cannot be used. */
  public String journal() {
    return "quarantine-" + partition;
  }

  /** Whether the lines of the batch stand nowhere else at the same position. */
  public boolean hasOwnPositions(BatchHeader header) {
    return header.node().equals(journal());
  }
}
