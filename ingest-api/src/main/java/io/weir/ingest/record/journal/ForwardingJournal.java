// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record.journal;

import java.util.List;

/**
 * A journal that forwards every call to another journal. Subclasses override methods. Has the same
 * thread-safety as the other journal.
 */
public class ForwardingJournal implements Journal {
  private final Journal journal;

  /**
   * Creates a journal that forwards to {@code journal}. {@link #close} also closes {@code journal}.
   */
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
  public boolean mayLackTail() {
    return journal.mayLackTail();
  }

  @Override
  public void beginEpoch(JournalIdentity next, List<BatchManifest> manifests)
      throws JournalException {
    journal.beginEpoch(next, manifests);
  }

  @Override
  public Recovered recover(int partition) throws JournalException {
    return journal.recover(partition);
  }

  @Override
  public void append(List<Chunk> chunks) throws JournalException {
    journal.append(chunks);
  }

  @Override
  public void seal(List<BatchManifest> manifests) throws JournalException {
    journal.seal(manifests);
  }

  @Override
  public byte[] read(BatchManifest manifest) throws JournalException {
    return journal.read(manifest);
  }

  @Override
  public void acknowledge(List<BatchManifest> manifests) throws JournalException {
    journal.acknowledge(manifests);
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
