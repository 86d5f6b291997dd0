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
 * Receives what the counting of a partition writes, in order, to the same partition of the other
 * topics.
 */
public interface CountOutput extends AuditOutput {
  /** Writes a row of the ledger; the time stamp is the broker's time of the record behind it. */
  void ledger(LedgerRow row, long timestampEpochMillis);

  /** Writes the newest figures of a key and window. */
  void state(UsageState state, long timestampEpochMillis);

  /** Writes how far the partition is counted; everything up to there was written before. */
  void progress(PartitionProgress progress, long timestampEpochMillis);

  /** Writes the outcome of a settlement. */
  void settled(SettlementVerdict verdict, long timestampEpochMillis);

  /**
   * Writes what could not be counted of the current record to the quarantine.
   *
   * @param value the record's value, or one line of it
   * @param line the number of the line, from 1; 0 when the whole record is refused
   * @param reason what is wrong with it
   */
  void quarantine(byte[] value, int line, String reason);

  /**
   * Writes that refused lines have been counted after all; once more for each repeated replay.
   *
   * @param replay where the lines were refused
   * @param lines the numbers of the lines there, ascending; empty when the whole record was taken
   */
  void replayed(Replay replay, List<Integer> lines);
}
