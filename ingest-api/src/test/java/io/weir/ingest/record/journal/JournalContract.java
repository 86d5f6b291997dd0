// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record.journal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The contract of every journal. */
abstract class JournalContract {
  static final JournalIdentity IDENTITY = new JournalIdentity("n1", 1_700_000_000_000L, 3);

  Journal journal;

  /** Creates an empty journal of {@link #IDENTITY}. */
  abstract Journal create() throws Exception;

  @BeforeEach
  void open() throws Exception {
    journal = create();
  }

  @AfterEach
  void close() {
    journal.close();
  }

  @Test
  void identity_ofANewJournal_isAsGiven() {
    assertEquals(IDENTITY, journal.identity());
  }

  @Test
  void recover_newJournal_findsNothing() throws Exception {
    assertEquals(Journal.Recovered.NOTHING, journal.recover(0));
  }

  @Test
  void read_sealedLines_areTheAppendedOnesInOrder() throws Exception {
    journal.append(List.of(chunk(0, 1, "a\n"), chunk(1, 1, "x\n")));
    journal.append(List.of(chunk(0, 2, "b\nc\n"), chunk(0, 4, "d\n")));
    BatchManifest first = manifest(0, 1, 0, "a\nb\nc\n");
    BatchManifest second = manifest(0, 2, 3, "d\n");

    journal.seal(List.of(first, second));

    assertArrayEquals(bytes("a\nb\nc\n"), journal.read(first));
    assertArrayEquals(bytes("d\n"), journal.read(second));
    assertArrayEquals(bytes("a\nb\nc\n"), journal.read(first));
  }

  @Test
  void read_linesThatWereNotSealed_isRefused() throws Exception {
    journal.append(List.of(chunk(0, 1, "a\n")));

    assertThrows(JournalException.class, () -> journal.read(manifest(0, 1, 0, "b\n")));
    assertThrows(JournalException.class, () -> journal.read(manifest(0, 1, 0, "a\nb\n")));
    assertThrows(JournalException.class, () -> journal.read(manifest(1, 1, 0, "a\n")));
  }

  @Test
  void acknowledge_thenTrim_keepsWhatIsNotAcknowledged() throws Exception {
    journal.append(List.of(chunk(0, 1, "a\n"), chunk(0, 2, "b\n"), chunk(1, 1, "x\n")));
    BatchManifest first = manifest(0, 1, 0, "a\n");
    BatchManifest second = manifest(0, 2, 1, "b\n");
    BatchManifest other = manifest(1, 1, 0, "x\n");
    journal.seal(List.of(first, second, other));

    journal.acknowledge(List.of(first));
    journal.trim();

    assertArrayEquals(bytes("b\n"), journal.read(second));
    assertArrayEquals(bytes("x\n"), journal.read(other));
    assertThrows(JournalException.class, () -> journal.read(first));
  }

  @Test
  void append_sameLinesAgain_replacesThem() throws Exception {
    journal.append(List.of(chunk(0, 1, "a\nb\n")));
    journal.append(List.of(chunk(0, 1, "c\n")));
    BatchManifest sealed = manifest(0, 1, 0, "c\n");
    journal.seal(List.of(sealed));

    assertArrayEquals(bytes("c\n"), journal.read(sealed));
  }

  static Chunk chunk(int partition, long firstLine, String lines) {
    return new Chunk(partition, firstLine, count(lines), 0, bytes(lines));
  }

  static BatchManifest manifest(int partition, long sequence, long linesBefore, String lines) {
    return BatchManifest.of(
        partition,
        IDENTITY.epoch(),
        0,
        sequence,
        linesBefore,
        count(lines),
        bytes(lines),
        1_000 + sequence);
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static int count(String lines) {
    return (int) lines.chars().filter(c -> c == '\n').count();
  }
}
