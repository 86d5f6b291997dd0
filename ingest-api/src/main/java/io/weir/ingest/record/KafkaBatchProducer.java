// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.kafka.KafkaClientMetrics;
import io.weir.topics.catalog.Topic;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaRefusal;
import io.weir.topics.log.CallsRecord;
import io.weir.topics.model.BatchHeader;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.jspecify.annotations.Nullable;

/**
 * A batch producer that uses one idempotent {@link KafkaProducer}. The Kafka client retries without
 * a time limit, and so keeps the order of a partition's batches. If Kafka refuses a batch
 * permanently, later batches may overtake it. The aggregator ignores the low watermarks of such
 * batches until the missing lines have arrived.
 */
final class KafkaBatchProducer implements BatchProducer {
  /**
   * Time without a response after which the Kafka client retries a request over a new connection.
   */
  private static final int REQUEST_TIMEOUT_MILLIS = 10_000;

  /** Maximum time for which a fetch of the topic's metadata may block the recording thread. */
  private static final int MAX_BLOCK_MILLIS = 1_000;

  /**
   * Number of attempts to fetch the metadata when a producer is opened. Each attempt may take
   * {@link #MAX_BLOCK_MILLIS}.
   */
  private static final int METADATA_ATTEMPTS = 10;

  /**
   * Maximum pause between two attempts. The pause bounds the time until the client notices that a
   * broker is available again.
   */
  private static final int MAX_BACKOFF_MILLIS = 1_000;

  /**
   * Size of the client's buffer. The size exceeds the maximum number of bytes in flight, so that
   * {@code send} never waits for buffer space.
   */
  private static final long BUFFER_BYTES = 2 * BatchSender.MAX_IN_FLIGHT_BYTES;

  private final KafkaProducer<byte[], byte[]> producer;
  private final KafkaClientMetrics metrics;

  private KafkaBatchProducer(KafkaProducer<byte[], byte[]> producer, MeterRegistry registry) {
    this.producer = producer;
    this.metrics = new KafkaClientMetrics(producer);
    metrics.bindTo(registry);
  }

  /** Checks the topic's number of partitions, and then opens a producer. */
  static BatchProducer open(RecordConfig config, int partitions, MeterRegistry registry)
      throws UnavailableException {
    CallsTopic.Description found = CallsTopic.describe(config);
    if (found instanceof CallsTopic.Unknown unknown) {
      throw new UnavailableException(
          KafkaRefusal.explain(unknown.cause(), "Write", unknown.detail()), unknown.cause());
    }
    CallsTopic.requireSamePartitions(config, found, partitions);
    try {
      KafkaProducer<byte[], byte[]> producer = config.kafka().producer(settings(config));
      try {
        fetchMetadata(producer);
        return new KafkaBatchProducer(producer, registry);
      } catch (KafkaException unreachable) {
        producer.close(Duration.ZERO);
        throw unreachable;
      }
    } catch (KafkaException unreachable) {
      throw new UnavailableException(
          KafkaRefusal.explain(unreachable, "Write", unreachable.getMessage()), unreachable);
    }
  }

  /**
   * Fetches the metadata while the producer is being opened, because blocking does no harm then. On
   * a slow network a fetch takes seconds.
   */
  private static void fetchMetadata(KafkaProducer<byte[], byte[]> producer) {
    for (int attempt = 1; ; attempt++) {
      try {
        producer.partitionsFor(Topics.CALLS.name());
        return;
      } catch (TimeoutException slow) {
        if (attempt == METADATA_ATTEMPTS) {
          throw slow;
        }
      }
    }
  }

  private static Map<String, Object> settings(RecordConfig config) {
    Map<String, Object> settings = new HashMap<>();
    settings.put(ProducerConfig.CLIENT_ID_CONFIG, "weir-ingest-" + config.node());
    settings.put(ProducerConfig.RETRIES_CONFIG, Integer.MAX_VALUE);
    settings.put(
        ProducerConfig.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION, PartitionBuffer.MAX_IN_FLIGHT);
    settings.put(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, Integer.MAX_VALUE);
    settings.put(ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG, REQUEST_TIMEOUT_MILLIS);
    settings.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, MAX_BLOCK_MILLIS);
    settings.put(ProducerConfig.RETRY_BACKOFF_MAX_MS_CONFIG, MAX_BACKOFF_MILLIS);
    settings.put(ProducerConfig.RECONNECT_BACKOFF_MAX_MS_CONFIG, MAX_BACKOFF_MILLIS);
    settings.put(ProducerConfig.LINGER_MS_CONFIG, 0); // each record already contains a batch
    settings.put(ProducerConfig.BUFFER_MEMORY_CONFIG, BUFFER_BYTES);
    settings.put(ProducerConfig.MAX_REQUEST_SIZE_CONFIG, Topic.MAX_RECORD_BYTES);
    settings.put(ProducerConfig.COMPRESSION_TYPE_CONFIG, "lz4");
    return settings;
  }

  @Override
  public void send(
      int partition, BatchHeader header, byte[] lines, Consumer<@Nullable Failure> callback) {
    try {
      Future<RecordMetadata> unused =
          producer.send(
              CallsRecord.produced(partition, header, lines),
              (metadata, failure) -> callback.accept(failure == null ? null : failed(failure)));
    } catch (KafkaException | IllegalStateException failure) {
      callback.accept(failed(failure));
    }
  }

  private static Failure failed(Exception failure) {
    boolean concernsBatchOnly =
        failure instanceof RetriableException
            || failure instanceof RecordTooLargeException
            || failure instanceof TopicAuthorizationException
            || failure instanceof InvalidTopicException;
    return new Failure(
        !concernsBatchOnly, KafkaRefusal.explain(failure, "Write", failure.toString()));
  }

  @Override
  public void close() {
    metrics.close();
    producer.close(Duration.ZERO);
  }
}
