// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.topics.catalog.Topic;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.wire.BatchHeaderCodec;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.jspecify.annotations.Nullable;

/**
 * An outlet over one idempotent Kafka producer that retries for ever, and so keeps the order of a
 * partition's batches. One that is refused for good may be overtaken by those behind it; then the
 * count waits for it with their promises.
 */
final class KafkaOutlet implements Outlet {
  /** A broker that is silent for longer is asked again, over a new connection. */
  private static final int REQUEST_TIMEOUT_MILLIS = 10_000;

  /** Longest block of the record loop, when the topic's metadata have to be read again. */
  private static final int MAX_BLOCK_MILLIS = 1_000;

  /** How often the metadata are waited for when an outlet is opened. */
  private static final int METADATA_ATTEMPTS = 10;

  /** Longest pause between two attempts, and so how long Kafka's return may go unnoticed. */
  private static final int MAX_BACKOFF_MILLIS = 1_000;

  /** Above the bound of what is under way, so that sending never waits for room. */
  private static final long BUFFER_BYTES = 2 * RecordSender.MAX_UNDER_WAY_BYTES;

  private final KafkaProducer<byte[], byte[]> producer;
  private final String topic;

  private KafkaOutlet(KafkaProducer<byte[], byte[]> producer, String topic) {
    this.producer = producer;
    this.topic = topic;
  }

  /** Checks the topic, then opens a producer for it. */
  static Outlet open(RecordConfig config, int partitions) throws UnavailableException {
    CallsTopic.Description found = CallsTopic.describe(config);
    if (found instanceof CallsTopic.Unknown unknown) {
      throw new UnavailableException(unknown.detail(), unknown.cause());
    }
    CallsTopic.requireSamePartitions(config, found, partitions);
    try {
      KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings(config));
      try {
        readMetadata(producer, config.topic());
        return new KafkaOutlet(producer, config.topic());
      } catch (KafkaException unreachable) {
        producer.close(Duration.ZERO);
        throw unreachable;
      }
    } catch (KafkaException unreachable) {
      throw new UnavailableException(String.valueOf(unreachable.getMessage()), unreachable);
    }
  }

  /** Reads the metadata here, where blocking is no harm; over a long line they take seconds. */
  private static void readMetadata(KafkaProducer<byte[], byte[]> producer, String topic) {
    for (int attempt = 1; ; attempt++) {
      try {
        producer.partitionsFor(topic);
        return;
      } catch (TimeoutException slow) {
        if (attempt == METADATA_ATTEMPTS) {
          throw slow;
        }
      }
    }
  }

  private static Map<String, Object> settings(RecordConfig config) {
    Map<String, Object> settings = new HashMap<>(config.kafkaSettings());
    settings.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, config.bootstrapServers());
    settings.put(ProducerConfig.CLIENT_ID_CONFIG, "weir-ingest-" + config.node());
    settings.put(ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, ByteArraySerializer.class);
    settings.put(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, ByteArraySerializer.class);
    settings.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, true);
    settings.put(ProducerConfig.ACKS_CONFIG, "all");
    settings.put(ProducerConfig.RETRIES_CONFIG, Integer.MAX_VALUE);
    settings.put(ProducerConfig.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION, Lane.MAX_UNDER_WAY);
    settings.put(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, Integer.MAX_VALUE);
    settings.put(ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG, REQUEST_TIMEOUT_MILLIS);
    settings.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, MAX_BLOCK_MILLIS);
    settings.put(ProducerConfig.RETRY_BACKOFF_MAX_MS_CONFIG, MAX_BACKOFF_MILLIS);
    settings.put(ProducerConfig.RECONNECT_BACKOFF_MAX_MS_CONFIG, MAX_BACKOFF_MILLIS);
    settings.put(ProducerConfig.LINGER_MS_CONFIG, 0); // the batches are made already
    settings.put(ProducerConfig.BUFFER_MEMORY_CONFIG, BUFFER_BYTES);
    settings.put(ProducerConfig.MAX_REQUEST_SIZE_CONFIG, Topic.MAX_RECORD_BYTES);
    settings.put(ProducerConfig.COMPRESSION_TYPE_CONFIG, "lz4");
    return settings;
  }

  @Override
  public void send(
      int partition, BatchHeader header, byte[] lines, Consumer<@Nullable Failure> done) {
    ProducerRecord<byte[], byte[]> batch = new ProducerRecord<>(topic, partition, null, lines);
    BatchHeaderCodec.encode(header).forEach((name, value) -> batch.headers().add(name, value));
    try {
      Future<RecordMetadata> unused =
          producer.send(
              batch, (metadata, failure) -> done.accept(failure == null ? null : failed(failure)));
    } catch (KafkaException | IllegalStateException failure) {
      done.accept(failed(failure));
    }
  }

  private static Failure failed(Exception failure) {
    boolean ofTheBatchOnly =
        failure instanceof RetriableException
            || failure instanceof RecordTooLargeException
            || failure instanceof TopicAuthorizationException
            || failure instanceof InvalidTopicException;
    return new Failure(!ofTheBatchOnly, failure.toString());
  }

  @Override
  public void close() {
    producer.close(Duration.ZERO);
  }
}
