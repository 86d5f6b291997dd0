// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.ingest.record.journal.BatchManifest;
import io.weir.ingest.record.journal.Chunk;
import io.weir.ingest.record.journal.Journal;
import io.weir.ingest.record.journal.JournalException;
import io.weir.ingest.record.journal.JournalIdentity;
import io.weir.topics.model.UsagePosition;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * A journal on a disk. The disk survives the death of the process. A write may fail, or kill the
 * process.
 */
final class SimulatedJournal implements Journal {
  private final List<Lines> partitions = new ArrayList<>();
  private JournalIdentity identity;
  private final Set<Chunk> refusedThoughWritten = new HashSet<>();
  private boolean isNew = true;
  private boolean mayLackTail;
  private Trouble trouble = Trouble.NONE;

  /** The effect of the next writes. */
  enum Trouble {
    NONE,
    /** The write has no effect, and the writer receives an error. */
    FAILS,
    /** The write succeeds, but the writer receives an error. */
    FAILS_THOUGH_WRITTEN,
    /** The process is killed before it writes. */
    KILLED_BEFORE,
    /** The process is killed after it has written. */
    KILLED_AFTER
  }

  private static final class Lines {
    final TreeMap<Long, Chunk> chunks = new TreeMap<>();
    final TreeMap<Long, BatchManifest> manifests = new TreeMap<>();
    long ackedBatches;
    long ackedLines;
    long lowWatermarkEpochMillis;
    long linesBeforeEpoch;

    Lines copy() {
      Lines copy = new Lines();
      copy.chunks.putAll(chunks);
      copy.manifests.putAll(manifests);
      copy.ackedBatches = ackedBatches;
      copy.ackedLines = ackedLines;
      copy.lowWatermarkEpochMillis = lowWatermarkEpochMillis;
      copy.linesBeforeEpoch = linesBeforeEpoch;
      return copy;
    }
  }

  /** One write of the journal. */
  private interface Write {
    void run();
  }

  SimulatedJournal(JournalIdentity identity) {
    this.identity = identity;
    for (int partition = 0; partition < identity.partitions(); partition++) {
      partitions.add(new Lines());
    }
  }

  /**
   * Returns a copy of the disk. The copy lacks lines whose writer received an error: these lines
   * are not yet forced to the disk, and the writer may reuse their positions.
   */
  SimulatedJournal copy() {
    SimulatedJournal copy = new SimulatedJournal(identity);
    copy.partitions.clear();
    partitions.forEach(lines -> copy.partitions.add(lines.copy()));
    copy.partitions.forEach(lines -> lines.chunks.values().removeAll(refusedThoughWritten));
    return copy;
  }

  /** Prepares the journal for a process that did not create the journal. */
  void reopen(boolean powerWasLost) {
    isNew = false;
    mayLackTail = powerWasLost;
    refusedThoughWritten.clear(); // the lines that are found now stay
  }

  /** Returns whether the journal contains, or has contained, a line. */
  boolean holds(UsagePosition position) {
    Lines lines = partitions.get(position.partition());
    long last =
        lines.chunks.isEmpty() ? lines.ackedLines : lines.chunks.lastEntry().getValue().lastLine();
    return position.nodeEpoch() <= identity.epoch()
        && position.line() <= Math.max(last, lines.ackedLines);
  }

  /** Sets the effect of the next writes. Only the first of these writes kills the process. */
  void trouble(Trouble next) {
    trouble = next;
  }

  private void write(Write write) throws JournalException {
    Trouble now = trouble;
    if (now == Trouble.KILLED_BEFORE || now == Trouble.KILLED_AFTER) {
      trouble = Trouble.NONE;
    }
    if (now == Trouble.NONE || now == Trouble.FAILS_THOUGH_WRITTEN || now == Trouble.KILLED_AFTER) {
      write.run();
    }
    switch (now) {
      case NONE -> {}
      case FAILS, FAILS_THOUGH_WRITTEN -> throw new JournalException("no space left on device");
      case KILLED_BEFORE, KILLED_AFTER -> throw new Crash("in a write of the journal");
    }
  }

  @Override
  public JournalIdentity identity() {
    return identity;
  }

  @Override
  public boolean isNew() {
    return isNew;
  }

  @Override
  public boolean mayLackTail() {
    return mayLackTail;
  }

  @Override
  public void beginEpoch(JournalIdentity next, List<BatchManifest> manifests) {
    for (int partition = 0; partition < partitions.size(); partition++) {
      partitions.get(partition).linesBeforeEpoch = recover(partition).sealedLines();
    }
    for (BatchManifest manifest : manifests) {
      Lines lines = partitions.get(manifest.partition());
      lines.manifests.put(manifest.batchSequence(), manifest);
      lines.linesBeforeEpoch = manifest.linesThrough();
    }
    identity = next;
    mayLackTail = false;
  }

  @Override
  public Recovered recover(int partition) {
    Lines lines = partitions.get(partition);
    List<BatchManifest> manifests =
        List.copyOf(lines.manifests.tailMap(lines.ackedBatches, false).values());
    long sealedLines =
        manifests.isEmpty() ? lines.ackedLines : manifests.get(manifests.size() - 1).linesThrough();
    List<Chunk> unsealed = List.copyOf(lines.chunks.tailMap(sealedLines, false).values());
    return new Recovered(
        lines.ackedBatches,
        lines.ackedLines,
        lines.lowWatermarkEpochMillis,
        lines.linesBeforeEpoch,
        manifests,
        unsealed);
  }

  @Override
  public void append(List<Chunk> chunks) throws JournalException {
    List<Chunk> kept = List.copyOf(chunks);
    if (trouble == Trouble.FAILS_THOUGH_WRITTEN) {
      refusedThoughWritten.addAll(kept);
    }
    write(
        () -> {
          for (Chunk chunk : kept) {
            partitions.get(chunk.partition()).chunks.put(chunk.firstLine(), chunk);
          }
        });
  }

  @Override
  public void seal(List<BatchManifest> manifests) throws JournalException {
    write(
        () ->
            manifests.forEach(
                manifest ->
                    partitions
                        .get(manifest.partition())
                        .manifests
                        .put(manifest.batchSequence(), manifest)));
  }

  @Override
  public byte[] read(BatchManifest manifest) throws JournalException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    for (Chunk chunk :
        partitions
            .get(manifest.partition())
            .chunks
            .subMap(manifest.linesBefore(), false, manifest.linesThrough(), true)
            .values()) {
      bytes.writeBytes(chunk.lines());
    }
    if (bytes.size() != manifest.bytes()) {
      throw new JournalException("the lines of the journal do not match " + manifest);
    }
    return bytes.toByteArray();
  }

  @Override
  public void acknowledge(List<BatchManifest> manifests) throws JournalException {
    write(
        () -> {
          for (BatchManifest manifest : manifests) {
            Lines lines = partitions.get(manifest.partition());
            lines.ackedBatches = manifest.batchSequence();
            lines.ackedLines = manifest.linesThrough();
            lines.lowWatermarkEpochMillis = manifest.lowWatermarkEpochMillis();
          }
        });
  }

  @Override
  public void trim() {
    for (Lines lines : partitions) {
      lines.chunks.headMap(lines.ackedLines, true).clear();
      Map<Long, BatchManifest> acked = lines.manifests.headMap(lines.ackedBatches, true);
      acked.clear();
    }
  }

  @Override
  public void close() {
    // the disk survives
  }
}
