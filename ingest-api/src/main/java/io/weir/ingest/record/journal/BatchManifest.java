// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record.journal;

import io.weir.topics.model.BatchHeader;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * The description of a sealed batch, journaled before the batch is first sent. The journaled lines
 * and the manifest determine the bytes and the number of the batch in every send. So the journal
 * need not store the batch itself (docs/decisions/0003).
 *
 * <p>A manifest without lines is the final heartbeat of an epoch. This heartbeat states that all
 * lines of the epoch are in batches with smaller numbers.
 *
 * @param partition partition of the calls topic
 * @param epoch epoch of the journal in which the lines were appended
 * @param linesBeforeEpoch number of lines of the partition that were appended in earlier epochs
 * @param batchSequence number of the batch in its partition, ≥ 1
 * @param linesBefore number of lines of the partition in batches with smaller numbers
 * @param count number of lines in the batch; 0 for a final heartbeat
 * @param bytes size of the batch in bytes
 * @param checksum CRC-32C of the batch's bytes
 * @param lowWatermarkEpochMillis low watermark of the batch, in milliseconds since the epoch
 */
public record BatchManifest(
    int partition,
    long epoch,
    long linesBeforeEpoch,
    long batchSequence,
    long linesBefore,
    int count,
    int bytes,
    int checksum,
    long lowWatermarkEpochMillis) {

  /** Creates the manifest of a batch that has {@code count} lines with the bytes {@code lines}. */
  public static BatchManifest of(
      int partition,
      long epoch,
      long linesBeforeEpoch,
      long batchSequence,
      long linesBefore,
      int count,
      byte[] lines,
      long lowWatermarkEpochMillis) {
    return new BatchManifest(
        partition,
        epoch,
        linesBeforeEpoch,
        batchSequence,
        linesBefore,
        count,
        lines.length,
        checksum(lines),
        lowWatermarkEpochMillis);
  }

  /** Returns the number of lines of the partition up to the end of this batch. */
  public long linesThrough() {
    return linesBefore + count;
  }

  /** Returns whether this is the final heartbeat of its epoch. */
  public boolean isFinalHeartbeat() {
    return count == 0;
  }

  /** Returns the header of the batch, as the given node sends it. */
  public BatchHeader header(String node) {
    return new BatchHeader(
        node,
        epoch,
        batchSequence,
        count,
        lowWatermarkEpochMillis,
        linesBefore,
        linesBeforeEpoch,
        isFinalHeartbeat());
  }

  /**
   * Concatenates chunks to the bytes of the batch, and verifies the lines.
   *
   * @param chunks the batch's chunks, in order
   * @throws JournalException if the position, number, size or checksum of the lines differs from
   *     this manifest
   */
  byte[] join(List<Chunk> chunks) throws JournalException {
    long lastLine = linesBefore;
    for (Chunk chunk : chunks) {
      if (chunk.firstLine() != lastLine + 1) {
        throw mismatch("line " + chunk.firstLine());
      }
      lastLine = chunk.lastLine();
    }
    byte[] joined = Chunk.join(chunks);
    if (lastLine != linesThrough() || joined.length != bytes || checksum(joined) != checksum) {
      throw mismatch(lastLine - linesBefore + " lines");
    }
    return joined;
  }

  private JournalException mismatch(String found) {
    return new JournalException(
        "the lines in the journal do not match the manifest " + this + ": found " + found);
  }

  private static int checksum(byte[] bytes) {
    CRC32C crc = new CRC32C();
    crc.update(bytes);
    return (int) crc.getValue();
  }
}
