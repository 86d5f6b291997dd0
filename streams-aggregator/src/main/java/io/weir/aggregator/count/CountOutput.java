// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.aggregator.audit.AuditOutput;
import io.weir.topics.model.LedgerRow;
import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.Replay;
import io.weir.topics.model.SettlementVerdict;
import io.weir.topics.model.UsageState;
import java.util.List;

/**
 * What the counting of a partition writes, in order, into the same partition of the other topics.
 */
public interface CountOutput extends AuditOutput {
  /** A row of the ledger; the time stamp is the broker's of the record that caused it. */
  void ledger(LedgerRow row, long timestampEpochMillis);

  /** The newest figures of a key and window. */
  void state(UsageState state, long timestampEpochMillis);

  /** How far the partition is counted; everything it speaks of was written before. */
  void progress(PartitionProgress progress, long timestampEpochMillis);

  /** What became of a settlement. */
  void settled(SettlementVerdict verdict, long timestampEpochMillis);

  /**
   * Keeps what could not be counted of the record being taken.
   *
   * @param value the record's value, or one line of it
   * @param line number of the line from 1; 0 when the whole record is refused
   * @param reason what is wrong with it
   */
  void quarantine(byte[] value, int line, String reason);

  /**
   * Says that what was refused once has been counted after all; again with each repetition.
   *
   * @param replay where it was refused
   * @param lines numbers of its lines there, ascending; empty when the whole record was taken
   */
  void replayed(Replay replay, List<Integer> lines);
}
