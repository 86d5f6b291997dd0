// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import java.util.List;

/**
 * Where lines are kept until Kafka has them. One thread at a time appends; one (other) thread
 * seals, reads, acknowledges and trims.
 */
public interface Journal extends AutoCloseable {
  /** Whose journal it is: of the opening that has begun, until then of the one before. */
  JournalIdentity identity();

  /** Whether there was no journal before this opening, which is then its first. */
  boolean isNew();

  /**
   * Whether the end of what was written may be missing although it was kept: writes did not wait
   * for the disk, and the machine has been started again since, or is another one.
   */
  boolean mayLackItsEnd();

  /**
   * Begins the opening that follows, all or nothing and durably.
   *
   * @param seals how what is left of those before is to be sent; after it nothing is unsealed
   */
  void begin(JournalIdentity next, List<Seal> seals) throws JournalException;

  /** What the journal held for a partition when it was opened. */
  Found found(int partition) throws JournalException;

  /**
   * Keeps lines, all or none of them. When it returns, they are as durable as the journal makes.
   */
  void append(List<Chunk> chunks) throws JournalException;

  /** Keeps how batches are cut, all or none, before any of them is sent. */
  void seal(List<Seal> seals) throws JournalException;

  /** The bytes of a sealed batch that is not acknowledged yet: always the same ones. */
  byte[] read(Seal seal) throws JournalException;

  /** Takes note that Kafka has these batches and all before them. */
  void acknowledge(List<Seal> seals) throws JournalException;

  /** Gives back the room of what is acknowledged. To be called now and then. */
  void trim() throws JournalException;

  @Override
  void close();

  /**
   * What a journal held for one partition.
   *
   * @param ackedBatches number of the last acknowledged batch, 0 before the first
   * @param ackedLines lines acknowledged
   * @param promiseEpochMillis promise of the last acknowledged batch, 0 before the first
   * @param linesBeforeEpoch lines that were written before the opening that {@link #identity} says
   * @param seals batches that were sealed and are not acknowledged, in order
   * @param unsealed lines in no batch yet, in order
   */
  record Found(
      long ackedBatches,
      long ackedLines,
      long promiseEpochMillis,
      long linesBeforeEpoch,
      List<Seal> seals,
      List<Chunk> unsealed) {

    /** Of a new journal. */
    public static final Found NOTHING = new Found(0, 0, 0, 0, List.of(), List.of());

    public Found {
      seals = List.copyOf(seals);
      unsealed = List.copyOf(unsealed);
    }

    /** Number of the last batch that is sealed. */
    public long sealedBatches() {
      return seals.isEmpty() ? ackedBatches : seals.get(seals.size() - 1).batchSequence();
    }

    /** Lines in batches that are sealed. */
    public long sealedLines() {
      return seals.isEmpty() ? ackedLines : seals.get(seals.size() - 1).linesThrough();
    }

    /** Promise of the last batch that is sealed. */
    public long sealedPromiseEpochMillis() {
      return seals.isEmpty()
          ? promiseEpochMillis
          : seals.get(seals.size() - 1).lowWatermarkEpochMillis();
    }
  }
}
