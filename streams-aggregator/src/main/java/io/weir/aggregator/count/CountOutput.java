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
 * The receiver of the records that a partition's counter writes. The records are written in order,
 * to the same partition of other topics.
 */
public interface CountOutput extends AuditOutput {
  /**
   * Writes a row of the ledger. The timestamp is the broker's time of the record that caused the
   * row.
   */
  void ledger(LedgerRow row, long timestampEpochMillis);

  /** Writes the newest figures of a row. */
  void state(UsageState state, long timestampEpochMillis);

  /**
   * Writes the progress of the partition. The caller has already written all output that the
   * progress includes.
   */
  void progress(PartitionProgress progress, long timestampEpochMillis);

  /** Writes the outcome of a settlement. */
  void settled(SettlementVerdict verdict, long timestampEpochMillis);

  /**
   * Writes the current record, or one of its lines, to the quarantine.
   *
   * @param value the record's value, or a batch that contains only the refused line
   * @param line the number of the line, from 1; 0 if the whole record is refused
   * @param reason the reason for which the record or line cannot be counted
   */
  void quarantine(byte[] value, int line, String reason);

  /**
   * Writes a record of the refused lines that a replay has counted. A repeated replay writes the
   * same record again.
   *
   * @param replay the record in which the lines were refused
   * @param lines the numbers of the lines in the refused record, ascending; empty if the whole
   *     record was counted
   */
  void replayed(Replay replay, List<Integer> lines);
}
