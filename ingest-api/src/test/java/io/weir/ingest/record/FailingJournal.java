// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** A journal over memory that cannot be written while the test says so. */
final class FailingJournal extends ForwardingJournal {
  volatile boolean failsToAppend;
  volatile boolean failsToSeal;
  private final AtomicInteger refusedSeals = new AtomicInteger();

  FailingJournal(Journal journal) {
    super(journal);
  }

  @Override
  public void append(List<Chunk> chunks) throws JournalException {
    if (failsToAppend) {
      throw new JournalException("the journal cannot be written: no space left on device");
    }
    super.append(chunks);
  }

  @Override
  public void seal(List<Seal> seals) throws JournalException {
    if (failsToSeal) {
      refusedSeals.incrementAndGet();
      throw new JournalException("the journal cannot be written: no space left on device");
    }
    super.seal(seals);
  }

  /** How often it could not seal. */
  int refusedSeals() {
    return refusedSeals.get();
  }
}
