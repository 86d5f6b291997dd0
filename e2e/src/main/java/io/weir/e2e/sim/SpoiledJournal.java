// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.sim;

import io.weir.ingest.record.Chunk;
import io.weir.ingest.record.Journal;
import io.weir.ingest.record.JournalException;
import io.weir.ingest.record.JournalIdentity;
import io.weir.ingest.record.Seal;
import java.util.ArrayList;
import java.util.List;

/** A journal with a planted bug, over a good disk. */
final class SpoiledJournal implements Journal {
  private final Journal disk;
  private final Bug bug;
  private List<Chunk> tail = List.of();

  private enum Bug {
    FORGETS_SEALS,
    BEGINS_ANEW,
    LOSES_TAIL
  }

  private SpoiledJournal(Journal disk, Bug bug) {
    this.disk = disk;
    this.bug = bug;
  }

  /** Does not know after a restart how the lines were cut into batches. */
  static Journal withoutSeals(Journal disk) {
    return new SpoiledJournal(disk, Bug.FORGETS_SEALS);
  }

  /** Knows nothing after a restart when it held nothing that was not acknowledged. */
  static Journal beginningAnew(Journal disk) {
    return new SpoiledJournal(disk, Bug.BEGINS_ANEW);
  }

  /** Writes lines only when the next ones come, or batches are sealed. */
  static Journal withoutTail(Journal disk) {
    return new SpoiledJournal(disk, Bug.LOSES_TAIL);
  }

  @Override
  public JournalIdentity identity() {
    return disk.identity();
  }

  @Override
  public Found found(int partition) throws JournalException {
    Found found = disk.found(partition);
    return switch (bug) {
      case LOSES_TAIL -> found;
      case BEGINS_ANEW ->
          found.seals().isEmpty() && found.unsealed().isEmpty() ? Found.NOTHING : found;
      case FORGETS_SEALS -> unsealed(partition, found);
    };
  }

  private Found unsealed(int partition, Found found) throws JournalException {
    List<Chunk> chunks = new ArrayList<>();
    for (Seal seal : found.seals()) {
      chunks.add(new Chunk(partition, seal.linesBefore() + 1, seal.count(), disk.read(seal)));
    }
    chunks.addAll(found.unsealed());
    return new Found(
        found.ackedBatches(), found.ackedLines(), found.promiseEpochMillis(), List.of(), chunks);
  }

  @Override
  public void append(List<Chunk> chunks) throws JournalException {
    if (bug == Bug.LOSES_TAIL) {
      writeTail();
      tail = List.copyOf(chunks);
    } else {
      disk.append(chunks);
    }
  }

  private void writeTail() throws JournalException {
    if (!tail.isEmpty()) {
      disk.append(tail);
      tail = List.of();
    }
  }

  @Override
  public void seal(List<Seal> seals) throws JournalException {
    writeTail();
    disk.seal(seals);
  }

  @Override
  public byte[] read(Seal seal) throws JournalException {
    return disk.read(seal);
  }

  @Override
  public void acknowledge(List<Seal> seals) throws JournalException {
    disk.acknowledge(seals);
  }

  @Override
  public void trim() throws JournalException {
    disk.trim();
  }

  @Override
  public void close() {
    disk.close();
  }
}
