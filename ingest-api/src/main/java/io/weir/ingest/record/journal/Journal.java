// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record.journal;

import java.nio.file.Path;
import java.util.List;
import java.util.function.Supplier;

/**
 * Stores lines until Kafka has acknowledged them. One thread at a time may append. One other thread
 * may seal, read, acknowledge and trim.
 */
public interface Journal extends AutoCloseable {
  /**
   * Opens the journal in a folder, or creates one. The journal survives a kill of the process. Only
   * one process at a time may use a folder.
   *
   * @param fsync whether each append waits until the disk has stored the lines, so that a power
   *     loss loses no line
   * @param fresh supplies the identity of a new journal; called only if there is no journal
   * @throws JournalException if the folder cannot be used. The message names the folder and the
   *     reason. If {@code fresh} throws an exception, that exception is the cause
   */
  static Journal open(Path folder, boolean fsync, Supplier<JournalIdentity> fresh)
      throws JournalException {
    return RocksJournal.open(folder, fsync, fresh);
  }

  /** Creates a journal in memory, which is lost when the process ends. */
  static Journal inMemory(JournalIdentity identity) {
    return new MemoryJournal(identity);
  }

  /**
   * Returns the identity of the current epoch. Before {@link #beginEpoch}, this is the previous
   * epoch.
   */
  JournalIdentity identity();

  /** Returns whether the opening of the journal created a new journal. */
  boolean isNew();

  /**
   * Returns whether the last lines may be missing although their append succeeded. Lines may be
   * missing if appends did not wait for the disk, and the machine has restarted or the folder is
   * now on another machine.
   */
  boolean mayLackTail();

  /**
   * Begins the next epoch. The change is atomic and durable.
   *
   * @param manifests batches of all unsealed lines of earlier epochs
   */
  void beginEpoch(JournalIdentity next, List<BatchManifest> manifests) throws JournalException;

  /** Returns the content of the journal for a partition, as of the time of opening. */
  Recovered recover(int partition) throws JournalException;

  /**
   * Appends all lines, or none if this method throws an exception. When the method returns, the
   * lines survive a kill of the process; with {@code fsync} they also survive a power loss.
   */
  void append(List<Chunk> chunks) throws JournalException;

  /**
   * Stores all manifests, or none if this method throws an exception. Must be called before any of
   * the batches is sent.
   */
  void seal(List<BatchManifest> manifests) throws JournalException;

  /**
   * Reads the bytes of a sealed batch that is not acknowledged. Every read returns the same bytes.
   */
  byte[] read(BatchManifest manifest) throws JournalException;

  /**
   * Records that Kafka has acknowledged these batches and all earlier batches of their partitions.
   */
  void acknowledge(List<BatchManifest> manifests) throws JournalException;

  /** Frees the space of acknowledged lines. Must be called from time to time. */
  void trim() throws JournalException;

  @Override
  void close();

  /**
   * The content of a journal for one partition, as of the time of opening.
   *
   * @param ackedBatches number of the last acknowledged batch; 0 if there is none
   * @param ackedLines number of acknowledged lines
   * @param ackedLowWatermarkEpochMillis low watermark of the last acknowledged batch; 0 if there is
   *     none
   * @param linesBeforeEpoch number of lines appended before the epoch of {@link #identity}
   * @param sealed batches that are sealed but not acknowledged, in order
   * @param unsealed lines that are not in a batch, in order
   */
  record Recovered(
      long ackedBatches,
      long ackedLines,
      long ackedLowWatermarkEpochMillis,
      long linesBeforeEpoch,
      List<BatchManifest> sealed,
      List<Chunk> unsealed) {

    /** The content of a new journal. */
    public static final Recovered NOTHING = new Recovered(0, 0, 0, 0, List.of(), List.of());

    public Recovered {
      sealed = List.copyOf(sealed);
      unsealed = List.copyOf(unsealed);
    }

    /** Returns the number of the last sealed batch. */
    public long sealedBatches() {
      return sealed.isEmpty() ? ackedBatches : lastSealed().batchSequence();
    }

    /** Returns the number of lines in sealed batches. */
    public long sealedLines() {
      return sealed.isEmpty() ? ackedLines : lastSealed().linesThrough();
    }

    /** Returns the low watermark of the last sealed batch. */
    public long sealedLowWatermarkEpochMillis() {
      return sealed.isEmpty()
          ? ackedLowWatermarkEpochMillis
          : lastSealed().lowWatermarkEpochMillis();
    }

    private BatchManifest lastSealed() {
      return sealed.get(sealed.size() - 1);
    }
  }
}
