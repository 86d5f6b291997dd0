// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.table;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.weir.topics.log.HeaderValues;
import io.weir.topics.process.LogPace;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.MalformedRecordException;
import io.weir.topics.wire.PartitionAccuracyCodec;
import io.weir.topics.wire.PartitionProgressCodec;
import io.weir.topics.wire.UsageStateCodec;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A converter from records of the state topic to changes of the table. The converter skips and
 * counts unreadable records and records of unknown types. Not thread-safe.
 *
 * <p>If a record has the key of a usage row but is not a readable usage row, {@link #UNREADABLE}
 * replaces the row. Kafka's compaction removes the replaced row, so the true figures are unknown.
 */
final class StateRecords {
  /** The stored value that marks a usage row as unreadable. No decoder accepts this value. */
  static final byte[] UNREADABLE = {};

  /** Minimum time between two log lines about malformed records; all records are counted. */
  private static final long LOG_NANOS = TimeUnit.SECONDS.toNanos(10);

  private static final Logger LOG = LoggerFactory.getLogger(StateRecords.class);

  private final Counter malformed;
  private final Counter unknown;
  private final LogPace logPace = new LogPace(System::nanoTime, LOG_NANOS);

  /** Creates the converter and registers its counters. */
  StateRecords(MeterRegistry registry) {
    this.malformed = counter(registry, "malformed");
    this.unknown = counter(registry, "unknown-kind");
  }

  private static Counter counter(MeterRegistry registry, String reason) {
    return Counter.builder("weir.state.records.skipped")
        .description("records of the state topic that were skipped, by reason")
        .tag("reason", reason)
        .register(registry);
  }

  /** A change of one row of the table. The value is null if the change removes the row. */
  @SuppressWarnings("ArrayRecordComponent") // arrays are never compared
  record Change(byte[] key, byte @Nullable [] value) {}

  /**
   * Returns the changes that successive records of a partition make. If several records have the
   * same key, only the newest of them makes a change.
   */
  Collection<Change> changes(List<ConsumerRecord<byte[], byte[]>> records) {
    Map<ByteBuffer, ConsumerRecord<byte[], byte[]>> newest = new LinkedHashMap<>();
    for (ConsumerRecord<byte[], byte[]> record : records) {
      if (record.key() == null) {
        malformed(record, "it has no key");
      } else if (isKnown(record)) {
        newest.put(ByteBuffer.wrap(record.key()), record);
      } else {
        unknown.increment();
      }
    }
    Map<ByteBuffer, Change> changes = new LinkedHashMap<>();
    newest.forEach(
        (key, record) -> {
          Change change = change(record);
          if (change != null) {
            changes.put(key, change);
          }
        });
    return changes.values();
  }

  private static @Nullable String kind(ConsumerRecord<byte[], byte[]> record) {
    return HeaderValues.text(record.headers(), BatchHeaderCodec.TYPE_HEADER);
  }

  /** Returns whether a record is of a known type, or has the key of a usage row. */
  private static boolean isKnown(ConsumerRecord<byte[], byte[]> record) {
    String kind = kind(record);
    return UsageStateCodec.TYPE.equals(kind)
        || PartitionProgressCodec.TYPE.equals(kind)
        || PartitionAccuracyCodec.TYPE.equals(kind)
        || isKeyOfRow(text(record.key()));
  }

  private static boolean isKeyOfRow(String key) {
    try {
      UsageStateCodec.decodeKey(key);
      return true;
    } catch (MalformedRecordException foreign) {
      return false;
    }
  }

  private static String text(byte[] key) {
    return new String(key, StandardCharsets.UTF_8);
  }

  /** Returns the change that a record makes, or null if it makes none. */
  private @Nullable Change change(ConsumerRecord<byte[], byte[]> record) {
    byte[] value = record.value();
    if (value == null) {
      return new Change(record.key(), null);
    }
    try {
      requireReadable(record, value);
      return new Change(record.key(), value);
    } catch (MalformedRecordException notReadable) {
      malformed(record, String.valueOf(notReadable.getMessage()));
      return isKeyOfRow(text(record.key())) ? new Change(record.key(), UNREADABLE) : null;
    }
  }

  private static void requireReadable(ConsumerRecord<byte[], byte[]> record, byte[] value)
      throws MalformedRecordException {
    String kind = kind(record);
    String expected;
    if (UsageStateCodec.TYPE.equals(kind)) {
      expected = UsageStateCodec.key(UsageStateCodec.decode(value));
    } else if (PartitionProgressCodec.TYPE.equals(kind)) {
      expected = PartitionProgressCodec.key(PartitionProgressCodec.decode(value).partition());
    } else if (PartitionAccuracyCodec.TYPE.equals(kind)) {
      expected = PartitionAccuracyCodec.key(PartitionAccuracyCodec.decode(value).partition());
    } else {
      throw new MalformedRecordException(
          "the header "
              + BatchHeaderCodec.TYPE_HEADER
              + " must be a known record type, but is '"
              + kind
              + "'");
    }
    if (!expected.equals(text(record.key()))) {
      throw new MalformedRecordException(
          "the key does not match the value; it must be '" + expected + "'");
    }
  }

  private void malformed(ConsumerRecord<byte[], byte[]> record, String detail) {
    malformed.increment();
    if (logPace.isDue()) {
      LOG.warn(
          "state_record_malformed record={}-{}-{} detail=\"{}\"; the record is skipped; if it has"
              + " the key of a usage row, reports show its window as incomplete; further malformed"
              + " records are not logged for 10 s",
          record.topic(),
          record.partition(),
          record.offset(),
          detail);
    }
  }
}
