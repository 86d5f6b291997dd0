// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record.journal;

final class MemoryJournalTest extends JournalContract {
  @Override
  Journal create() {
    return new MemoryJournal(IDENTITY);
  }
}
