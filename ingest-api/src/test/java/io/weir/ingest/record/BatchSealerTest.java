// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.ingest.record.journal.Chunk;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class BatchSealerTest {
  private final BatchSealer.Limits limits = new BatchSealer.Limits(10, 1_000);

  @Test
  void cut_exactlyFull_isOneBatch() {
    assertEquals(List.of(10), lines(limits.cut(chunks(4, 6), false)));
  }

  @Test
  void cut_nextWouldNotFit_endsBeforeIt() {
    assertEquals(List.of(7), lines(limits.cut(chunks(7, 6), false)));
  }

  @Test
  void cut_remainderNotRequested_isKeptBack() {
    assertEquals(List.of(10), lines(limits.cut(chunks(10, 3), false)));
  }

  @Test
  void cut_remainderRequested_isTheLastBatch() {
    assertEquals(List.of(10, 3), lines(limits.cut(chunks(10, 3), true)));
  }

  @Test
  void cut_bytesAboveTheBound_isABatchOfItsOwn() {
    List<Chunk> chunks =
        List.of(new Chunk(0, 1, 1, 0, new byte[10]), new Chunk(0, 2, 1, 0, new byte[1_500]));

    assertEquals(List.of(1, 1), lines(limits.cut(chunks, false)));
  }

  private static List<Chunk> chunks(int... counts) {
    List<Chunk> chunks = new ArrayList<>();
    long line = 1;
    for (int count : counts) {
      chunks.add(new Chunk(0, line, count, 0, new byte[count]));
      line += count;
    }
    return chunks;
  }

  private static List<Integer> lines(List<List<Chunk>> batches) {
    return batches.stream().map(batch -> batch.stream().mapToInt(Chunk::count).sum()).toList();
  }
}
