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
 * The greatest figures of the newest windows of one partition.
 *
 * <p>They are computed from the table, in the order of its keys, piece by piece. Rows that change
 * meanwhile are taken over if their key has been passed, and are otherwise read later as they are
 * by then; so each row is in the sketches once, with the value that the table holds. Thread-safe;
 * but changes and {@link #read} are for one thread, that of the table's follower.
 */
final class PartitionRanking {
  /** Size of the map in which windows are added up: 3,072 names. */
  static final int SUM_MAP_SIZE = 4_096;

  /** Ends the visited range: behind every key, since keys are ASCII. */
  private static final byte[] END = {(byte) 0x7f};

  /** Behind the keys of records that are not about a client. */
  private static final byte[] BEHIND_OTHER_RECORDS = {'@' + 1};

  private final int partition;
  private final TableStore store;
  private final long windowMillis;
  private final int windows;
  private final TreeMap<Long, WindowWeights> weights = new TreeMap<>();
  private final Names names = new Names();

  /** Rows of windows that start earlier are not in the sketches; never falls. */
  private long floorEpochMillis;

  /** The rows with lesser keys are in the sketches; null once all are. */
  private byte @Nullable [] cursor = new byte[0];

  /**
   * Creates the ranking of a partition that is still to be read.
   *
   * @param windowMillis size of a window
   * @param windows most windows that are held
   * @param newestEpochMillis start of a window up to which the partition is known to be counted; 0
   *     if none is known
   */
  PartitionRanking(
      int partition, TableStore store, long windowMillis, int windows, long newestEpochMillis) {
    this.partition = partition;
    this.store = store;
    this.windowMillis = windowMillis;
    this.windows = windows;
    advance(newestEpochMillis);
  }

  /** Lets go of windows that are too old beside one that starts at a time. */
  private void advance(long startEpochMillis) {
    floorEpochMillis = Math.max(floorEpochMillis, startEpochMillis - (windows - 1) * windowMillis);
    weights.headMap(floorEpochMillis).clear();
  }

  /** Takes over the change of a row that the table is about to make. */
  void change(byte[] key, byte @Nullable [] value) {
    RowKey row = RowKey.parse(key);
    if (row == null || row.startEpochMillis() < floorEpochMillis || !isPassed(key)) {
      return;
    }
    RowFigures old = RowFigures.of(store.get(partition, key));
    add(row, RowFigures.of(value).minus(old));
  }

  private boolean isPassed(byte[] key) {
    return cursor == null || Arrays.compareUnsigned(key, cursor) < 0;
  }

  private synchronized void add(RowKey row, RowFigures change) {
    if (change.equals(RowFigures.NONE)) {
      return;
    }
    advance(row.startEpochMillis());
    weights
        .computeIfAbsent(row.startEpochMillis(), start -> new WindowWeights())
        .add(row, change, names);
  }

  /**
   * Reads on in the table.
   *
   * @param isEnough asked after each row; true to stop
   * @return whether anything is left to read
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

  /** Reads rows, with a leap over those windows of a key that are too old. */
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
      RowKey row = RowKey.parse(key);
      if (row == null) {
        return null;
      }
      if (row.startEpochMillis() < floorEpochMillis) {
        return floorKey(row);
      }
      add(row, RowFigures.of(value));
      return null;
    }

    private byte[] floorKey(RowKey row) {
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
   * Returns the greatest figures of some windows; empty if they are not all read yet, or some of
   * them are no longer held.
   */
  synchronized Optional<PartitionWeights> weights(Selection selection) {
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

  /** Returns how many names the sketches hold. */
  synchronized int size() {
    return weights.values().stream().mapToInt(WindowWeights::size).sum();
  }
}
