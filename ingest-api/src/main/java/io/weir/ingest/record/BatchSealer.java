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
 * Cuts pending lines into batches, and gives each batch a number and a low watermark. Journals the
 * manifest of each batch before the batch is sent. Confined to the recording thread.
 *
 * <p>The sealer seals a partition's lines when they fill a batch. Lines that do not fill a batch
 * wait for the linger time, and until Kafka has acknowledged all earlier batches of the partition.
 * So at most one batch that is not full waits for Kafka, and a slow Kafka or an outage leads to
 * larger batches (Nagle's algorithm, RFC 896).
 *
 * <p>The low watermark advances with every batch. If lines remain pending behind a full batch, the
 * watermark is at most the time of their oldest call.
 */
final class BatchSealer {
  /**
   * Maximum number of sealed bytes kept in memory. Further batches are read from the journal when
   * they are sent.
   */
  private static final long MAX_RETAINED_BYTES = 32L * 1024 * 1024;

  private static final long NANOS_PER_MICRO = 1_000;

  private final Journal journal;
  private final List<PartitionBuffer> buffers;
  private final LowWatermark watermark;
  private final Limits limits;
  private final long lingerNanos;
  private final RecordStatistics statistics;
  private final LocalClock clock;
  private long retainedBytes;

  BatchSealer(
      Journal journal,
      List<PartitionBuffer> buffers,
      LowWatermark watermark,
      Limits limits,
      long lingerNanos,
      RecordStatistics statistics,
      LocalClock clock) {
    this.journal = journal;
    this.buffers = buffers;
    this.watermark = watermark;
    this.limits = limits;
    this.lingerNanos = lingerNanos;
    this.statistics = statistics;
    this.clock = clock;
  }

  /**
   * Begins the next epoch of an existing journal. Seals the journal's unsealed lines as lines of
   * the old epoch, followed by the old epoch's final heartbeat. Leaves a new journal unchanged.
   *
   * <p>The lines keep their epoch and their positions. So the aggregator recognizes lines that it
   * has already counted, even if the journal is a copy or has lost its last lines.
   *
   * @throws JournalException when the journal cannot be read or written
   */
  static void beginEpoch(Journal journal, Limits limits, LocalClock clock) throws JournalException {
    if (journal.isNew()) {
      return;
    }
    JournalIdentity identity = journal.identity();
    List<BatchManifest> manifests = new ArrayList<>();
    for (int partition = 0; partition < identity.partitions(); partition++) {
      sealRecovered(journal, partition, limits, manifests);
    }
    journal.beginEpoch(
        identity.next(clock.nowEpochMillis(), clock.nowNanos() / NANOS_PER_MICRO), manifests);
  }

  private static void sealRecovered(
      Journal journal, int partition, Limits limits, List<BatchManifest> manifests)
      throws JournalException {
    Journal.Recovered recovered = journal.recover(partition);
    List<List<Chunk>> batches = limits.cut(recovered.unsealed(), true);
    // the final heartbeat states that the epoch has lost no line
    if (!journal.mayLackTail()) {
      batches.add(List.of());
    }
    long batchSequence = recovered.sealedBatches();
    long linesBefore = recovered.sealedLines();
    for (List<Chunk> chunks : batches) {
      BatchManifest manifest =
          BatchManifest.of(
              partition,
              journal.identity().epoch(),
              recovered.linesBeforeEpoch(),
              ++batchSequence,
              linesBefore,
              count(chunks),
              Chunk.join(chunks),
              recovered.sealedLowWatermarkEpochMillis());
      manifests.add(manifest);
      linesBefore = manifest.linesThrough();
    }
  }

  /**
   * Seals the lines that are due.
   *
   * @param everything whether all pending lines are due
   */
  void seal(boolean everything) throws JournalException {
    long nowNanos = clock.nowNanos();
    // Advance the watermark before reading the lines. Then the lines include every call before the
    // watermark.
    long advancedEpochMillis = watermark.advance();
    List<SealedBatch> batches = new ArrayList<>();
    for (PartitionBuffer buffer : buffers) {
      boolean withRest = everything || hasLingered(buffer, nowNanos);
      if (withRest || buffer.isFull(limits)) {
        cut(buffer, withRest, advancedEpochMillis, batches);
      }
    }
    if (batches.isEmpty()) {
      return;
    }
    journal.seal(batches.stream().map(SealedBatch::manifest).toList());
    for (SealedBatch batch : batches) {
      buffers.get(batch.manifest().partition()).seal(batch, nowNanos);
      statistics.sealed(batch.manifest());
      retainedBytes += batch.retainedBytes();
    }
  }

  /** Records that an acknowledged batch no longer occupies memory. */
  void release(SealedBatch batch) {
    retainedBytes -= batch.retainedBytes();
  }

  private boolean hasLingered(PartitionBuffer buffer, long nowNanos) {
    return !buffer.hasSealed()
        && buffer.hasPending()
        && nowNanos - buffer.pendingSinceNanos() >= lingerNanos;
  }

  private void cut(
      PartitionBuffer buffer,
      boolean withRest,
      long advancedEpochMillis,
      List<SealedBatch> sealed) {
    List<Chunk> pending = buffer.pending();
    List<List<Chunk>> batches = limits.cut(pending, withRest);
    long lastWatermark =
        Math.max(
            Math.min(advancedEpochMillis, oldestBehind(batches, pending)),
            buffer.lowWatermarkEpochMillis());
    long batchSequence = buffer.sealedBatches();
    long linesBefore = buffer.sealedLines();
    long retained = retainedBytes;
    for (int i = 0; i < batches.size(); i++) {
      List<Chunk> chunks = batches.get(i);
      byte[] lines = Chunk.join(chunks);
      // only the last batch may advance the watermark, at most to the time of the oldest line that
      // remains pending
      boolean last = i == batches.size() - 1;
      BatchManifest manifest =
          BatchManifest.of(
              buffer.partition(),
              buffer.epoch(),
              buffer.linesBeforeEpoch(),
              ++batchSequence,
              linesBefore,
              count(chunks),
              lines,
              last ? lastWatermark : buffer.lowWatermarkEpochMillis());
      retained += lines.length;
      sealed.add(
          new SealedBatch(
              manifest, retained <= MAX_RETAINED_BYTES ? lines : null, buffer.pendingSinceNanos()));
      linesBefore = manifest.linesThrough();
    }
  }

  /** Returns a lower bound of the times of the calls that stay pending after these batches. */
  private static long oldestBehind(List<List<Chunk>> batches, List<Chunk> pending) {
    int cut = batches.stream().mapToInt(List::size).sum();
    return pending.stream()
        .skip(cut)
        .mapToLong(Chunk::oldestEpochMillis)
        .min()
        .orElse(Long.MAX_VALUE);
  }

  private static int count(List<Chunk> chunks) {
    return chunks.stream().mapToInt(Chunk::count).sum();
  }

  /**
   * The limits at which a batch is full.
   *
   * @param maxLines maximum number of lines in a batch, ≥ 1; no chunk has more lines
   * @param maxBytes maximum size of a batch in bytes; a larger chunk forms a batch alone
   */
  record Limits(int maxLines, int maxBytes) {

    boolean isFull(int lines, long bytes) {
      return lines >= maxLines || bytes >= maxBytes;
    }

    /**
     * Groups chunks into batches, in order. Never splits a chunk.
     *
     * @param chunks the chunks, in order
     * @param withRest whether the last chunks form a batch even if they do not fill it; if false,
     *     the result omits these chunks
     */
    List<List<Chunk>> cut(List<Chunk> chunks, boolean withRest) {
      List<List<Chunk>> batches = new ArrayList<>();
      List<Chunk> batch = new ArrayList<>();
      int lines = 0;
      long bytes = 0;
      for (Chunk chunk : chunks) {
        boolean fits =
            lines + chunk.count() <= maxLines && bytes + chunk.lines().length <= maxBytes;
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
}
