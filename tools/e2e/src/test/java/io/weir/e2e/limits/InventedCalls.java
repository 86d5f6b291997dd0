// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.limits;

import io.weir.topics.calls.CallBatchWriter;
import io.weir.topics.log.CallsRecord;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.DecidedBy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Sealed batches of one node, in which a client calls another endpoint with an id of its own each
 * time; every thousandth call is another client's.
 */
final class InventedCalls {
  static final String INVENTOR = "inventor";
  static final String OTHER = "other";
  static final int LINES_A_BATCH = 1_000;

  /** Batches between two looks whether Kafka took them; bounds what the producer holds. */
  private static final int BATCHES_AT_ONCE = 100;

  private final long decidedAtEpochMillis;
  private long lines;
  private long sequence;

  /** All calls are decided at one time. */
  InventedCalls(long decidedAtEpochMillis) {
    this.decidedAtEpochMillis = decidedAtEpochMillis;
  }

  /** Writes so many batches, and the promise that no more will come. */
  void write(String bootstrapServers, int batches) throws ExecutionException, InterruptedException {
    try (KafkaProducer<byte[], byte[]> producer =
        new KafkaProducer<>(
            Map.of(
                "bootstrap.servers",
                bootstrapServers,
                "compression.type",
                "lz4",
                "enable.idempotence",
                true),
            new ByteArraySerializer(),
            new ByteArraySerializer())) {
      Future<RecordMetadata> last = null;
      for (int i = 1; i <= batches; i++) {
        last = producer.send(batch());
        if (i % BATCHES_AT_ONCE == 0) {
          last.get();
        }
      }
      last = producer.send(record(0, System.currentTimeMillis(), new byte[0]));
      last.get();
    }
  }

  private ProducerRecord<byte[], byte[]> batch() {
    List<CallEvent> calls = new ArrayList<>(LINES_A_BATCH);
    for (int i = 0; i < LINES_A_BATCH; i++) {
      calls.add(call(lines + i, i == 0));
    }
    sequence++;
    ProducerRecord<byte[], byte[]> record =
        record(LINES_A_BATCH, decidedAtEpochMillis, CallBatchWriter.encode(calls));
    lines += LINES_A_BATCH;
    return record;
  }

  private CallEvent call(long number, boolean other) {
    return new CallEvent(
        "chosen-" + number,
        true,
        other ? OTHER : INVENTOR,
        other ? "GET /v1/items" : "GET /v1/items/" + number,
        "calls",
        1,
        true,
        DecidedBy.NONE,
        null,
        1,
        decidedAtEpochMillis,
        null,
        List.of());
  }

  private ProducerRecord<byte[], byte[]> record(int count, long lowWatermark, byte[] value) {
    BatchHeader header =
        new BatchHeader("inventing", 1, sequence, count, lowWatermark, lines, false);
    return CallsRecord.produced(0, header, value);
  }
}
