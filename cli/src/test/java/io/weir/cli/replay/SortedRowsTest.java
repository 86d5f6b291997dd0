// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class SortedRowsTest {
  private static final int WIDTH = 3;

  @TempDir private Path folder;

  /** Adds rows whose first longs are few, or differ only in the bits that hold an index. */
  private static void add(SortedRows rows, List<long[]> all, int count, Random random)
      throws IOException {
    for (int i = 0; i < count; i++) {
      long hash = (random.nextLong() << 60) | (random.nextBoolean() ? 0 : random.nextInt(3));
      long[] row = {hash, random.nextInt(9) - 4, all.size()};
      rows.add(row);
      all.add(row.clone());
    }
    rows.writeRun();
  }

  private static void assertMerged(List<long[]> all, SortedRows.Merged merged) throws IOException {
    List<String> expected =
        all.stream()
            .sorted(
                Comparator.<long[]>comparingLong(row -> row[0])
                    .thenComparingLong(row -> row[1])
                    .thenComparingLong(row -> row[2]))
            .map(Arrays::toString)
            .toList();
    List<String> rows = new ArrayList<>();
    while (merged.next()) {
      rows.add(Arrays.toString(merged.row()));
    }
    assertEquals(expected, rows);
    assertFalse(merged.next());
  }

  @Test
  void rowsOfManyRuns_comeInOrder() throws IOException {
    for (long seed = 0; seed < 20; seed++) {
      Random random = new Random(seed);
      int bufferRows = 1 + random.nextInt(40);
      List<long[]> all = new ArrayList<>();
      try (SortedRows one =
              new SortedRows(folder.resolve("one-" + seed), WIDTH, WIDTH, bufferRows);
          SortedRows other =
              new SortedRows(folder.resolve("other-" + seed), WIDTH, WIDTH, bufferRows)) {
        add(one, all, random.nextInt(1_000), random);
        add(other, all, random.nextInt(1_000), random);

        // at times less than a row for each run
        assertMerged(all, SortedRows.merge(List.of(one, other), 1 + random.nextInt(10_000)));
      }
    }
  }

  @Test
  void moreThanALargeBuffer_comesInOrder() throws IOException {
    int bufferRows = 1 << 16;
    int count = bufferRows + 1;
    Random random = new Random(1);
    try (SortedRows rows = new SortedRows(folder.resolve("large"), 1, 1, bufferRows)) {
      for (int i = 0; i < count; i++) {
        rows.add(new long[] {random.nextLong()});
      }
      rows.writeRun();

      SortedRows.Merged merged = SortedRows.merge(List.of(rows), 1 << 20);
      long last = Long.MIN_VALUE;
      for (int i = 0; i < count; i++) {
        assertTrue(merged.next());
        assertTrue(last <= merged.row()[0], "row " + i);
        last = merged.row()[0];
      }
      assertFalse(merged.next());
    }
  }

  @Test
  void withoutRows_mergesToNothing() throws IOException {
    try (SortedRows rows = new SortedRows(folder.resolve("none"), WIDTH, WIDTH, 8)) {
      rows.writeRun();

      assertFalse(SortedRows.merge(List.of(rows), 1).next());
      assertFalse(SortedRows.merge(List.of(), 1).next());
    }
  }

  @Test
  void files_leaveNothingInTheFolder() throws IOException {
    try (SortedRows rows = new SortedRows(folder.resolve("rows"), WIDTH, WIDTH, 8)) {
      add(rows, new ArrayList<>(), 100, new Random(2));
    }
    try (Stream<Path> left = Files.list(folder)) {
      assertEquals(0, left.count());
    }
  }
}
