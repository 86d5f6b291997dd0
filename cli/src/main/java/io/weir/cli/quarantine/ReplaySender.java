// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.quarantine;

import io.weir.topics.catalog.Topic;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.log.CallsRecord;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.wire.ReplayCodec;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;

/**
 * Sends candidates as batches. Consecutive lines share a batch, up to the size at which a node
 * seals a batch. Not thread-safe.
 */
final class ReplaySender implements AutoCloseable {
  private static final int MAX_LINES = 1_000;
  private static final int MAX_BYTES = 512 * 1024;
  private static final int REQUEST_OVERHEAD_BYTES = 64 * 1024;
  private static final int DELIVERY_TIMEOUT_MILLIS = 60_000;
  private static final int REQUEST_TIMEOUT_MILLIS = 20_000;

  private final KafkaProducer<byte[], byte[]> producer;
  private final Map<Source, String> failures = new ConcurrentHashMap<>();
  private final AtomicInteger acknowledged = new AtomicInteger();
  private final List<Candidate> run = new ArrayList<>();
  private int runBytes;

  ReplaySender(KafkaConnection kafka) {
    producer =
        kafka.producer(
            Map.of(
                ProducerConfig.CLIENT_ID_CONFIG,
                "weir-quarantine-replay",
                ProducerConfig.MAX_REQUEST_SIZE_CONFIG,
                Topic.MAX_RECORD_BYTES + REQUEST_OVERHEAD_BYTES,
                ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG,
                DELIVERY_TIMEOUT_MILLIS,
                ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG,
                REQUEST_TIMEOUT_MILLIS));
  }

  /** Sends a candidate now or with the next {@link #flush}. */
  void send(Candidate candidate, Refusal refusal) {
    Candidate.Batch batch = candidate.batch();
    if (batch == null) {
      throw new IllegalArgumentException(candidate.source() + " stays: " + candidate.stays());
    }
    if (batch.replay().isWhole()) {
      sendRun();
      send(List.of(candidate), batch, batch.header(), refusal.value());
      return;
    }
    if (!run.isEmpty() && !continues(run.get(run.size() - 1), candidate)) {
      sendRun();
    }
    run.add(candidate);
    runBytes += candidate.bytes().length;
  }

  private boolean continues(Candidate last, Candidate next) {
    Candidate.Batch before = last.batch();
    Candidate.Batch after = next.batch();
    return before != null
        && after != null
        && run.size() < MAX_LINES
        && runBytes + next.bytes().length < MAX_BYTES
        && before.partition() == after.partition()
        && last.source().partition() == next.source().partition()
        && last.source().offset() == next.source().offset()
        && last.source().line() + 1 == next.source().line()
        && before.header().node().equals(after.header().node())
        && before.header().nodeEpoch() == after.header().nodeEpoch()
        && before.header().linesEnd() == after.header().linesBefore();
  }

  private void sendRun() {
    Candidate.Batch first = run.isEmpty() ? null : run.get(0).batch();
    if (first == null) {
      return;
    }
    ByteArrayOutputStream value = new ByteArrayOutputStream();
    run.forEach(candidate -> value.writeBytes(candidate.bytes()));
    BatchHeader header = first.header();
    BatchHeader all =
        new BatchHeader(
            header.node(),
            header.nodeEpoch(),
            header.batchSequence(),
            run.size(),
            header.lowWatermarkEpochMillis(),
            header.linesBefore(),
            header.departing());
    send(List.copyOf(run), first, all, value.toByteArray());
    run.clear();
    runBytes = 0;
  }

  private void send(
      List<Candidate> candidates, Candidate.Batch batch, BatchHeader header, byte[] value) {
    ProducerRecord<byte[], byte[]> record = CallsRecord.produced(batch.partition(), header, value);
    ReplayCodec.encode(batch.replay()).forEach(record.headers()::add);
    var unused =
        producer.send(
            record,
            (metadata, failure) -> {
              if (failure == null) {
                acknowledged.addAndGet(candidates.size());
              } else {
                candidates.forEach(one -> failures.put(one.source(), failure.toString()));
              }
            });
  }

  /**
   * Sends the remaining candidates, and waits until Kafka has acknowledged or refused all of them.
   */
  void flush() {
    sendRun();
    producer.flush();
  }

  /** Returns the number of lines and records that Kafka has acknowledged. */
  int acknowledged() {
    return acknowledged.get();
  }

  /** Returns the lines and records that Kafka did not accept, with the reason. */
  Map<Source, String> failures() {
    return failures;
  }

  @Override
  public void close() {
    producer.close();
  }
}
