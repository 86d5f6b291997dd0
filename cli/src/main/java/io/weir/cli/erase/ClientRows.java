// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.erase;

import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.UsageState;
import io.weir.topics.wire.MalformedRecordException;
import io.weir.topics.wire.PartitionProgressCodec;
import io.weir.topics.wire.UsageStateCodec;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;

/**
 * The newest rows of one client in a partition of the state topic, and the progress of that
 * partition. An instance holds the rows from a given key on, in key order, up to a maximum number
 * of rows. The caller fills an instance in one pass over the whole partition. Not thread-safe.
 */
final class ClientRows {
  private static final int MAX_UNREADABLE = 1_000;

  private final String prefix;
  private final String fromKey;
  private final int maxRows;
  private final TreeMap<String, ClientRow> rows = new TreeMap<>();

  /** The least key that was skipped because there were too many rows; null if none was skipped. */
  private @Nullable String leftOut;

  /** Positions and faults of unreadable rows, by key; at most {@value #MAX_UNREADABLE}. */
  private final Map<String, String> unreadable = new HashMap<>();

  private long countedThroughEpochMillis;
  private long closedThroughEpochMillis;

  /**
   * Creates an empty instance.
   *
   * @param client the client, whose name may be a prefix of another client's name
   * @param fromKey rows with lesser keys are skipped; empty to skip none
   * @param maxRows maximum number of rows to hold
   */
  ClientRows(String client, String fromKey, int maxRows) {
    this.prefix = UsageStateCodec.prefix(client);
    this.fromKey = fromKey;
    this.maxRows = maxRows;
  }

  /** Processes the next record of the partition. */
  void take(ConsumerRecord<@Nullable String, byte @Nullable []> record) {
    String key = record.key();
    if (key == null) {
      return;
    }
    if (key.startsWith(prefix)) {
      takeRow(key, record);
    } else if (key.equals(PartitionProgressCodec.key(record.partition()))) {
      takeProgress(record);
    }
  }

  private void takeRow(String key, ConsumerRecord<@Nullable String, byte @Nullable []> record) {
    byte[] value = record.value();
    rows.remove(key);
    unreadable.remove(key);
    if (value == null || key.compareTo(fromKey) < 0) {
      return;
    }
    try {
      ClientRow row = row(UsageStateCodec.decode(value), record.timestamp());
      if (leftOut == null || key.compareTo(leftOut) < 0) {
        rows.put(key, row);
        if (rows.size() > maxRows) {
          leftOut = rows.pollLastEntry().getKey();
        }
      }
    } catch (MalformedRecordException notOurs) {
      takeUnreadable(key, record, notOurs);
    }
  }

  private void takeUnreadable(
      String key,
      ConsumerRecord<@Nullable String, byte @Nullable []> record,
      MalformedRecordException notOurs) {
    try {
      UsageStateCodec.decodeKey(key);
      if (unreadable.size() >= MAX_UNREADABLE) {
        return;
      }
      unreadable.put(
          key,
          "%s-%d-%d: %s"
              .formatted(
                  record.topic(), record.partition(), record.offset(), notOurs.getMessage()));
    } catch (MalformedRecordException foreignKey) {
      return; // other keys are ignored
    }
  }

  private static ClientRow row(UsageState state, long atEpochMillis) {
    return new ClientRow(
        state.window().startEpochMillis(),
        state.window().endEpochMillis(),
        state.status() != UsageState.Status.RUNNING,
        state.count().lastOffset(),
        atEpochMillis);
  }

  private void takeProgress(ConsumerRecord<@Nullable String, byte @Nullable []> record) {
    byte[] value = record.value();
    if (value != null) {
      try {
        PartitionProgress progress = PartitionProgressCodec.decode(value);
        closedThroughEpochMillis = progress.closedThroughEpochMillis();
        countedThroughEpochMillis = record.timestamp();
      } catch (MalformedRecordException reportedByVerify) {
        return; // the previous record stays valid
      }
    }
  }

  /** Returns the rows by key. */
  NavigableMap<String, ClientRow> rows() {
    return Collections.unmodifiableNavigableMap(rows);
  }

  /** Returns the position and fault of the first unreadable row; null if there is none. */
  @Nullable String unreadable() {
    return unreadable.values().stream().min(Comparator.naturalOrder()).orElse(null);
  }

  /** Returns the key at which the next pass must start; null if no rows are left. */
  @Nullable String next() {
    return leftOut;
  }

  long countedThroughEpochMillis() {
    return countedThroughEpochMillis;
  }

  long closedThroughEpochMillis() {
    return closedThroughEpochMillis;
  }
}
