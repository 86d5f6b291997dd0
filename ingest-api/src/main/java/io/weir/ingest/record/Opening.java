// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.clock.LocalClock;
import io.weir.ingest.record.journal.BatchManifest;
import io.weir.ingest.record.journal.Chunk;
import io.weir.ingest.record.journal.Journal;
import io.weir.ingest.record.journal.JournalException;
import io.weir.ingest.record.journal.JournalIdentity;
import java.util.ArrayList;
import java.util.List;

/**
 * Opens a journal that was there before: what is left of it is sealed as lines of its old epoch,
 * with a goodbye behind them, and a new epoch begins. Stateless.
 *
 * <p>The lines left keep their epoch and their positions. So whoever counts them drops those that
 * have come already, whatever the journal knows of that: it may be a copy, or have lost its end.
 */
final class Opening {
  private static final long NANOS_PER_MICRO = 1_000;

  private Opening() {}

  /**
   * Begins the next epoch of a journal; does nothing to a new one.
   *
   * @throws JournalException when it cannot be read or written
   */
  static void begin(Journal journal, BatchCutter cutter, LocalClock clock) throws JournalException {
    if (journal.isNew()) {
      return;
    }
    JournalIdentity before = journal.identity();
    List<BatchManifest> seals = new ArrayList<>();
    for (int partition = 0; partition < before.partitions(); partition++) {
      seal(partition, journal, before.epoch(), cutter, seals);
    }
    journal.beginEpoch(
        before.next(clock.nowEpochMillis(), clock.nowNanos() / NANOS_PER_MICRO), seals);
  }

  private static void seal(
      int partition, Journal journal, long epoch, BatchCutter cutter, List<BatchManifest> seals)
      throws JournalException {
    Journal.Recovered found = journal.recover(partition);
    long sequence = found.sealedBatches();
    long linesBefore = found.sealedLines();
    long promise = found.sealedLowWatermarkEpochMillis();
    for (List<Chunk> chunks : cutter.cut(found.unsealed(), true)) {
      byte[] lines = Chunk.join(chunks);
      BatchManifest seal =
          BatchManifest.of(
              partition,
              epoch,
              found.linesBeforeEpoch(),
              ++sequence,
              linesBefore,
              chunks.stream().mapToInt(Chunk::count).sum(),
              lines,
              promise);
      seals.add(seal);
      linesBefore = seal.linesThrough();
    }
    // a journal that may have lost lines does not say that it has told all
    if (!journal.mayLackTail()) {
      seals.add(
          BatchManifest.of(
              partition,
              epoch,
              found.linesBeforeEpoch(),
              ++sequence,
              linesBefore,
              0,
              new byte[0],
              promise));
    }
  }
}
