// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import java.util.List;

/**
 * A journal that does what another one does, but for what a subclass does otherwise. As safe for
 * threads as the other one.
 */
public class ForwardingJournal implements Journal {
  private final Journal journal;

  /** A journal in front of another one, which is closed with it. */
  protected ForwardingJournal(Journal journal) {
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
    journal.append(chunks);
  }

  @Override
  public void seal(List<Seal> seals) throws JournalException {
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

  @Override
  public void close() {
    journal.close();
  }
}
