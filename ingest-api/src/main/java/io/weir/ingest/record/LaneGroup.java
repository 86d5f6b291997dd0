// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.record.journal.Chunk;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The lines of one lane in the group that is being committed. Used over and over by the committer.
 */
final class LaneGroup {
  /** Room for some lines; it grows to what a group needs and stays so. */
  private static final int FIRST_BYTES = 4 * 1024;

  private final Lane lane;
  private final BatchCutter cutter;
  private final List<Chunk> chunks = new ArrayList<>();
  private final List<Lane.Waiter> waiters = new ArrayList<>();
  private byte[] buffer = new byte[FIRST_BYTES];
  private int filledBytes;
  private int count;
  private long lastLine;
  private long oldestEpochMillis = Long.MAX_VALUE;

  LaneGroup(Lane lane, BatchCutter cutter) {
    this.lane = lane;
    this.cutter = cutter;
  }

  boolean isEmpty() {
    return count == 0 && chunks.isEmpty();
  }

  /**
   * Adds a line and gives it its number.
   *
   * @param begunAtEpochMillis the call was not decided before
   */
  long add(byte[] line, long begunAtEpochMillis) {
    if (isEmpty()) {
      lastLine = lane.appendedLines();
    }
    int neededBytes = filledBytes + line.length + 1;
    if (neededBytes > buffer.length) {
      buffer = Arrays.copyOf(buffer, Math.max(neededBytes, 2 * buffer.length));
    }
    System.arraycopy(line, 0, buffer, filledBytes, line.length);
    buffer[neededBytes - 1] = '\n';
    filledBytes = neededBytes;
    count++;
    oldestEpochMillis = Math.min(oldestEpochMillis, begunAtEpochMillis);
    lastLine++;
    if (cutter.isFull(count, filledBytes)) {
      endChunk();
    }
    return lastLine;
  }

  void await(long line, Append append) {
    waiters.add(new Lane.Waiter(line, append));
  }

  /** The chunks of this group, to be written. */
  List<Chunk> chunks() {
    if (count > 0) {
      endChunk();
    }
    return chunks;
  }

  private void endChunk() {
    chunks.add(
        new Chunk(
            lane.partition(),
            lastLine - count + 1,
            count,
            oldestEpochMillis,
            Arrays.copyOf(buffer, filledBytes)));
    clearLines();
  }

  /**
   * Hands the lines, which the journal has, to the lane.
   *
   * @return whether the lane has a full batch now
   */
  boolean handOver(long nowNanos) {
    lane.add(chunks, waiters, nowNanos);
    clear();
    return lane.isFull(cutter);
  }

  /** Forgets the lines. */
  void clear() {
    chunks.clear();
    waiters.clear();
    clearLines();
  }

  private void clearLines() {
    filledBytes = 0;
    count = 0;
    oldestEpochMillis = Long.MAX_VALUE;
  }
}
