// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.erase;

import io.weir.cli.console.CommandFailedException;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.kafka.KafkaRefusal;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.UsageStateCodec;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.jspecify.annotations.Nullable;

/** Writes tombstones to one partition of the state topic. Not thread-safe. */
final class Tombstones implements AutoCloseable {
  private static final int LINGER_MILLIS = 5;

  private final int partition;
  private final KafkaProducer<byte[], byte[]> producer;
  private final AtomicLong lastOffset = new AtomicLong(-1);
  private final AtomicReference<@Nullable Exception> failure = new AtomicReference<>();

  Tombstones(KafkaConnection kafka, int partition) {
    this.partition = partition;
    this.producer =
        kafka.producer(
            Map.of(
                ProducerConfig.CLIENT_ID_CONFIG,
                "weir-clients-erase",
                ProducerConfig.LINGER_MS_CONFIG,
                LINGER_MILLIS));
  }

  /** Writes a tombstone for a key. The tombstone is durable after {@link #flush}. */
  void write(String key) {
    ProducerRecord<byte[], byte[]> tombstone =
        new ProducerRecord<>(
            Topics.STATE.name(), partition, key.getBytes(StandardCharsets.UTF_8), null);
    tombstone
        .headers()
        .add(BatchHeaderCodec.TYPE_HEADER, UsageStateCodec.TYPE.getBytes(StandardCharsets.UTF_8));
    var unused =
        producer.send(
            tombstone,
            (written, failed) -> {
              if (failed == null) {
                lastOffset.accumulateAndGet(written.offset(), Math::max);
              } else {
                failure.compareAndSet(null, failed);
              }
            });
  }

  /**
   * Waits until Kafka has acknowledged all tombstones.
   *
   * @return the offset of the last tombstone; −1 if there is none
   * @throws CommandFailedException if Kafka has refused a tombstone
   */
  long flush() {
    producer.flush();
    Exception failed = failure.get();
    if (failed != null) {
      throw new CommandFailedException(
          "tombstones could not be written to "
              + Topics.STATE.name()
              + " (WEIR_KAFKA), run the command again: "
              + KafkaRefusal.explain(failed, "Write", failed.getMessage()),
          failed);
    }
    return lastOffset.get();
  }

  @Override
  public void close() {
    producer.close();
  }
}
