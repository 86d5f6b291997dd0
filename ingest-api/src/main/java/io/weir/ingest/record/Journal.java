// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import java.util.List;

/**
 * Where lines are kept until Kafka has them. One thread at a time appends; one (other) thread
 * seals, reads, acknowledges and trims.
 */
public interface Journal extends AutoCloseable {
  /** Whose journal it is. */
  JournalIdentity identity();

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
   * @param seals batches that were sealed and are not acknowledged, in order
   * @param unsealed lines in no batch yet, in order
   */
  record Found(
      long ackedBatches,
      long ackedLines,
      long promiseEpochMillis,
      List<Seal> seals,
      List<Chunk> unsealed) {

    /** Of a new journal. */
    public static final Found NOTHING = new Found(0, 0, 0, List.of(), List.of());

    public Found {
      seals = List.copyOf(seals);
      unsealed = List.copyOf(unsealed);
    }
  }
}
