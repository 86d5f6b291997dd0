// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.ranking;

import io.weir.aggregator.table.TableStore;
import io.weir.topics.wire.UsageStateCodec;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The ranking of one partition, which has the greatest figures of the partition's newest windows.
 *
 * <p>The ranking reads the rows of the table in the order of their keys, in several steps. A change
 * of a row that was already read is added immediately. If a row changes before the ranking has read
 * it, the ranking later reads the new value. So the sketches contain each row once, with its value
 * in the table. Thread-safe, but only the thread of the table's follower may call {@link #change}
 * and {@link #read}.
 */
final class PartitionRanking {
  /** Size of the map that sums several windows. A map of this size can hold 3,072 names. */
  static final int SUM_MAP_SIZE = 4_096;

  /** End of the scanned range. This end is greater than every key, because keys are ASCII. */
  private static final byte[] END = {(byte) 0x7f};

  /** Key at which the scan continues after the records without a client. */
  private static final byte[] BEHIND_OTHER_RECORDS = {'@' + 1};

  private final int partition;
  private final TableStore store;
  private final long windowMillis;
  private final int windows;
  private final TreeMap<Long, WindowWeights> weights = new TreeMap<>();
  private final NameCache names = new NameCache();

  /** Start of the oldest window in the sketches. This value never decreases. */
  private long floorEpochMillis;

  /**
   * Key at which the read of the table continues. Rows before this key are in the sketches. The key
   * is null when all rows are in the sketches.
   */
  private byte @Nullable [] cursor = new byte[0];

  /**
   * Creates the ranking of a partition. The caller must then read the partition's rows with {@link
   * #read}.
   *
   * @param windowMillis length of a window
   * @param windows maximum number of windows to keep
   * @param newestEpochMillis start of the newest known window of the partition; 0 if unknown
   */
  PartitionRanking(
      int partition, TableStore store, long windowMillis, int windows, long newestEpochMillis) {
    this.partition = partition;
    this.store = store;
    this.windowMillis = windowMillis;
    this.windows = windows;
    advance(newestEpochMillis);
  }

  /** Removes the windows that become too old when a window with this start is added. */
  private void advance(long startEpochMillis) {
    floorEpochMillis = Math.max(floorEpochMillis, startEpochMillis - (windows - 1) * windowMillis);
    weights.headMap(floorEpochMillis).clear();
  }

  /** Adds a change of a row. Must be called before the table makes the change. */
  void change(byte[] key, byte @Nullable [] value) {
    StateRowKey row = StateRowKey.parse(key);
    if (row == null || row.startEpochMillis() < floorEpochMillis || !isPassed(key)) {
      return;
    }
    RowFigures old = RowFigures.of(store.get(partition, key));
    add(row, RowFigures.of(value).minus(old));
  }

  private boolean isPassed(byte[] key) {
    return cursor == null || Arrays.compareUnsigned(key, cursor) < 0;
  }

  private synchronized void add(StateRowKey row, RowFigures change) {
    if (change.equals(RowFigures.NONE)) {
      return;
    }
    advance(row.startEpochMillis());
    weights
        .computeIfAbsent(row.startEpochMillis(), start -> new WindowWeights())
        .add(row, change, names);
  }

  /**
   * Continues to read the table.
   *
   * @param isEnough called before each row; returns true if the read must stop
   * @return whether rows remain to be read
   */
  boolean read(BooleanSupplier isEnough) {
    byte[] from = cursor;
    if (from == null) {
      return false;
    }
    Reading reading = new Reading(isEnough);
    store.scan(partition, from, END, reading);
    synchronized (this) {
      cursor = reading.stoppedAt;
    }
    return cursor != null;
  }

  /** A visitor that adds rows to the sketches and skips windows that are too old. */
  private final class Reading implements TableStore.Visitor {
    private final BooleanSupplier isEnough;
    private byte @Nullable [] stoppedAt;

    Reading(BooleanSupplier isEnough) {
      this.isEnough = isEnough;
    }

    @Override
    public byte @Nullable [] visit(byte[] key, byte[] value) {
      if (isEnough.getAsBoolean()) {
        stoppedAt = key;
        return END;
      }
      if (key.length > 0 && key[0] == '@') {
        return BEHIND_OTHER_RECORDS;
      }
      StateRowKey row = StateRowKey.parse(key);
      if (row == null) {
        return null;
      }
      if (row.startEpochMillis() < floorEpochMillis) {
        return floorKey(row);
      }
      add(row, RowFigures.of(value));
      return null;
    }

    private byte[] floorKey(StateRowKey row) {
      return String.join(
              "/",
              row.client(),
              row.meter(),
              row.endpoint(),
              UsageStateCodec.start(floorEpochMillis))
          .getBytes(StandardCharsets.UTF_8);
    }
  }

  /**
   * Returns the greatest figures of the selected windows. Returns empty if not all rows have been
   * read, or if a selected window has been removed.
   */
  synchronized Optional<PartitionWeights> weights(RankingSelection selection) {
    if (cursor != null || selection.fromEpochMillis() < floorEpochMillis) {
      return Optional.empty();
    }
    ChangingWeights sum = new ChangingWeights(SUM_MAP_SIZE);
    String meter = UsageStateCodec.encodedName(selection.meter());
    for (WindowWeights window :
        weights.subMap(selection.fromEpochMillis(), selection.toEpochMillis()).values()) {
      window.addTo(sum, selection, meter);
    }
    return Optional.of(sum.weights(UsageStateCodec.encodedName(selection.prefix())));
  }

  synchronized boolean isRead() {
    return cursor == null;
  }

  /** Returns the sum of the numbers of names in all sketches. */
  synchronized int size() {
    return weights.values().stream().mapToInt(WindowWeights::size).sum();
  }
}
