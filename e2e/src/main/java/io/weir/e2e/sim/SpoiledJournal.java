// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.sim;

import io.weir.ingest.record.Chunk;
import io.weir.ingest.record.Journal;
import io.weir.ingest.record.JournalException;
import io.weir.ingest.record.JournalIdentity;
import io.weir.ingest.record.Seal;
import java.util.List;

/** A journal with a planted bug, over a good disk. */
final class SpoiledJournal implements Journal {
  private final Journal disk;
  private final Bug bug;
  private List<Chunk> tail = List.of();

  private enum Bug {
    KEEPS_ITS_EPOCH,
    LOSES_TAIL
  }

  private SpoiledJournal(Journal disk, Bug bug) {
    this.disk = disk;
    this.bug = bug;
  }

  /** Goes on in the epoch of the opening before. */
  static Journal ofOneEpoch(Journal disk) {
    return new SpoiledJournal(disk, Bug.KEEPS_ITS_EPOCH);
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
  public boolean isNew() {
    return bug == Bug.KEEPS_ITS_EPOCH || disk.isNew();
  }

  @Override
  public boolean mayLackItsEnd() {
    return disk.mayLackItsEnd();
  }

  @Override
  public void begin(JournalIdentity next, List<Seal> seals) throws JournalException {
    disk.begin(next, seals);
  }

  @Override
  public Found found(int partition) throws JournalException {
    return disk.found(partition);
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
