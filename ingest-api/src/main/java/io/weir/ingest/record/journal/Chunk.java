// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record.journal;

import java.util.List;

/**
 * Consecutive lines of one partition that the journal appends in one write. A batch consists of
 * whole chunks.
 *
 * @param partition partition of the calls topic
 * @param firstLine number of the first line; a partition's lines are numbered from 1
 * @param count number of lines, ≥ 1
 * @param oldestEpochMillis lower bound of the decision times of the lines' calls, in milliseconds
 *     since the epoch; 0 when unknown
 * @param lines the encoded lines: a batch, as in the value of a record of the calls topic. The
 *     array is not copied and must not be modified
 */
@SuppressWarnings("ArrayRecordComponent") // not copied on this hot path
public record Chunk(
    int partition, long firstLine, int count, long oldestEpochMillis, byte[] lines) {
  public Chunk {
    if (partition < 0 || firstLine < 1 || count < 1) {
      throw new IllegalArgumentException(
          "a chunk must have partition >= 0, firstLine >= 1 and count >= 1, but has partition "
              + partition
              + ", firstLine "
              + firstLine
              + " and count "
              + count);
    }
  }

  /** Returns the number of the last line. */
  public long lastLine() {
    return firstLine + count - 1;
  }

  /**
   * Concatenates the encoded lines of chunks. The result is a batch of all these lines. If there is
   * only one chunk, returns the chunk's own array, not a copy.
   */
  public static byte[] join(List<Chunk> chunks) {
    if (chunks.size() == 1) {
      return chunks.get(0).lines;
    }
    int totalBytes = 0;
    for (Chunk chunk : chunks) {
      totalBytes = Math.addExact(totalBytes, chunk.lines.length);
    }
    byte[] joined = new byte[totalBytes];
    int offset = 0;
    for (Chunk chunk : chunks) {
      System.arraycopy(chunk.lines, 0, joined, offset, chunk.lines.length);
      offset += chunk.lines.length;
    }
    return joined;
  }
}
