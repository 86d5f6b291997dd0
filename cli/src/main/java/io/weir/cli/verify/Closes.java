// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * The CLOSE rows of the range. For each row, this class determines whether calls could be missing
 * when the row was written. Stored on disk. Not thread-safe.
 *
 * <p>A CLOSE has the broker's time of the record that caused it. If several records have that time,
 * the row must be correct after at least one of them.
 */
final class Closes {
  private final VerifyData data;
  private final Map<Integer, Cursor> cursors = new HashMap<>();

  /** The CLOSE rows of a partition with the same time, without the rows that are found correct. */
  private static final class Cursor {
    /** The time of the rows; {@link Long#MAX_VALUE} after the last row. */
    long atEpochMillis = Long.MAX_VALUE;

    final List<Close> rows = new ArrayList<>();

    /** Whether a record with that time was read. */
    boolean isMet;
  }

  private record Close(
      long fromEpochMillis, long boundaryEpochMillis, long offset, boolean complete) {}

  Closes(VerifyData data) {
    this.data = data;
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
    data.scratch.putObject(
        key(row.partition(), row.timestamp(), boundaryEpochMillis),
        new Close(fromEpochMillis, boundaryEpochMillis, row.offset(), complete));
  }

  /**
   * Compares the CLOSE rows that a record may have caused with the calls that were missing then.
   */
  void recordTaken(int partition, RecountedPartition part) {
    long at = part.trustedEpochMillis();
    Cursor cursor = cursors.computeIfAbsent(partition, first -> next(partition, 0));
    while (cursor.atEpochMillis < at) {
      report(partition, cursor);
      cursor = next(partition, cursor.atEpochMillis + 1);
      cursors.put(partition, cursor);
    }
    if (cursor.atEpochMillis == at) {
      cursor.isMet = true;
      cursor.rows.removeIf(row -> isRight(row, part));
    }
  }

  private static boolean isRight(Close row, RecountedPartition part) {
    return !part.judgesMissing(row.boundaryEpochMillis)
        || row.complete != part.mayLack(row.fromEpochMillis, row.boundaryEpochMillis);
  }

  /** Reports the incorrect rows that the last records of the calls topic caused. */
  void finish() {
    cursors.forEach(this::report);
  }

  private void report(int partition, Cursor cursor) {
    if (cursor.isMet) {
      for (Close row : cursor.rows) {
        data.differences.add(
            ("ledger %d:%d says complete %s, and calls %s be missing when its windows were"
                    + " closed")
                .formatted(
                    partition, row.offset, row.complete, row.complete ? "could" : "could not"));
      }
    }
  }

  private Cursor next(int partition, long fromEpochMillis) {
    Cursor cursor = new Cursor();
    data.scratch.scan(
        key(partition, fromEpochMillis, 0),
        key(partition + 1, 0, 0),
        (key, value) -> {
          long at = ByteBuffer.wrap(key, 1 + Integer.BYTES, Long.BYTES).getLong();
          if (!cursor.rows.isEmpty() && at != cursor.atEpochMillis) {
            return false;
          }
          cursor.atEpochMillis = at;
          cursor.rows.add(Scratch.object(value, Close.class));
          return true;
        });
    return cursor;
  }

  private static byte[] key(int partition, long atEpochMillis, long boundaryEpochMillis) {
    return Scratch.key(Scratch.CLOSE, Integer.BYTES + 2 * Long.BYTES)
        .putInt(partition)
        .putLong(Math.max(0, atEpochMillis))
        .putLong(boundaryEpochMillis)
        .array();
  }
}
