// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.record.journal.Chunk;
import java.util.ArrayList;
import java.util.List;

/**
 * Where one batch ends and the next begins. Batches are made of whole chunks.
 *
 * @param maxLines most lines of a batch; no chunk has more
 * @param maxBytes bytes a batch should not exceed; a chunk that alone does is a batch of its own
 */
record BatchCutter(int maxLines, int maxBytes) {

  boolean isFull(int lines, long bytes) {
    return lines >= maxLines || bytes >= maxBytes;
  }

  /**
   * Cuts chunks into batches.
   *
   * @param chunks in order
   * @param withRest true when what does not fill a batch becomes one all the same, false when it is
   *     left to wait
   */
  List<List<Chunk>> cut(List<Chunk> chunks, boolean withRest) {
    List<List<Chunk>> batches = new ArrayList<>();
    List<Chunk> batch = new ArrayList<>();
    int lines = 0;
    long bytes = 0;
    for (Chunk chunk : chunks) {
      boolean fits = lines + chunk.count() <= maxLines && bytes + chunk.lines().length <= maxBytes;
      if (!fits && !batch.isEmpty()) {
        batches.add(batch);
        batch = new ArrayList<>();
        lines = 0;
        bytes = 0;
      }
      batch.add(chunk);
      lines += chunk.count();
      bytes += chunk.lines().length;
      if (isFull(lines, bytes)) {
        batches.add(batch);
        batch = new ArrayList<>();
        lines = 0;
        bytes = 0;
      }
    }
    if (withRest && !batch.isEmpty()) {
      batches.add(batch);
    }
    return batches;
  }
}
