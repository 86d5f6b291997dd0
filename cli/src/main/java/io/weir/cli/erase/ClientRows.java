// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.erase;

import io.weir.cli.verify.TopicReader;
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
import java.util.function.LongConsumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;

/**
 * The newest rows of one client in a partition of the state topic, in the order of their keys, from
 * one key on and at most so many that they fit into memory; and how far the partition is counted.
 * Filled by one reading of the partition from its beginning. Not thread-safe.
 */
final class ClientRows {
  private static final int MAX_UNREADABLE = 1_000;

  private final String prefix;
  private final String fromKey;
  private final int maxRows;
  private final TreeMap<String, ClientRow> rows = new TreeMap<>();

  /** The least key that was left out since there were too many; null if none was. */
  private @Nullable String leftOut;

  /** Places and faults of unreadable rows, by key; only the first ones if there are many. */
  private final Map<String, String> unreadable = new HashMap<>();

  private long countedThroughEpochMillis;
  private long closedThroughEpochMillis;

  /**
   * Creates rows that are still to be read.
   *
   * @param client the client, whose name may be the beginning of another's
   * @param fromKey rows with lesser keys are left out; empty for none
   * @param maxRows most rows that are held
   */
  ClientRows(String client, String fromKey, int maxRows) {
    this.prefix = UsageStateCodec.prefix(client);
    this.fromKey = fromKey;
    this.maxRows = maxRows;
  }

  /**
   * Reads everything that is committed now.
   *
   * @param progress receives the number of offsets passed, and of all
   */
  void read(TopicReader reader, Progress progress) {
    Map<Integer, Long> ends = reader.ends();
    long all = reader.size(ends);
    LongConsumer passed = done -> progress.passed(done, all);
    reader.read(ends, this::take, passed);
  }

  /** Receives how far a reading has come. */
  interface Progress {
    void passed(long offsets, long all);
  }

  /** Takes the next record of the partition. */
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
          record.topic()
              + "-"
              + record.partition()
              + "-"
              + record.offset()
              + ": "
              + notOurs.getMessage());
    } catch (MalformedRecordException foreignKey) {
      return; // keys of other kinds are ignored
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

  /** Returns the rows by their keys. */
  NavigableMap<String, ClientRow> rows() {
    return Collections.unmodifiableNavigableMap(rows);
  }

  /** Returns the place and fault of a row that cannot be read; null if there is none. */
  @Nullable String unreadable() {
    return unreadable.values().stream().min(Comparator.naturalOrder()).orElse(null);
  }

  /** Returns the key from which on further rows are to be read; null if there are none. */
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
