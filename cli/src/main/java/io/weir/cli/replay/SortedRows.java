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

/**
 * Rows of longs, sorted on disk. Rows are collected in memory; each full buffer is sorted and
 * appended to a file as a run. At the end the runs are merged. Memory is one buffer while rows are
 * added, and a bounded amount while they are merged. Not thread-safe.
 *
 * <p>The first long of a row is a hash. Rows are sorted by it, then by the following longs.
 */
final class SortedRows implements AutoCloseable {
  /**
   * Maximum number of rows in a buffer: during the sort their indices are in the low bits of the
   * hash.
   */
  static final int MAX_BUFFER_ROWS = 1 << 18;

  private static final int FIRST_ROWS = 1 << 12;
  private static final long INDEX_MASK = MAX_BUFFER_ROWS - 1;
  private static final int WRITE_ROWS = 1 << 12;
  private static final int MAX_RUN_BYTES = 256 << 10;

  private final int width;
  private final int sorted;
  private final int bufferRows;
  private final FileChannel file;
  private final List<Run> runs = new ArrayList<>();
  private long[] rows;
  private int count;

  /** A sorted section of the file, in bytes. */
  private record Run(long from, long until) {}

  /**
   * Creates an empty set of rows.
   *
   * @param file path of the file for the runs, which must not exist
   * @param width number of longs in a row
   * @param sorted number of leading longs that determine the order
   * @param bufferRows number of rows that are sorted in memory, 1 to {@value #MAX_BUFFER_ROWS}
   */
  SortedRows(Path file, int width, int sorted, int bufferRows) throws IOException {
    if (bufferRows < 1 || bufferRows > MAX_BUFFER_ROWS) {
      throw new IllegalArgumentException(
          "bufferRows must be 1 to " + MAX_BUFFER_ROWS + ", but is " + bufferRows);
    }
    this.width = width;
    this.sorted = sorted;
    this.bufferRows = bufferRows;
    this.rows = new long[Math.min(FIRST_ROWS, bufferRows) * width];
    this.file =
        FileChannel.open(
            file,
            StandardOpenOption.CREATE_NEW,
            StandardOpenOption.READ,
            StandardOpenOption.WRITE,
            StandardOpenOption.DELETE_ON_CLOSE);
  }

  /** Adds a row. */
  void add(long[] row) throws IOException {
    if (count == bufferRows) {
      writeRun();
    } else if (count * width == rows.length) {
      rows = Arrays.copyOf(rows, 2 * rows.length);
    }
    System.arraycopy(row, 0, rows, count * width, width);
    count++;
  }

  private void writeRun() throws IOException {
    long[] order = order();
    ByteBuffer bytes = ByteBuffer.allocateDirect(WRITE_ROWS * width * Long.BYTES);
    LongBuffer longs = bytes.asLongBuffer();
    long from = file.size();
    long at = from;
    for (int i = 0; i < count; i++) {
      longs.put(rows, (int) (order[i] & INDEX_MASK) * width, width);
      if (!longs.hasRemaining() || i == count - 1) {
        bytes.position(0).limit(longs.position() * Long.BYTES);
        while (bytes.hasRemaining()) {
          at += file.write(bytes, at);
        }
        longs.clear();
      }
    }
    if (count > 0) {
      runs.add(new Run(from, at));
    }
    count = 0;
  }

  /** Returns the indices of the rows in sorted order, in the low bits. */
  private long[] order() {
    long[] order = new long[count];
    for (int i = 0; i < count; i++) {
      order[i] = (rows[i * width] & ~INDEX_MASK) | i;
    }
    Arrays.sort(order);
    long[] spare = new long[count];
    int from = 0;
    for (int i = 1; i <= count; i++) {
      if (i == count || (order[i] & ~INDEX_MASK) != (order[from] & ~INDEX_MASK)) {
        mergeSort(order, spare, from, i);
        from = i;
      }
    }
    return order;
  }

  /** Sorts a range. An already sorted range costs one comparison an element. */
  private void mergeSort(long[] order, long[] spare, int from, int until) {
    if (until - from < 2) {
      return;
    }
    int middle = (from + until) >>> 1;
    mergeSort(order, spare, from, middle);
    mergeSort(order, spare, middle, until);
    if (compare(order[middle - 1], order[middle]) <= 0) {
      return;
    }
    System.arraycopy(order, from, spare, from, middle - from);
    int left = from;
    int right = middle;
    for (int to = from; left < middle; to++) {
      boolean takesRight = right < until && compare(order[right], spare[left]) < 0;
      order[to] = takesRight ? order[right++] : spare[left++];
    }
  }

