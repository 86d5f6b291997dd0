// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import io.weir.ingest.correct.CacheWatch.LossAnnouncer;
import io.weir.topics.catalog.Topics;
import io.weir.topics.model.CacheLoss;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.CacheLossCodec;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;

/**
 * Publishes losses of the cache's state to Kafka. Uses a new producer for each loss, because losses
 * are rare and a new producer has no state of earlier failures.
 */
final class KafkaLossAnnouncer implements LossAnnouncer {
  private static final String TOPIC = Topics.CALLS.name();

  /** Timeout of one request to Kafka, including the request for the topic's description. */
  private static final Duration REQUEST_TIMEOUT = Duration.ofSeconds(5);

  /**
   * Time by which the delivery timeout exceeds the request timeout. Kafka requires a positive
   * value.
   */
  private static final int DELIVERY_MARGIN_MILLIS = 3_000;

  /** Size of the producer's buffer: more than enough for one record in each of 1,000 partitions. */
  private static final long BUFFER_BYTES = 32L * 1024 * 1024;

  /** Batch size, which is small because each partition receives one record. */
  private static final int BATCH_BYTES = 1_024;

  private final CorrectionSettings config;
  private final int requestTimeoutMillis;
  private final int deliveryTimeoutMillis;

  KafkaLossAnnouncer(CorrectionSettings config) {
    this(config, REQUEST_TIMEOUT);
  }

  /** Creates an announcer with the given request timeout. */
  KafkaLossAnnouncer(CorrectionSettings config, Duration requestTimeout) {
    this.config = config;
    this.requestTimeoutMillis = Math.toIntExact(requestTimeout.toMillis());
    this.deliveryTimeoutMillis = requestTimeoutMillis + DELIVERY_MARGIN_MILLIS;
  }

  @Override
  public void announce(CacheLoss loss) throws FailedException {
    try {
      send(loss, partitions());
    } catch (ExecutionException | TimeoutException | KafkaException failed) {
      throw failed(failed);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw failed(interrupted);
    }
  }

  private void send(CacheLoss loss, int partitions)
      throws InterruptedException, ExecutionException, TimeoutException {
    KafkaProducer<byte[], byte[]> producer = open();
    try {
      List<Future<RecordMetadata>> sent = new ArrayList<>(partitions);
      for (int partition = 0; partition < partitions; partition++) {
        sent.add(producer.send(record(loss, partition)));
      }
      for (Future<RecordMetadata> each : sent) {
        RecordMetadata unused = each.get(deliveryTimeoutMillis, TimeUnit.MILLISECONDS);
      }
    } finally {
      producer.close(Duration.ZERO);
    }
  }

  /** Reads the topic's number of partitions from Kafka; the request never creates the topic. */
  private int partitions() throws InterruptedException, ExecutionException, TimeoutException {
    Map<String, Object> settings = new HashMap<>();
    settings.put(AdminClientConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, requestTimeoutMillis);
    settings.put(AdminClientConfig.REQUEST_TIMEOUT_MS_CONFIG, requestTimeoutMillis);
    try (Admin admin = config.kafka().admin(settings)) {
      Map<String, TopicDescription> topics =
          admin
              .describeTopics(List.of(TOPIC))
              .allTopicNames()
              .get(requestTimeoutMillis, TimeUnit.MILLISECONDS);
      TopicDescription calls = topics == null ? null : topics.get(TOPIC);
      if (calls == null) {
        throw new KafkaException("Kafka's reply does not contain the requested topic");
      }
      return calls.partitions().size();
    }
  }

  private static FailedException failed(Exception failed) {
    String why =
        failed instanceof TimeoutException
            ? "Kafka does not answer"
            : String.valueOf(failed.getCause() == null ? failed : failed.getCause());
    return new FailedException(TOPIC + ": " + why, failed);
  }

  private KafkaProducer<byte[], byte[]> open() {
    Map<String, Object> settings = new HashMap<>();
    settings.put(ProducerConfig.CLIENT_ID_CONFIG, "weir-cache-watch-" + config.node());
    settings.put(ProducerConfig.LINGER_MS_CONFIG, 0);
    settings.put(ProducerConfig.BATCH_SIZE_CONFIG, BATCH_BYTES);
    settings.put(ProducerConfig.BUFFER_MEMORY_CONFIG, BUFFER_BYTES);
    settings.put(ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG, requestTimeoutMillis);
    settings.put(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, deliveryTimeoutMillis);
    settings.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, requestTimeoutMillis);
    return config.kafka().producer(settings);
  }

  private static ProducerRecord<byte[], byte[]> record(CacheLoss loss, int partition) {
    ProducerRecord<byte[], byte[]> announced =
        new ProducerRecord<>(TOPIC, partition, null, CacheLossCodec.encode(loss));
    announced
        .headers()
        .add(BatchHeaderCodec.TYPE_HEADER, CacheLossCodec.TYPE.getBytes(StandardCharsets.UTF_8));
    return announced;
  }
}
