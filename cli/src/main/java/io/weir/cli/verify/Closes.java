// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * The CLOSE rows of the range. For each it determines whether calls could be missing when the row
 * was written. Stored on disk. Not thread-safe.
 *
 * <p>A CLOSE has the broker's time of the record that caused it. If several records have that time,
 * the row must be correct after at least one of them.
 */
final class Closes {
  private static final int KEY_BYTES = Integer.BYTES + 2 * Long.BYTES;

  private final Scratch scratch;
  private final Differences differences;
  private final Map<Integer, Cursor> cursors = new HashMap<>();

  /**
   * The CLOSE rows of a partition with the same time, and the result of their comparison so far.
   */
  private static final class Cursor {
    long atEpochMillis;
    List<Close> rows = List.of();

    /** Whether a record with that time was read. */
    boolean isMet;
  }

  private static final class Close {
    final long from;
    final long boundary;
    final long offset;
    final boolean complete;
    boolean mayBe;

    Close(long boundary, ByteBuffer value) {
      this.boundary = boundary;
      this.from = value.getLong();
      this.offset = value.getLong();
      this.complete = value.get() != 0;
    }
  }

  Closes(Scratch scratch, Differences differences) {
    this.scratch = scratch;
    this.differences = differences;
  }

  /**
   * Adds a row.
   *
   * @param row the row's record in the ledger, with the broker's time of the record that closed the
   *     windows
   * @param fromEpochMillis boundary of the previous CLOSE
   */
  void add(
      ConsumerRecord<?, ?> row, long fromEpochMillis, long boundaryEpochMillis, boolean complete) {
    scratch.put(
        key(row.partition(), row.timestamp(), boundaryEpochMillis),
        ByteBuffer.allocate(2 * Long.BYTES + 1)
            .putLong(fromEpochMillis)
            .putLong(row.offset())
            .put((byte) (complete ? 1 : 0))
            .array());
  }

  /**
   * Compares the CLOSE rows that a record may have caused with the calls that were missing then.
   */
  void recordTaken(int partition, RecountedPartition part) {
    long at = part.broker().trustedEpochMillis();
    Cursor cursor = cursors.computeIfAbsent(partition, first -> next(partition, 0));
    while (!cursor.rows.isEmpty() && cursor.atEpochMillis < at) {
      report(partition, cursor);
      cursor = next(partition, cursor.atEpochMillis + 1);
      cursors.put(partition, cursor);
    }
    if (cursor.rows.isEmpty() || cursor.atEpochMillis != at) {
      return;
    }
    cursor.isMet = true;
    for (Close row : cursor.rows) {
      row.mayBe |=
          !part.judgesMissing(row.boundary) || row.complete != part.mayLack(row.from, row.boundary);
    }
  }

  /** Reports the rows that the last records of the calls caused. */
  void finish() {
    cursors.forEach(this::report);
  }

  private void report(int partition, Cursor cursor) {
    for (Close row : cursor.rows) {
      if (cursor.isMet && !row.mayBe) {
        differences.add(
            ("ledger %d:%d says complete %s, and calls %s be missing when its windows were"
                    + " closed")
                .formatted(
                    partition, row.offset, row.complete, row.complete ? "could" : "could not"));
      }
    }
  }

  private Cursor next(int partition, long fromEpochMillis) {
    Cursor cursor = new Cursor();
    List<Close> rows = new ArrayList<>();
    scratch.scan(
        key(partition, fromEpochMillis, 0),
        key(partition + 1, 0, 0),
        (key, value) -> {
          ByteBuffer place = ByteBuffer.wrap(key, 1 + Integer.BYTES, KEY_BYTES - Integer.BYTES);
          long at = place.getLong();
          if (!rows.isEmpty() && at != cursor.atEpochMillis) {
            return false;
          }
          cursor.atEpochMillis = at;
          rows.add(new Close(place.getLong(), ByteBuffer.wrap(value)));
          return true;
        });
    cursor.rows = rows;
    return cursor;
  }

  private static byte[] key(int partition, long atEpochMillis, long boundaryEpochMillis) {
    return Scratch.key(Scratch.CLOSE, KEY_BYTES)
        .putInt(partition)
        .putLong(Math.max(0, atEpochMillis))
        .putLong(boundaryEpochMillis)
        .array();
  }
}
