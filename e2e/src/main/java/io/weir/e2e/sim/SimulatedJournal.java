// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.sim;

import io.weir.ingest.record.Chunk;
import io.weir.ingest.record.Journal;
import io.weir.ingest.record.JournalException;
import io.weir.ingest.record.JournalIdentity;
import io.weir.ingest.record.Seal;
import io.weir.topics.model.UsagePosition;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** A journal on a disk that outlives the process. Its writes may fail, or be its process' last. */
final class SimulatedJournal implements Journal {
  private final List<Lines> partitions = new ArrayList<>();
  private JournalIdentity identity;
  private final Set<Chunk> refusedThoughWritten = new HashSet<>();
  private boolean isNew = true;
  private boolean mayLackItsEnd;
  private Trouble trouble = Trouble.NONE;

  /** What the next writes come to. */
  enum Trouble {
    NONE,
    /** Nothing is written, and the writer is told. */
    FAILS,
    /** It is written, but the writer is told that it is not. */
    FAILS_THOUGH_WRITTEN,
    /** The process is killed before it writes. */
    KILLED_BEFORE,
    /** The process is killed when it has written. */
    KILLED_AFTER
  }

  private static final class Lines {
    final TreeMap<Long, Chunk> chunks = new TreeMap<>();
    final TreeMap<Long, Seal> seals = new TreeMap<>();
    long ackedBatches;
    long ackedLines;
    long promiseEpochMillis;
    long linesBeforeEpoch;

    Lines copy() {
      Lines copy = new Lines();
      copy.chunks.putAll(chunks);
      copy.seals.putAll(seals);
      copy.ackedBatches = ackedBatches;
      copy.ackedLines = ackedLines;
      copy.promiseEpochMillis = promiseEpochMillis;
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
   * A copy of what is on the disk; but lines whose writer was told that they are not, and whose
   * places he may give to others, have not been written through yet.
   */
  SimulatedJournal copy() {
    SimulatedJournal copy = new SimulatedJournal(identity);
    copy.partitions.clear();
    partitions.forEach(lines -> copy.partitions.add(lines.copy()));
    copy.partitions.forEach(lines -> lines.chunks.values().removeAll(refusedThoughWritten));
    return copy;
  }

  /** A process is going to open it that did not make it. */
  void reopen(boolean powerWasLost) {
    isNew = false;
    mayLackItsEnd = powerWasLost;
    refusedThoughWritten.clear(); // what is found now is kept
  }

  /** Whether it holds, or has held, a line. */
  boolean holds(UsagePosition position) {
    Lines lines = partitions.get(position.partition());
    long last =
        lines.chunks.isEmpty() ? lines.ackedLines : lines.chunks.lastEntry().getValue().lastLine();
    return position.nodeEpoch() <= identity.epoch()
        && position.line() <= Math.max(last, lines.ackedLines);
  }

  /** Says what the next writes come to; a kill happens once. */
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
  public boolean mayLackItsEnd() {
    return mayLackItsEnd;
  }

  @Override
  public void begin(JournalIdentity next, List<Seal> seals) {
    for (int partition = 0; partition < partitions.size(); partition++) {
      partitions.get(partition).linesBeforeEpoch = found(partition).sealedLines();
    }
    for (Seal seal : seals) {
      Lines lines = partitions.get(seal.partition());
      lines.seals.put(seal.batchSequence(), seal);
      lines.linesBeforeEpoch = seal.linesThrough();
    }
    identity = next;
    mayLackItsEnd = false;
  }

  @Override
  public Found found(int partition) {
    Lines lines = partitions.get(partition);
    List<Seal> seals = List.copyOf(lines.seals.tailMap(lines.ackedBatches, false).values());
    long sealedLines =
        seals.isEmpty() ? lines.ackedLines : seals.get(seals.size() - 1).linesThrough();
    List<Chunk> unsealed = List.copyOf(lines.chunks.tailMap(sealedLines, false).values());
    return new Found(
        lines.ackedBatches,
        lines.ackedLines,
        lines.promiseEpochMillis,
        lines.linesBeforeEpoch,
        seals,
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
  public void seal(List<Seal> seals) throws JournalException {
    write(
        () ->
            seals.forEach(
                seal -> partitions.get(seal.partition()).seals.put(seal.batchSequence(), seal)));
  }

  @Override
  public byte[] read(Seal seal) throws JournalException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    for (Chunk chunk :
        partitions
            .get(seal.partition())
            .chunks
            .subMap(seal.linesBefore(), false, seal.linesThrough(), true)
            .values()) {
      bytes.writeBytes(chunk.lines());
    }
    if (bytes.size() != seal.bytes()) {
      throw new JournalException("the journal's lines are not those of " + seal);
    }
    return bytes.toByteArray();
  }

  @Override
  public void acknowledge(List<Seal> seals) throws JournalException {
    write(
        () -> {
          for (Seal seal : seals) {
            Lines lines = partitions.get(seal.partition());
            lines.ackedBatches = seal.batchSequence();
            lines.ackedLines = seal.linesThrough();
            lines.promiseEpochMillis = seal.lowWatermarkEpochMillis();
          }
        });
  }

  @Override
  public void trim() {
    for (Lines lines : partitions) {
      lines.chunks.headMap(lines.ackedLines, true).clear();
      Map<Long, Seal> acked = lines.seals.headMap(lines.ackedBatches, true);
      acked.clear();
    }
  }

  @Override
  public void close() {
    // the disk stays
  }
}
