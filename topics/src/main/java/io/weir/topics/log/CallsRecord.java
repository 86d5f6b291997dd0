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
 * A record of the calls topic that a consumer has read.
 *
 * @param offset the record's offset in its partition
 * @param appendEpochMillis when the broker appended the record, by the broker's clock
 * @param header header of the batch or heartbeat; null for a malformed record and for a record of
 *     another type. The header is also null for a replay of quarantined lines with their original
 *     positions. The replayed lines already have a place in the log, and their order in the replay
 *     is wrong
 * @param value the encoded lines of the batch; empty for a heartbeat and for a record without a
 *     value
 */
@SuppressWarnings("ArrayRecordComponent") // never compared, never modified
public record CallsRecord(
    long offset, long appendEpochMillis, @Nullable BatchHeader header, byte[] value) {
  private static final byte[] NONE = {};

  /**
   * Converts a consumed record. The method never throws an exception: a malformed record gets a
   * null header.
   */
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
   * Returns the record that a producer sends for a batch. The record has no key, and the broker
   * sets the timestamp.
   *
   * @param partition partition to which the clients of all lines belong
   * @param lines the encoded lines, whose number is in the header; empty for a heartbeat
   */
  public static ProducerRecord<byte[], byte[]> produced(
      int partition, BatchHeader header, byte[] lines) {
    ProducerRecord<byte[], byte[]> batch =
        new ProducerRecord<>(Topics.CALLS.name(), partition, null, lines);
    BatchHeaderCodec.encode(header).forEach(batch.headers()::add);
    return batch;
  }
}
