// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.record.journal.BatchManifest;
import io.weir.ingest.record.journal.Chunk;
import io.weir.ingest.record.journal.ForwardingJournal;
import io.weir.ingest.record.journal.Journal;
import io.weir.ingest.record.journal.JournalException;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** A journal that cannot be written or read while the test says so. */
final class FailingJournal extends ForwardingJournal {
  volatile boolean failsToAppend;
  volatile boolean failsToSeal;

  /** The partition whose batches cannot be read; −1 for none. */
  volatile int unreadablePartition = -1;

  /** Number of next writes of lines that throw an unexpected exception. */
  final AtomicInteger failsInAppend = new AtomicInteger();

  /** Number of next writes of manifests that throw an unexpected exception. */
  final AtomicInteger failsInSeal = new AtomicInteger();

  private final AtomicInteger refusedSeals = new AtomicInteger();
  private final AtomicInteger unreadable = new AtomicInteger();

  FailingJournal(Journal journal) {
    super(journal);
  }

  @Override
  public void append(List<Chunk> chunks) throws JournalException {
    if (failsToAppend) {
      throw new JournalException("the journal cannot be written: no space left on device");
    }
    mayFail(failsInAppend);
    super.append(chunks);
  }

  @Override
  public void seal(List<BatchManifest> manifests) throws JournalException {
    if (failsToSeal) {
      refusedSeals.incrementAndGet();
      throw new JournalException("the journal cannot be written: no space left on device");
    }
    mayFail(failsInSeal);
    super.seal(manifests);
  }

  @Override
  public byte[] read(BatchManifest manifest) throws JournalException {
    if (manifest.partition() == unreadablePartition) {
      unreadable.incrementAndGet();
      throw new JournalException("the journal cannot be read: block checksum mismatch");
    }
    return super.read(manifest);
  }

  /** Returns the number of reads that failed. */
  int unreadable() {
    return unreadable.get();
  }

  private static void mayFail(AtomicInteger faults) {
    if (faults.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
      throw new IllegalStateException("nothing expected this");
    }
  }

  /** Returns the number of seals that failed. */
  int refusedSeals() {
    return refusedSeals.get();
  }
}
