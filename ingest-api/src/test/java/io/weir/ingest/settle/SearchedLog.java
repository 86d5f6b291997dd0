// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.topics.calls.CallBatchWriter;
import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.catalog.Topics;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.UsagePosition;
import io.weir.topics.wire.BatchHeaderCodec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * A calls topic on a real broker into which batches are written as of any time: other than in
 * operation, the producer stamps the records.
 */
final class SearchedLog implements AutoCloseable {
  static final int PARTITIONS = 1;
  static final long EPOCH_AGO_MILLIS = 40 * 60_000;

  private static final int FILLER_BYTES = 500 << 10;

  private final KafkaProducer<byte[], byte[]> producer;
  private final long epoch;
  private long lines;
  private long batches;

  private SearchedLog(KafkaProducer<byte[], byte[]> producer, long epoch) {
    this.producer = producer;
    this.epoch = epoch;
  }

  /**
   * Creates the topic; the journal of the node {@code n1} is as old as {@link #EPOCH_AGO_MILLIS}.
   */
  static SearchedLog create(String bootstrapServers, long nowMillis) throws Exception {
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrapServers))) {
      NewTopic topic =
          new NewTopic(Topics.CALLS.name(), PARTITIONS, (short) 1)
              .configs(
                  Map.of(
                      "message.timestamp.type",
                      "CreateTime",
                      "max.message.bytes",
                      Integer.toString(4 << 20)));
      admin.createTopics(List.of(topic)).all().get();
    }
    Map<String, Object> config =
        Map.of("bootstrap.servers", bootstrapServers, "max.request.size", 4 << 20);
    return new SearchedLog(
        new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer()),
        nowMillis - EPOCH_AGO_MILLIS);
  }

  /** Writes a batch with one call of the journal; returns the call's position. */
  UsagePosition call(String client, String id, boolean allowed, long atMillis) throws Exception {
    byte[] value = CallBatchWriter.encode(List.of(event(client, id, allowed, atMillis)));
    int partition = ClientPartitioner.partition(client, PARTITIONS);
    BatchHeader header = new BatchHeader("n1", epoch, ++batches, 1, atMillis, lines, false);
    send(partition, header, value, atMillis).get();
    return position(partition, ++lines);
  }

  /** The place of a line of the journal, whether there is one or not. */
  UsagePosition position(int partition, long line) {
    return new UsagePosition(partition, "n1", epoch, line);
  }

  /**
   * Writes batches of another node, of half a mebibyte each, evenly over a time, and heartbeats of
   * the journal between them.
   */
  void fill(int halfMebibytes, long fromMillis, long toMillis) throws Exception {
    byte[] value = new byte[FILLER_BYTES];
    Arrays.fill(value, (byte) 'x');
    List<Future<RecordMetadata>> sent = new ArrayList<>();
    for (int i = 0; i < halfMebibytes; i++) {
      long at = fromMillis + (toMillis - fromMillis) * i / halfMebibytes;
      sent.add(send(0, new BatchHeader("other", epoch, i + 1, 1, at, i, false), value, at));
      sent.add(
          send(0, new BatchHeader("n1", epoch, batches, 0, at, lines, false), new byte[0], at));
    }
    for (Future<RecordMetadata> one : sent) {
      one.get();
    }
  }

  private Future<RecordMetadata> send(
      int partition, BatchHeader header, byte[] value, long atMillis) {
    ProducerRecord<byte[], byte[]> batch =
        new ProducerRecord<>(Topics.CALLS.name(), partition, atMillis, null, value);
    BatchHeaderCodec.encode(header).forEach(batch.headers()::add);
    return producer.send(batch);
  }

  /** A UUIDv7 of a time. */
  static String idOf(long millis) {
    return new UUID((millis << 16) | 0x7abcL, 0x8000000000000001L).toString();
  }

  private static CallEvent event(String client, String id, boolean allowed, long atMillis) {
    return new CallEvent(
        id,
        true,
        client,
        "-",
        "calls",
        8,
        allowed,
        DecidedBy.NONE,
        null,
        1,
        atMillis,
        null,
        List.of());
  }

  @Override
  public void close() {
    producer.close();
  }
}
