// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.topics.model.BatchHeader;
import java.util.List;

/**
 * What one reading of a partition brought.
 *
 * @param batches the batches among the records, in the order of the log
 * @param next the offset behind what was read
 * @param bytes of the values of all records that were read
 */
record Slice(List<Batch> batches, long next, long bytes) {
  Slice {
    batches = List.copyOf(batches);
  }

  /**
   * A record that is a batch, or a heartbeat.
   *
   * @param offset its offset
   * @param appendEpochMillis when the broker took it
   * @param header what its headers say
   * @param value its lines; empty of a heartbeat
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared, never changed
  record Batch(long offset, long appendEpochMillis, BatchHeader header, byte[] value) {}
}
