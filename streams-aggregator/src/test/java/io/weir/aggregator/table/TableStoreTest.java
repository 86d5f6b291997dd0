// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.table;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class TableStoreTest {
  private static final long HELD = 1_700_000_000_000L;

  private static final int ROWS = 500;
  private static final int PARTS_OF_A_FILE = 16;

  @TempDir Path folder;

  @Test
  void entriesAndPosition_survive_aRestart() {
    String id;
    try (TableStore store = TableStore.open(folder, "topic")) {
      id = store.id();
      put(store, 3, "a", "1", 7);
    }
    try (TableStore store = TableStore.open(folder, "topic")) {
      assertArrayEquals(utf8("1"), store.get(3, utf8("a")));
      assertNull(store.get(2, utf8("a")));
      assertEquals(Map.of(3, new TableStore.Position(7, HELD)), store.positions());
      assertEquals(id, store.id());
    }
  }

  @Test
  void scan_visitsAPartitionsRange_withoutItsEnd() {
    try (TableStore store = TableStore.open(folder, "topic")) {
      put(store, 1, "a", "1", 1);
      put(store, 1, "b", "2", 2);
      put(store, 1, "c", "3", 3);
      put(store, 2, "b", "other", 1);

      assertEquals(List.of("a=1", "b=2"), scan(store, 1, "a", "c", null));
      assertEquals(List.of("a=1", "c=3"), scan(store, 1, "a", "d", "bb"));
      assertEquals(List.of("a=1"), scan(store, 1, "a", "d", "d"));
      assertEquals(List.of(), scan(store, 0, "a", "z", null));
    }
  }

  @Test
  void nullValue_removesTheKey() {
    try (TableStore store = TableStore.open(folder, "topic")) {
      put(store, 1, "a", "1", 1);
      try (TableStore.Changes changes = store.changes()) {
        changes.put(1, utf8("a"), null);
        changes.write();
      }

      assertNull(store.get(1, utf8("a")));
    }
  }

  @Test
  void drop_removesThatPartitionAlone() {
    try (TableStore store = TableStore.open(folder, "topic")) {
      put(store, 1, "a", "1", 1);
      put(store, 2, "a", "2", 1);
      try (TableStore.Changes changes = store.changes()) {
        changes.drop(1);
        changes.write();
      }

      assertNull(store.get(1, utf8("a")));
      assertArrayEquals(utf8("2"), store.get(2, utf8("a")));
      assertEquals(Map.of(2, new TableStore.Position(1, HELD)), store.positions());
    }
  }

  @Test
  void tableOfAnotherTopic_isEmptied_andKeepsItsName() {
    String id;
    try (TableStore store = TableStore.open(folder, "topic")) {
      id = store.id();
      put(store, 1, "a", "1", 1);
    }
    try (TableStore store = TableStore.open(folder, "recreated topic")) {
      assertNull(store.get(1, utf8("a")));
      assertEquals(Map.of(), store.positions());
      assertEquals(id, store.id());
    }
  }

  @Test
  void folderInUse_isRefused_andNamed() {
    try (TableStore store = TableStore.open(folder, "topic")) {
      TableException refused =
          assertThrows(TableException.class, () -> TableStore.open(folder, "topic"));

      assertEquals(true, String.valueOf(refused.getMessage()).contains("in use"));
      assertNotEquals("", store.id());
    }
  }

  /** Regression: one flipped bit stopped the aggregator, though the folder is only a copy. */
  @Test
  void flippedBitInAnyFile_isSetAside_orDoesNoHarm() throws Exception {
    String source = "topic";
    List<Path> files;
    try (TableStore store = TableStore.open(folder.resolve("first"), source)) {
      fill(store);
    }
    TableStore.open(folder.resolve("first"), source).close(); // writes the log into a file
    try (Stream<Path> all = Files.list(folder.resolve("first"))) {
      files = all.map(Path::getFileName).sorted().toList();
    }
    assertTrue(files.stream().anyMatch(file -> file.toString().endsWith(".sst")), files::toString);
    int setAside = 0;
    for (Path file : files) {
      for (int part = 0; part < PARTS_OF_A_FILE; part++) {
        Path copy = folder.resolve("copy-" + file + "-" + part);
        copy(folder.resolve("first"), copy);
        if (!flip(copy.resolve(file), part)) {
          continue;
        }
        try (TableStore store = TableStore.open(copy, source)) {
          int rows = rows(store);
          if (store.failure() != null) {
            store.recover();
            rows = rows(store);
          }
          assertNull(store.failure());
          boolean isSetAside = Files.exists(folder.resolve(copy.getFileName() + ".damaged"));
          assertEquals(isSetAside ? 0 : ROWS, rows, copy::toString);
          assertEquals(isSetAside ? 1 : 0, store.timesDamaged(), copy::toString);
          setAside += isSetAside ? 1 : 0;
        }
      }
    }
    assertTrue(setAside > 0);
  }

  private static void fill(TableStore store) {
    for (int row = 0; row < ROWS; row++) {
      put(store, 1, "key-" + row, "value-".repeat(20) + row, row);
    }
  }

  private static int rows(TableStore store) {
    int[] rows = {0};
    try {
      store.scan(
          1,
          utf8(""),
          utf8("~"),
          (key, value) -> {
            rows[0]++;
            return null;
          });
      return rows[0];
    } catch (TableException damaged) {
      return -1;
    }
  }

  private static void copy(Path from, Path to) throws IOException {
    Files.createDirectory(to);
    try (Stream<Path> files = Files.list(from)) {
      for (Path file : files.toList()) {
        Files.copy(file, to.resolve(file.getFileName()));
      }
    }
  }

  /** Flips a bit in a part of a file; returns whether the file is long enough. */
  private static boolean flip(Path file, int part) throws IOException {
    byte[] bytes = Files.readAllBytes(file);
    if (bytes.length < PARTS_OF_A_FILE) {
      return false;
    }
    bytes[bytes.length * part / PARTS_OF_A_FILE] ^= 1;
    Files.write(file, bytes);
    return true;
  }

  @Test
  void secondDamage_replacesTheFolderThatWasSetAside() throws Exception {
    Path table = folder.resolve("usage");
    try (TableStore store = TableStore.open(table, "topic")) {
      fill(store);
    }
    for (int time = 0; time < 2; time++) {
      Files.writeString(table.resolve("CURRENT"), "damaged");
      try (TableStore store = TableStore.open(table, "topic")) {
        assertEquals(0, rows(store));
        assertEquals(1, store.timesDamaged());
        fill(store);
        assertEquals(ROWS, rows(store));
      }
    }
    assertTrue(Files.exists(folder.resolve("usage.damaged").resolve("CURRENT")));
  }

  @Test
  void closedTable_refusesReading() {
    TableStore store = TableStore.open(folder, "topic");
    store.close();
    store.close();

    assertThrows(IllegalStateException.class, () -> store.get(1, utf8("a")));
  }

  private static void put(
      TableStore store, int partition, String key, String value, long position) {
    try (TableStore.Changes changes = store.changes()) {
      changes.put(partition, utf8(key), utf8(value));
      changes.position(partition, new TableStore.Position(position, HELD));
      changes.write();
    }
  }

  private static List<String> scan(
      TableStore store, int partition, String from, String to, @Nullable String firstLeap) {
    List<String> found = new ArrayList<>();
    store.scan(
        partition,
        utf8(from),
        utf8(to),
        (key, value) -> {
          found.add(
              new String(key, StandardCharsets.UTF_8)
                  + "="
                  + new String(value, StandardCharsets.UTF_8));
          return found.size() > 1 || firstLeap == null ? null : utf8(firstLeap);
        });
    return found;
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
