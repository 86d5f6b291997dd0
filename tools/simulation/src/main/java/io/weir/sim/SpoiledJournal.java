// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.ingest.record.journal.BatchManifest;
import io.weir.ingest.record.journal.Chunk;
import io.weir.ingest.record.journal.ForwardingJournal;
import io.weir.ingest.record.journal.Journal;
import io.weir.ingest.record.journal.JournalException;
import java.util.List;

/** Journals that have a planted bug, although their disk works correctly. */
final class SpoiledJournal {
  private SpoiledJournal() {}

  /** Returns a journal that continues in the epoch of the previous opening. */
  static Journal ofOneEpoch(Journal disk) {
    return new OneEpoch(disk);
  }

  /**
   * Returns a journal that writes lines only when the next lines arrive, or when a batch is sealed.
   */
  static Journal withoutTail(Journal disk) {
    return new WithoutTail(disk);
  }

  private static final class OneEpoch extends ForwardingJournal {
    OneEpoch(Journal disk) {
      super(disk);
    }

    @Override
    public boolean isNew() {
      return true;
    }
  }

  private static final class WithoutTail extends ForwardingJournal {
    private List<Chunk> tail = List.of();

    WithoutTail(Journal disk) {
      super(disk);
    }

    @Override
    public void append(List<Chunk> chunks) throws JournalException {
      writeTail();
      tail = List.copyOf(chunks);
    }

    @Override
    public void seal(List<BatchManifest> manifests) throws JournalException {
      writeTail();
      super.seal(manifests);
    }

    private void writeTail() throws JournalException {
      if (!tail.isEmpty()) {
        super.append(tail);
        tail = List.of();
      }
    }
  }
}
