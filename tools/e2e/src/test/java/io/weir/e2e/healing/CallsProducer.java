// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.healing;

import io.weir.e2e.AlteredBatch;
import io.weir.topics.calls.CallBatchWriter;
import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.log.CallsRecord;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.DecidedBy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Writes into the calls topic what no node would. Not safe for threads. */
final class CallsProducer implements AutoCloseable {
  private static final int FILLER_BYTES = 512 << 10;

  private final KafkaProducer<byte[], byte[]> producer;
  private final int partitions;

  CallsProducer(String bootstrapServers, int partitions) {
    this.producer =
        new KafkaProducer<>(
            Map.of("bootstrap.servers", bootstrapServers),
            new ByteArraySerializer(),
            new ByteArraySerializer());
    this.partitions = partitions;
  }

  /** Writes batches of one malformed call into a client's partition, then a final heartbeat. */
  void fill(String client, int mebibytes) throws Exception {
    byte[] call = CallBatchWriter.encode(List.of(call(client, "filler", 1)));
    byte[] malformed = AlteredBatch.withField(call, AlteredBatch.COST, (byte) 0);
    byte[] value =
        AlteredBatch.withField(malformed, AlteredBatch.UNDEFINED, new byte[FILLER_BYTES]);
    long now = System.currentTimeMillis();
    List<Future<RecordMetadata>> sent = new ArrayList<>();
    for (int i = 0; i < 2 * mebibytes; i++) {
      sent.add(
          producer.send(
              batch(client, value, new BatchHeader("filler", now, i + 1, 1, now, i, false))));
    }
    BatchHeader finalHeartbeat =
        new BatchHeader("filler", now, sent.size(), 0, now, sent.size(), true);
    sent.add(producer.send(batch(client, new byte[0], finalHeartbeat)));
    for (Future<RecordMetadata> one : sent) {
      one.get();
    }
  }

  /** Writes a batch of one allowed call whose header says that it has two lines. */
  void batchThatIsRefused(String client, String id, long cost) throws Exception {
    CallEvent call = call(client, id, cost);
    BatchHeader header =
        new BatchHeader("stranger", 1, 1, 2, call.decidedAtEpochMillis(), 0, false);
    producer.send(batch(client, CallBatchWriter.encode(List.of(call)), header)).get();
  }

  private static CallEvent call(String client, String id, long cost) {
    return new CallEvent(
        id,
        false,
        client,
        CallEvent.DEFAULT_ENDPOINT,
        CallEvent.DEFAULT_METER,
        cost,
        true,
        DecidedBy.NONE,
        null,
        1,
        System.currentTimeMillis(),
        null,
        List.of());
  }

  private ProducerRecord<byte[], byte[]> batch(String client, byte[] value, BatchHeader header) {
    int partition = ClientPartitioner.partition(client, partitions);
    return CallsRecord.produced(partition, header, value);
  }

  @Override
  public void close() {
    producer.close();
  }
}
