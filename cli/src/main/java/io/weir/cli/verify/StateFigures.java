// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import io.weir.cli.records.Billed;
import io.weir.cli.records.CallBatch;
import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.UsageState;
import io.weir.topics.settings.Settings;
import io.weir.topics.wire.MalformedRecordException;
import io.weir.topics.wire.PartitionProgressCodec;
import io.weir.topics.wire.UsageStateCodec;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;

/**
 * The newest figures of each key and window in {@code weir.usage.state.v1}, and the progress of
 * each partition. Not thread-safe.
 */
final class StateFigures {
  private final VerifyData data;
  private final Map<Integer, PartitionProgress> progress = new HashMap<>();

  StateFigures(VerifyData data) {
    this.data = data;
  }

  void add(ConsumerRecord<@Nullable String, byte @Nullable []> record) {
    String type = CallBatch.text(record, "weir-type");
    byte[] value = record.value();
    try {
      if (value == null) {
        erase(record);
      } else if (PartitionProgressCodec.TYPE.equals(type)) {
        progress.put(record.partition(), PartitionProgressCodec.decode(value));
      } else if (UsageStateCodec.TYPE.equals(type)) {
        add(record, UsageStateCodec.decode(value));
      } else if (isKeyOfRow(record.key())) {
        data.differences.add(
            where(record) + " replaces a row, but its weir-type is '" + type + "'");
      }
    } catch (MalformedRecordException malformed) {
      data.differences.add(where(record) + " is malformed: " + malformed.getMessage());
    }
  }

  private static boolean isKeyOfRow(@Nullable String key) {
    try {
      return key != null && UsageStateCodec.decodeKey(key) != null;
    } catch (MalformedRecordException foreign) {
      return false;
    }
  }

  private void add(ConsumerRecord<@Nullable String, byte @Nullable []> record, UsageState state) {
    if (!data.range.holds(state.key().client(), state.window().startEpochMillis())) {
      return;
    }
    if (state.window().sizeMillis() != data.range.windowMillis()) {
      // each record belongs to a window size; figures with another size cannot be compared
      throw new Settings.InvalidSettingException(
          "WEIR_WINDOW must be the window of the counted data, "
              + Duration.ofMillis(state.window().sizeMillis())
              + ", but is "
              + Duration.ofMillis(data.range.windowMillis()));
    }
    if (!UsageStateCodec.key(state).equals(record.key())) {
      data.differences.add(where(record) + " has the key of another row: " + record.key());
      return;
    }
    WindowAccount account =
        data.accounts.of(
            Slot.of(state.key(), state.window().startEpochMillis(), record.partition()));
    account.shown = new WindowFigures();
    account.shown.add(state.count());
    account.shownRevision = state.revision();
    account.shownComplete = state.complete();
    account.shownPeriod = Billed.text(state.ownPeriod());
  }

  /** Removes the figures of the row that a tombstone deletes. */
  private void erase(ConsumerRecord<@Nullable String, byte @Nullable []> record)
      throws MalformedRecordException {
    String key = record.key();
    if (key == null || !UsageStateCodec.isOfClient(key)) {
      return;
    }
    UsageStateCodec.Row row = UsageStateCodec.decodeKey(key);
    WindowAccount shown =
        data.range.holds(row.key().client(), row.startEpochMillis())
            ? data.accounts.find(Slot.of(row.key(), row.startEpochMillis(), record.partition()))
            : null;
    if (shown != null) {
      shown.showNothing();
    }
  }

  private static String where(ConsumerRecord<@Nullable String, byte @Nullable []> record) {
    return "state " + record.partition() + ":" + record.offset();
  }

  /** Returns the progress of a partition, or null if no record has it. */
  @Nullable PartitionProgress progress(int partition) {
    return progress.get(partition);
  }

  /** Returns the offset of the last counted record of a partition; −1 if there is none. */
  long countedOffset(int partition) {
    PartitionProgress last = progress.get(partition);
    return last == null ? -1 : last.offset();
  }
}
