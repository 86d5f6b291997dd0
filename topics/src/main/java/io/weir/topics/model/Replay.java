// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import io.weir.limits.Numbers;

/**
 * The mark of a batch that replays quarantined lines or a quarantined record. Immutable.
 *
 * <p>A batch of replayed lines does not depend on a journal. The aggregator ignores the low
 * watermark of a replayed batch, and waits for no further batch. The aggregator counts each line
 * that it has not counted before. Lines keep their original positions. If the original positions
 * are unknown or belong to another partition, the lines belong to the journal {@link #journal}. In
 * {@link #journal}, the epoch of a line is the offset of the record, and its position is the line
 * number.
 *
 * @param partition partition of the calls topic with the quarantined record
 * @param offset offset of the quarantined record
 * @param firstLine number of the batch's first line in the quarantined record, from 1; 0 if the
 *     batch repeats the whole record, with its own journal. The other lines of the batch follow the
 *     first line in the record
 */
public record Replay(int partition, long offset, int firstLine) {
  public Replay {
    Numbers.require("partition of replay_of", partition, 0);
    Numbers.require("offset of replay_of", offset, 0);
    Numbers.require("replay_line", firstLine, 0);
  }

  /** Returns whether the batch repeats a whole record. */
  public boolean isWhole() {
    return firstLine == 0;
  }

  /** Returns the journal name for lines whose original position cannot be used. */
  public String journal() {
    return "quarantine-" + partition;
  }

  /**
   * Returns whether the batch's lines belong to the journal {@link #journal} instead of their
   * original journal.
   */
  public boolean hasOwnPositions(BatchHeader header) {
    return header.node().equals(journal());
  }
}
