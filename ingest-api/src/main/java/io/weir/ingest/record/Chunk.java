// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

/**
 * Lines of one partition that were written together; the piece of which batches are cut.
 *
 * @param partition partition of the calls topic
 * @param firstLine number of the first line, counted from 1
 * @param count lines, ≥ 1
 * @param oldestEpochMillis no call of these lines was decided before; 0 when that is not known
 * @param lines the lines, each ended by a line feed; not copied, so nobody may write to it
 */
@SuppressWarnings("ArrayRecordComponent") // compared by identity only, copied never: a hot path
public record Chunk(
    int partition, long firstLine, int count, long oldestEpochMillis, byte[] lines) {
  /** Lines of calls of any time. */
  public Chunk(int partition, long firstLine, int count, byte[] lines) {
    this(partition, firstLine, count, 0, lines);
  }

  public Chunk {
    if (partition < 0 || firstLine < 1 || count < 1) {
      throw new IllegalArgumentException(
          "not a chunk: partition " + partition + " line " + firstLine + " count " + count);
    }
  }

  /** Number of the last line. */
  public long lastLine() {
    return firstLine + count - 1;
  }
}
