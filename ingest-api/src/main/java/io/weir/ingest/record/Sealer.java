// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.clock.LocalClock;
import io.weir.ingest.record.journal.BatchManifest;
import io.weir.ingest.record.journal.Chunk;
import io.weir.ingest.record.journal.Journal;
import io.weir.ingest.record.journal.JournalException;
import java.util.ArrayList;
import java.util.List;

/**
 * Cuts pending lines into batches, gives them their numbers and promises, and journals that before
 * anyone can send them. Of the record loop's thread.
 *
 * <p>A partition is sealed when it has a full batch, or when its lines have lingered and Kafka has
 * all its earlier batches. So at most one batch that is not full waits for Kafka: the longer Kafka
 * takes, the fuller the batches (Nagle, RFC 896), and after an outage few large ones are sent.
 *
 * <p>The promise advances with every batch, also where no line ever lingers: what is left behind a
 * full batch is known by the time of its oldest call.
 */
final class Sealer {
  /** Bytes of sealed batches kept in memory; what is beyond is read from the journal again. */
  private static final long MAX_RETAINED_BYTES = 32L * 1024 * 1024;

  private final Journal journal;
  private final List<Lane> lanes;
  private final LowWatermark watermark;
  private final BatchCutter cutter;
  private final long lingerNanos;
  private final RecordStatistics statistics;
  private final LocalClock clock;
  private long retainedBytes;

  Sealer(
      Journal journal,
      List<Lane> lanes,
      LowWatermark watermark,
      BatchCutter cutter,
      long lingerNanos,
      RecordStatistics statistics,
      LocalClock clock) {
    this.journal = journal;
    this.lanes = lanes;
    this.watermark = watermark;
    this.cutter = cutter;
    this.lingerNanos = lingerNanos;
    this.statistics = statistics;
    this.clock = clock;
  }

  /** A batch, the lane it is for, and how many pending chunks are in it. */
  private record Cut(Lane lane, SealedBatch batch, int chunks) {}

  /**
   * Seals what is due.
   *
   * @param everything true when all pending lines are due
   */
  void seal(boolean everything) throws JournalException {
    long nowNanos = clock.nowNanos();
    // the promise comes before the lines are looked at: whatever it covers is among them
    long promise = watermark.promise();
    List<Cut> cuts = new ArrayList<>();
    for (Lane lane : lanes) {
      boolean withRest = everything || hasLingered(lane, nowNanos);
      if (withRest || lane.isFull(cutter)) {
        cut(lane, withRest, promise, cuts);
      }
    }
    if (cuts.isEmpty()) {
      return;
    }
    journal.seal(cuts.stream().map(cut -> cut.batch().seal()).toList());
    for (Cut cut : cuts) {
      cut.lane().seal(cut.batch(), cut.chunks(), nowNanos);
      statistics.sealed(cut.batch().seal());
      byte[] lines = cut.batch().lines();
      retainedBytes += lines == null ? 0 : lines.length;
    }
  }

  /** To be told when a batch is given up from memory, since Kafka has it. */
  void released(SealedBatch batch) {
    byte[] lines = batch.lines();
    retainedBytes -= lines == null ? 0 : lines.length;
  }

  private boolean hasLingered(Lane lane, long nowNanos) {
    return !lane.hasSealed()
        && lane.hasPending()
        && nowNanos - lane.pendingSinceNanos() >= lingerNanos;
  }

  /** No line that is left behind the batches is of a call decided before. */
  private static long oldestBehind(List<List<Chunk>> batches, List<Chunk> pending) {
    int cut = batches.stream().mapToInt(List::size).sum();
    return pending.stream()
        .skip(cut)
        .mapToLong(Chunk::oldestEpochMillis)
        .min()
        .orElse(Long.MAX_VALUE);
  }

  private void cut(Lane lane, boolean withRest, long promise, List<Cut> cuts) {
    List<Chunk> pending = lane.pending();
    List<List<Chunk>> batches = cutter.cut(pending, withRest);
    long covered = Math.min(promise, oldestBehind(batches, pending));
    long sequence = lane.sealedBatches();
    long linesBefore = lane.sealedLines();
    long bytesRetained = retainedBytes;
    for (int i = 0; i < batches.size(); i++) {
      List<Chunk> chunks = batches.get(i);
      byte[] lines = Chunk.join(chunks);
      int count = chunks.stream().mapToInt(Chunk::count).sum();
      // only the last batch may promise, and no more than that nothing older is left behind it
      boolean last = i == batches.size() - 1;
      BatchManifest seal =
          BatchManifest.of(
              lane.partition(),
              lane.epoch(),
              lane.linesBeforeEpoch(),
              ++sequence,
              linesBefore,
              count,
              lines,
              last ? Math.max(covered, lane.promiseEpochMillis()) : lane.promiseEpochMillis());
      bytesRetained += lines.length;
      boolean retain = bytesRetained <= MAX_RETAINED_BYTES;
      cuts.add(
          new Cut(
              lane,
              new SealedBatch(seal, retain ? lines : null, lane.pendingSinceNanos()),
              chunks.size()));
      linesBefore += count;
    }
  }
}
