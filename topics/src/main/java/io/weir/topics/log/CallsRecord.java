// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.log;

import io.weir.topics.catalog.Topics;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.Replay;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.MalformedRecordException;
import io.weir.topics.wire.ReplayCodec;
import java.util.function.Function;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.jspecify.annotations.Nullable;

/**
 * A record of the calls topic, for readers of the log.
 *
 * @param offset its offset in its partition
 * @param appendEpochMillis when the broker appended it, by the broker's clock
 * @param header header of the batch or heartbeat; null if the record is neither: it announces the
 *     loss of a cache or is quarantined. Also null if the record repeats quarantined lines with
 *     their original positions: the log already has these lines elsewhere, and here they are out of
 *     order
 * @param value the lines of the batch; empty for a heartbeat and for a record without a value
 */
@SuppressWarnings("ArrayRecordComponent") // never compared, never modified
public record CallsRecord(
    long offset, long appendEpochMillis, @Nullable BatchHeader header, byte[] value) {
  private static final byte[] NONE = {};

  /** Converts a consumed record. Never fails: a malformed record has no header. */
  public static CallsRecord of(ConsumerRecord<byte[], byte[]> record) {
    byte[] value = record.value();
    return new CallsRecord(
        record.offset(),
        record.timestamp(),
        header(HeaderValues.of(record.headers())),
        value == null ? NONE : value);
  }

  private static @Nullable BatchHeader header(Function<String, byte @Nullable []> headers) {
    try {
      BatchHeader batch = BatchHeaderCodec.decode(headers);
      Replay replay = ReplayCodec.decode(headers);
      return replay == null || replay.hasOwnPositions(batch) ? batch : null;
    } catch (MalformedRecordException noBatch) {
      return null;
    }
  }

  /**
   * Returns the record to produce for a batch: without a key, and timestamped by the broker.
   *
   * @param partition partition of the clients of all lines
   * @param lines the lines, as many as the header states; empty for a heartbeat
   */
  public static ProducerRecord<byte[], byte[]> produced(
      int partition, BatchHeader header, byte[] lines) {
    ProducerRecord<byte[], byte[]> batch =
        new ProducerRecord<>(Topics.CALLS.name(), partition, null, lines);
    BatchHeaderCodec.encode(header).forEach(batch.headers()::add);
    return batch;
  }
}
