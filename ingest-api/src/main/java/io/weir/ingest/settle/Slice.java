// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.topics.model.BatchHeader;
import java.util.List;

/**
 * The result of one read of a partition.
 *
 * @param batches the batches among the records, in the order of the log
 * @param next the offset after the last record that was read
 * @param bytes total size of the values of all records that were read
 */
record Slice(List<Batch> batches, long next, long bytes) {
  Slice {
    batches = List.copyOf(batches);
  }

  /**
   * A record that is a batch or a heartbeat.
   *
   * @param offset its offset
   * @param appendEpochMillis when the broker appended it
   * @param header its headers, decoded
   * @param value its lines; empty for a heartbeat
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared, never modified
  record Batch(long offset, long appendEpochMillis, BatchHeader header, byte[] value) {}
}
