// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.aggregator.state.ByteStore;
import io.weir.aggregator.state.Packer;
import io.weir.aggregator.state.StoredMembers;
import io.weir.aggregator.state.Unpacker;
import io.weir.topics.model.CallEvent;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import org.jspecify.annotations.Nullable;

/**
 * The rows of all open windows. The rows are in a store. Changed rows are only in memory until
 * {@link #saveTouched} stores them. Not thread-safe.
 */
final class OpenRows {
  /**
   * Maximum number of decoded rows in memory between two publications. A row takes about 300 bytes,
   * so these rows take at most 15 MB per partition. Rows that wait for publication stay in memory
   * even above this number.
   */
  static final int MAX_ROWS_IN_MEMORY = 50_000;

  private final ByteStore store;
  private final Packer packer = new Packer();
  private final StoredMembers members = packer.members();
  private final Map<RowKey, OpenRow> inMemory = new HashMap<>();
  private final List<OpenRow> touched = new ArrayList<>();
  private Queue<OpenRow> changed = new ArrayDeque<>();

  OpenRows(ByteStore store) {
    this.store = store;
  }

  /** Creates the row of a key for the row's first call. The row must not exist. */
  OpenRow create(RowKey key, CallEvent first) {
    OpenRow row = new OpenRow(key, key.toBytes(), new UsageTally(), key.ownPeriod(first));
    inMemory.put(key, row);
    return row;
  }

  /** Adds a call to its row. The next {@link #saveTouched} stores the row. */
  void add(OpenRow row, CallEvent call, long offset, long digest) {
    row.tally.add(call, offset, digest);
    touch(row);
  }

  /**
   * Returns whether the quantity of a row remains in range if a call is added. All readers can
   * represent each quantity in range exactly.
   */
  boolean hasRoomFor(RowKey key, CallEvent call) {
    if (call.quantity() == 0) {
      return true;
    }
    OpenRow row = find(key);
    return row == null || UsageTally.isInRange(row.tally.quantity(), call.quantity());
  }

  /** Adds a duplicate to the row of its call. A duplicate is not billed. */
  void addDuplicate(OpenRow row) {
    row.tally.addDuplicate();
    touch(row);
  }

  private void touch(OpenRow row) {
    if (!row.touched) {
      row.touched = true;
      touched.add(row);
    }
  }

  /** Returns the number of rows that have changed since the last {@link #saveTouched}. */
  int touched() {
    return touched.size();
  }

  /**
   * Stores each row that has changed since the last call of this method. Queues the row for
   * publication.
   */
  void saveTouched() {
    for (OpenRow row : touched) {
      row.touched = false;
      if (row.closed) {
        continue; // an adjustment has written its FINAL row
      }
      RowCodec.begin(packer, row.ownPeriod);
      row.tally.store(members);
      store.put(row.keyBytes, RowCodec.end(packer, row.ownPeriod));
      if (!row.queued) {
        row.queued = true;
        changed.add(row);
      }
    }
    touched.clear();
  }

  /** Returns the row of a key, or null if there is none. */
  @Nullable OpenRow find(RowKey key) {
    OpenRow row = inMemory.get(key);
    if (row != null) {
      return row;
    }
    byte[] keyBytes = key.toBytes();
    byte[] value = store.get(keyBytes);
    if (value == null) {
      return null;
    }
    row = decode(key, keyBytes, value);
    inMemory.put(key, row);
    return row;
  }

  /** Removes a row because its window is closed. */
  void remove(OpenRow row) {
    row.closed = true;
    inMemory.remove(row.key);
    store.delete(row.keyBytes);
  }

  /**
   * Returns stored rows in ascending order of their keys, beginning with a key. Returns only rows
   * of windows that start before a time.
   */
  List<OpenRow> scan(byte[] from, long startsBeforeEpochMillis, int maxRows) {
    List<OpenRow> rows = new ArrayList<>();
    for (ByteStore.Entry entry : store.scan(from, RowKey.from(startsBeforeEpochMillis), maxRows)) {
      RowKey key = RowKey.ofBytes(entry.key());
      OpenRow known = inMemory.get(key);
      rows.add(known == null ? decode(key, entry.key(), entry.value()) : known);
    }
    return rows;
  }

  /**
   * Returns the rows that have changed since the last call of this method. Their {@code queued}
   * flag remains set. If too many rows are in memory, this method keeps only queued rows in memory.
   */
  Queue<OpenRow> takeChanged() {
    if (inMemory.size() >= MAX_ROWS_IN_MEMORY) {
      inMemory.values().removeIf(row -> !row.queued && !row.touched);
    }
    Queue<OpenRow> taken = changed;
    changed = new ArrayDeque<>();
    return taken;
  }

  private static OpenRow decode(RowKey key, byte[] keyBytes, byte[] bytes) {
    Unpacker value = RowCodec.open(bytes);
    return new OpenRow(key, keyBytes, UsageTally.unpack(value), RowCodec.period(value));
  }
}
