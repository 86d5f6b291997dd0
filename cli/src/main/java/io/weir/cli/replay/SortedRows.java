// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.LongBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.PriorityQueue;
import org.jspecify.annotations.Nullable;

/**
 * Rows of longs, sorted on disk. Rows are collected in memory; each full buffer is sorted and
 * appended to a file as a run. At the end the runs are merged. Memory is one buffer while rows are
 * added, and a bounded amount while they are merged. Not thread-safe.
 */
final class SortedRows implements AutoCloseable {
  private static final int WRITE_ROWS = 1 << 12;
  private static final int MAX_RUN_BYTES = 256 << 10;

  private final int width;
  private final int sorted;
  private final int bufferRows;
  private final FileChannel file;
  private final List<Run> runs = new ArrayList<>();
  private final List<long[]> rows = new ArrayList<>();

  /** A sorted section of the file, in bytes. */
  private record Run(long from, long until) {}

  /**
   * Creates an empty set of rows.
   *
   * @param file path of the file for the runs, which must not exist
   * @param width number of longs in a row
   * @param sorted number of leading longs that determine the order
   * @param bufferRows number of rows that are sorted in memory, at least 1
   */
  SortedRows(Path file, int width, int sorted, int bufferRows) throws IOException {
    this.width = width;
    this.sorted = sorted;
    this.bufferRows = bufferRows;
    this.file =
        FileChannel.open(
            file,
            StandardOpenOption.CREATE_NEW,
            StandardOpenOption.READ,
            StandardOpenOption.WRITE,
            StandardOpenOption.DELETE_ON_CLOSE);
  }

  void add(long[] row) throws IOException {
    if (rows.size() == bufferRows) {
      writeRun();
    }
    rows.add(row.clone());
  }

  private int compare(long[] one, long[] other) {
    return Arrays.compare(one, 0, sorted, other, 0, sorted);
  }

  /** Writes the rows in memory as a run. Must be called after the last row. */
  void writeRun() throws IOException {
    rows.sort(this::compare);
    ByteBuffer bytes = ByteBuffer.allocateDirect(WRITE_ROWS * width * Long.BYTES);
    LongBuffer longs = bytes.asLongBuffer();
    long from = file.size();
    long at = from;
    for (int i = 0; i < rows.size(); i++) {
      longs.put(rows.get(i));
      if (!longs.hasRemaining() || i == rows.size() - 1) {
        bytes.position(0).limit(longs.position() * Long.BYTES);
        while (bytes.hasRemaining()) {
          at += file.write(bytes, at);
        }
        longs.clear();
      }
    }
    if (at > from) {
      runs.add(new Run(from, at));
    }
    rows.clear();
  }

  /**
   * Returns the rows of several sets in sorted order.
   *
   * @param bufferBytes memory for all runs together; each run has at least one row
   */
  static Merged merge(List<SortedRows> sets, int bufferBytes) throws IOException {
    int runs = sets.stream().mapToInt(set -> set.runs.size()).sum();
    Merged merged = new Merged();
    for (SortedRows set : sets) {
      int rowBytes = set.width * Long.BYTES;
      int share = Math.min(MAX_RUN_BYTES, bufferBytes / Math.max(1, runs));
      int bytes = Math.max(rowBytes, share / rowBytes * rowBytes);
      for (Run run : set.runs) {
        merged.add(new Cursor(set, run, bytes));
      }
    }
    return merged;
  }

  @Override
  public void close() throws IOException {
    file.close();
  }

  /**
   * Rows divided by their first long, a hash, into sets that are merged independently. Not
   * thread-safe.
   */
  static final class Shards implements AutoCloseable {
    private final List<SortedRows> sets = new ArrayList<>();
    private long size;

    Shards(int count, Path file, int width, int sorted, int bufferRows) throws IOException {
      for (int i = 0; i < count; i++) {
        Path numbered = file.resolveSibling(file.getFileName() + "-" + i);
        sets.add(new SortedRows(numbered, width, sorted, bufferRows));
      }
    }

    void add(long[] row) throws IOException {
      sets.get(Math.floorMod(row[0], sets.size())).add(row);
      size++;
    }

    long size() {
      return size;
    }

    void writeRuns() throws IOException {
      for (SortedRows set : sets) {
        set.writeRun();
      }
    }

    SortedRows set(int shard) {
      return sets.get(shard);
    }

    @Override
    public void close() throws IOException {
      for (SortedRows set : sets) {
        set.close();
      }
    }
  }

  private static final class Cursor implements Comparable<Cursor> {
    private final SortedRows set;
    private final long until;
    private final ByteBuffer bytes;
    private final LongBuffer longs;
    private final long[] row;
    private long at;

    Cursor(SortedRows set, Run run, int bufferBytes) {
      this.set = set;
      this.at = run.from;
      this.until = run.until;
      this.bytes = ByteBuffer.allocateDirect(bufferBytes);
      this.longs = bytes.asLongBuffer();
      this.row = new long[set.width];
      longs.limit(0);
    }

    boolean next() throws IOException {
      if (!longs.hasRemaining()) {
        fill();
      }
      if (!longs.hasRemaining()) {
        return false;
      }
      longs.get(row);
      return true;
    }

    private void fill() throws IOException {
      bytes.clear().limit((int) Math.min(bytes.capacity(), until - at));
      while (bytes.hasRemaining()) {
        int read = set.file.read(bytes, at);
        if (read < 0) {
          throw new IOException("the file of sorted rows ends early");
        }
        at += read;
      }
      longs.position(0).limit(bytes.position() / Long.BYTES);
    }

    @Override
    public int compareTo(Cursor other) {
      return set.compare(row, other.row);
    }
  }

  /** Rows in sorted order. Not thread-safe. */
  static final class Merged {
    private final PriorityQueue<Cursor> others = new PriorityQueue<>();
    private @Nullable Cursor current;

    private void add(Cursor cursor) throws IOException {
      if (cursor.next()) {
        others.add(cursor);
      }
    }

    /** Moves to the next row; returns false if there is none. */
    boolean next() throws IOException {
      if (current != null) {
        add(current);
      }
      current = others.poll();
      return current != null;
    }

    /** Returns the row, which is valid until the next call of {@link #next}. */
    long[] row() {
      return Objects.requireNonNull(current, "no row").row;
    }
  }
}
