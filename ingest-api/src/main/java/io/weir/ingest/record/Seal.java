// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.topics.model.BatchHeader;

/**
 * What a batch is made of, written before it is first sent. Together with the lines in the journal
 * it makes the same bytes again, under the same number.
 *
 * <p>A seal of no line is the goodbye of an epoch: all its lines stand in batches before.
 *
 * @param partition partition of the calls topic
 * @param epoch the opening of the journal in which its lines were written
 * @param linesBeforeEpoch lines of the partition that were written in earlier ones
 * @param batchSequence number of the batch, ≥ 1
 * @param linesBefore lines of the partition in batches with a smaller number
 * @param count lines in the batch; 0 of a goodbye
 * @param bytes size of the batch
 * @param checksum CRC-32C of the batch's bytes
 * @param lowWatermarkEpochMillis the promise that the batch carries
 */
public record Seal(
    int partition,
    long epoch,
    long linesBeforeEpoch,
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

  /** The goodbye of an epoch, behind its last line. */
  static Seal goodbye(
      int partition,
      long epoch,
      long linesBeforeEpoch,
      long batchSequence,
      long linesBefore,
      long lowWatermarkEpochMillis) {
    return new Seal(
        partition,
        epoch,
        linesBeforeEpoch,
        batchSequence,
        linesBefore,
        0,
        0,
        BatchBytes.checksum(new byte[0]),
        lowWatermarkEpochMillis);
  }

  BatchHeader header(String node) {
    return new BatchHeader(
        node,
        epoch,
        batchSequence,
        count,
        lowWatermarkEpochMillis,
        linesBefore,
        linesBeforeEpoch,
        count == 0);
  }
}
