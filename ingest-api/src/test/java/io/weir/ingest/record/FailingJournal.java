// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** A journal over memory that cannot be written while the test says so. */
final class FailingJournal implements Journal {
  private final Journal journal;
  volatile boolean failsToAppend;
  volatile boolean failsToSeal;
  private final AtomicInteger refusedSeals = new AtomicInteger();

  FailingJournal(Journal journal) {
    this.journal = journal;
  }

  @Override
  public JournalIdentity identity() {
    return journal.identity();
  }

  @Override
  public boolean isNew() {
    return journal.isNew();
  }

  @Override
  public boolean mayLackItsEnd() {
    return journal.mayLackItsEnd();
  }

  @Override
  public void begin(JournalIdentity next, List<Seal> seals) throws JournalException {
    journal.begin(next, seals);
  }

  @Override
  public Found found(int partition) throws JournalException {
    return journal.found(partition);
  }

  @Override
  public void append(List<Chunk> chunks) throws JournalException {
    if (failsToAppend) {
      throw new JournalException("the journal cannot be written: no space left on device");
    }
    journal.append(chunks);
  }

  @Override
  public void seal(List<Seal> seals) throws JournalException {
    if (failsToSeal) {
      refusedSeals.incrementAndGet();
      throw new JournalException("the journal cannot be written: no space left on device");
    }
    journal.seal(seals);
  }

  @Override
  public byte[] read(Seal seal) throws JournalException {
    return journal.read(seal);
  }

  @Override
  public void acknowledge(List<Seal> seals) throws JournalException {
    journal.acknowledge(seals);
  }

  @Override
  public void trim() throws JournalException {
    journal.trim();
  }

  /** How often it could not seal. */
  int refusedSeals() {
    return refusedSeals.get();
  }

  @Override
  public void close() {
    journal.close();
  }
}
