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
 * A record of the calls topic, as readers of the log need it.
 *
 * @param offset its offset in its partition
 * @param appendEpochMillis when the broker appended it, by the broker's clock
 * @param header header of the batch or heartbeat; null if the record is neither, and so announces
 *     the loss of a cache or is in the quarantine. Also null if the record repeats refused lines
 *     under the positions they had: these lines are elsewhere in the log already, and here they are
 *     out of their order
 * @param value the lines of the batch; empty for a heartbeat and for a record without a value
 */
@SuppressWarnings("ArrayRecordComponent") // never compared, never modified
public record CallsRecord(
    long offset, long appendEpochMillis, @Nullable BatchHeader header, byte[] value) {
  private static final byte[] NONE = {};

  /** Returns a record as it was consumed. Never fails: what is malformed has no header. */
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
   * Returns a batch as it is produced: without a key, and timestamped by the broker.
   *
   * @param partition partition of the clients of all lines
   * @param lines the lines, of which the header states the number; empty for a heartbeat
   */
  public static ProducerRecord<byte[], byte[]> produced(
      int partition, BatchHeader header, byte[] lines) {
    ProducerRecord<byte[], byte[]> batch =
        new ProducerRecord<>(Topics.CALLS.name(), partition, null, lines);
    BatchHeaderCodec.encode(header).forEach(batch.headers()::add);
    return batch;
  }
}