  private int compare(long one, long other) {
    int a = (int) (one & INDEX_MASK) * width;
    int b = (int) (other & INDEX_MASK) * width;
    for (int i = 0; i < sorted; i++) {
      if (rows[a + i] != rows[b + i]) {
        return rows[a + i] < rows[b + i] ? -1 : 1;
      }
    }
    return 0;
  }

  /** Writes the last run. No row may be added afterwards. */
  void finish() throws IOException {
    writeRun();
    rows = new long[0];
  }

  /**
   * Returns the rows of several finished sets in sorted order.
   *
   * @param bufferBytes memory for all runs together; each run has at least one row
   */
  static Merged merge(List<SortedRows> sets, int bufferBytes) throws IOException {
    List<Cursor> cursors = new ArrayList<>();
    int runs = sets.stream().mapToInt(set -> set.runs.size()).sum();
    for (SortedRows set : sets) {
      int rowBytes = set.width * Long.BYTES;
      int share = Math.min(MAX_RUN_BYTES, bufferBytes / Math.max(1, runs));
      int bytes = Math.max(rowBytes, share / rowBytes * rowBytes);
      for (Run run : set.runs) {
        cursors.add(new Cursor(set, run, bytes));
      }
    }
    return new Merged(cursors);
  }

  @Override
  public void close() throws IOException {
    file.close();
  }

  /** Reads the rows of a run in order, and holds the next one. */
  private static final class Cursor {
    private final FileChannel file;
    private final int width;
    private final int sorted;
    private final long until;
    private final ByteBuffer bytes;
    private final LongBuffer longs;
    private final long[] row;
    private long at;
    private boolean isAtEnd;

    Cursor(SortedRows set, Run run, int bufferBytes) throws IOException {
      this.file = set.file;
      this.width = set.width;
      this.sorted = set.sorted;
      this.at = run.from;
      this.until = run.until;
      this.bytes = ByteBuffer.allocateDirect(bufferBytes);
      this.longs = bytes.asLongBuffer();
      this.row = new long[width];
      longs.limit(0);
      next();
    }

    void next() throws IOException {
      if (!longs.hasRemaining() && !fill()) {
        isAtEnd = true;
        return;
      }
      longs.get(row, 0, width);
    }

    private boolean fill() throws IOException {
      bytes.clear().limit((int) Math.min(bytes.capacity(), until - at));
      while (bytes.hasRemaining() && at < until) {
        int read = file.read(bytes, at);
        if (read < 0) {
          throw new IOException("the file of sorted rows ends early");
        }
        at += read;
      }
      longs.position(0).limit(bytes.position() / Long.BYTES);
      return longs.hasRemaining();
    }

    /** Returns whether this row sorts before another one. A cursor at its end sorts last. */
    boolean isBefore(Cursor other) {
      if (isAtEnd || other.isAtEnd) {
        return other.isAtEnd;
      }
      for (int i = 0; i < sorted; i++) {
        if (row[i] != other.row[i]) {
          return row[i] < other.row[i];
        }
      }
      return true;
    }
  }

  /** Rows in sorted order, merged by a heap of the runs. Not thread-safe. */
  static final class Merged {
    private final Cursor[] heap;
    private boolean isBegun;

    private Merged(List<Cursor> cursors) {
      this.heap = cursors.toArray(Cursor[]::new);
      for (int i = heap.length / 2 - 1; i >= 0; i--) {
        sink(i);
      }
    }

    /** Moves to the next row; returns false if there is none. */
    boolean next() throws IOException {
      if (isBegun && heap.length > 0) {
        heap[0].next();
        sink(0);
      }
      isBegun = true;
      return heap.length > 0 && !heap[0].isAtEnd;
    }

    /** Returns the row, which is valid until the next call of {@link #next}. */
    long[] row() {
      return heap[0].row;
    }

    private void sink(int from) {
      int at = from;
      while (true) {
        int least = at;
        for (int child = 2 * at + 1; child <= 2 * at + 2 && child < heap.length; child++) {
          if (!heap[least].isBefore(heap[child])) {
            least = child;
          }
        }
        if (least == at) {
          return;
        }
        Cursor moved = heap[at];
        heap[at] = heap[least];
        heap[least] = moved;
        at = least;
      }
    }
  }
}
