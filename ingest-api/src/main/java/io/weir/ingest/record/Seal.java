// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.topics.model.BatchHeader;

/**
 * What a batch is made of, written before it is first sent. Together with the lines in the journal
 * it makes the same bytes again, under the same number.
 *
 * @param partition partition of the calls topic
 * @param batchSequence number of the batch, ≥ 1
 * @param linesBefore lines of the partition in batches with a smaller number
 * @param count lines in the batch, ≥ 1
 * @param bytes size of the batch
 * @param checksum CRC-32C of the batch's bytes
 * @param lowWatermarkEpochMillis the promise that the batch carries
 */
public record Seal(
    int partition,
    long batchSequence,
    long linesBefore,
    int count,
    int bytes,
    int checksum,
    long lowWatermarkEpochMillis) {

  /** Lines of the partition up to the end of this batch. */
  public long linesThrough() {
    return linesBefore + count;
  }

  BatchHeader header(JournalIdentity journal) {
    return new BatchHeader(
        journal.node(),
        journal.epoch(),
        batchSequence,
        count,
        lowWatermarkEpochMillis,
        linesBefore,
        false);
  }
}
