// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record.journal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.testing.CoreSuite;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;

@CoreSuite
final class RocksJournalIT extends JournalContract {
  @TempDir Path temp;

  @Override
  Journal create() throws JournalException {
    return RocksJournal.open(temp.resolve("journal"), false, () -> IDENTITY);
  }

  private void reopen() throws JournalException {
    journal.close();
    journal =
        RocksJournal.open(
            temp.resolve("journal"),
            false,
            () -> {
              throw new AssertionError("an existing journal keeps its identity");
            });
  }

  @Test
  void recover_afterReopening_isWhatWasKept() throws Exception {
    journal.append(
        List.of(chunk(2, 1, "a\n"), chunk(2, 2, "b\n"), chunk(2, 3, "c\nd\n"), chunk(2, 5, "e\n")));
    BatchManifest first = manifest(2, 1, 0, "a\n");
    BatchManifest second = manifest(2, 2, 1, "b\n");
    journal.seal(List.of(first, second));
    journal.acknowledge(List.of(first));

    reopen();

    assertEquals(IDENTITY, journal.identity());
    Journal.Recovered recovered = journal.recover(2);
    assertEquals(1, recovered.ackedBatches());
    assertEquals(1, recovered.ackedLines());
    assertEquals(first.lowWatermarkEpochMillis(), recovered.ackedLowWatermarkEpochMillis());
    assertEquals(List.of(second), recovered.sealed());
    assertArrayEquals(bytes("b\n"), journal.read(second));
    assertEquals(List.of(3L, 5L), recovered.unsealed().stream().map(Chunk::firstLine).toList());
    assertArrayEquals(bytes("c\nd\n"), recovered.unsealed().get(0).lines());
    assertEquals(2, recovered.unsealed().get(0).count());
    assertEquals(Journal.Recovered.NOTHING, journal.recover(1));
  }

  @Test
  void recover_everythingAcknowledgedAndTrimmed_keepsTheCounters() throws Exception {
    journal.append(List.of(chunk(0, 1, "a\nb\n")));
    BatchManifest sealed = manifest(0, 1, 0, "a\nb\n");
    journal.seal(List.of(sealed));
    journal.acknowledge(List.of(sealed));
    journal.trim();

    reopen();

    assertEquals(
        new Journal.Recovered(1, 2, sealed.lowWatermarkEpochMillis(), 0, List.of(), List.of()),
        journal.recover(0));
  }

  @Test
  void mayLackTail_startRefusedAfterAPowerLoss_isStillTrue() throws Exception {
    journal.beginEpoch(IDENTITY.next(IDENTITY.epoch() + 1, 0), List.of());
    losePower();

    journal = create();
    assertTrue(journal.mayLackTail());
    reopen(); // the start was refused before the next epoch, so nothing has reported the loss

    assertTrue(journal.mayLackTail());
    journal.beginEpoch(journal.identity().next(journal.identity().epoch() + 1, 0), List.of());
    reopen();
    assertFalse(journal.mayLackTail(), "it was reported, and the journal closed in order");
  }

  @Test
  void mayLackTail_processKilledWithoutReboot_isFalse() throws Exception {
    journal.beginEpoch(IDENTITY.next(IDENTITY.epoch() + 1, 0), List.of());
    journal.close();
    write(db -> db.delete(JournalKeys.CLOSED));

    journal = create();

    assertFalse(journal.mayLackTail());
  }

  /** Leaves the folder as a machine does that went down with the journal open. */
  private void losePower() throws Exception {
    journal.close();
    write(
        db -> {
          db.delete(JournalKeys.CLOSED);
          db.put(JournalKeys.MACHINE, JournalKeys.machine(false, "another boot"));
        });
  }

  private interface Change {
    void make(RocksDB db) throws RocksDBException;
  }

  private void write(Change change) throws RocksDBException {
    try (Options options = new Options();
        RocksDB db = RocksDB.open(options, temp.resolve("journal").toString())) {
      change.make(db);
    }
  }

  @Test
  void open_folderInUse_isRefusedByItsName() {
    JournalException refused = assertThrows(JournalException.class, this::create);

    String message = String.valueOf(refused.getMessage());
    assertTrue(message.contains(temp.resolve("journal").toString()), message);
    assertTrue(message.contains("in use by another process"), message);
  }

  @Test
  void open_folderIsAFile_isRefusedByItsName() throws Exception {
    Path file = Files.writeString(temp.resolve("file"), "not a folder");

    JournalException refused =
        assertThrows(JournalException.class, () -> RocksJournal.open(file, false, () -> IDENTITY));

    String message = String.valueOf(refused.getMessage());
    assertTrue(message.contains(file.toString()), message);
  }
}
