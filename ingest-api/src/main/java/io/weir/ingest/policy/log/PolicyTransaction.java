// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import io.weir.topics.catalog.Topic;
import io.weir.topics.kafka.KafkaConnection;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * The Kafka transaction of one change. The start of the transaction fences off all other editors
 * (KIP-98). A transaction that is closed without a commit has no effect. Not thread-safe.
 */
final class PolicyTransaction implements AutoCloseable {
  private static final int REQUEST_TIMEOUT_MILLIS = 5_000;
  private static final int MIN_TRANSACTION_MILLIS = 1_000;
  private static final int MAX_BLOCK_MILLIS = 30_000;

  /**
   * Linger time of the producer. A long linger time fills the batches: a change of 100,000 clients
   * needs only some hundred batches. A flush sends the last batch immediately.
   */
  private static final int LINGER_MILLIS = 1_000;

  private static final int BATCH_BYTES = 256 << 10;

  /**
   * Timeout for closing a producer. At the close no record is pending, because the transaction has
   * ended.
   */
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(1);

  private final KafkaProducer<byte[], byte[]> producer;
  private final AtomicReference<@Nullable Exception> failed = new AtomicReference<>();

  private PolicyTransaction(KafkaProducer<byte[], byte[]> producer) {
    this.producer = producer;
  }

  /**
   * Begins a transaction, which fences off all other editors. Blocks until Kafka has confirmed the
   * beginning.
   *
   * @param timeout maximum time until the end of the transaction. If the editor has died, the
   *     broker ends the transaction after this time, or when another editor begins a transaction
   * @throws KafkaException if Kafka refuses, or does not reply
   */
  static PolicyTransaction begin(KafkaConnection kafka, String clientId, Duration timeout) {
    PolicyTransaction transaction = new PolicyTransaction(producer(kafka, clientId, timeout));
    try {
      transaction.producer.initTransactions();
      return transaction;
    } catch (KafkaException notBegun) {
      transaction.close();
      throw notBegun;
    }
  }

  private static KafkaProducer<byte[], byte[]> producer(
      KafkaConnection kafka, String clientId, Duration timeout) {
    int blockMillis = (int) Math.max(1, Math.min(timeout.toMillis(), MAX_BLOCK_MILLIS));
    int requestMillis = Math.min(REQUEST_TIMEOUT_MILLIS, blockMillis);
    return kafka.producer(
        Map.ofEntries(
            Map.entry(CommonClientConfigs.CLIENT_ID_CONFIG, clientId),
            Map.entry(ProducerConfig.TRANSACTIONAL_ID_CONFIG, PolicyEditor.TRANSACTIONAL_ID),
            Map.entry(ProducerConfig.TRANSACTION_TIMEOUT_CONFIG, transactionMillis(timeout)),
            Map.entry(ProducerConfig.MAX_BLOCK_MS_CONFIG, blockMillis),
            Map.entry(ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG, requestMillis),
            Map.entry(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, requestMillis + blockMillis),
            Map.entry(ProducerConfig.LINGER_MS_CONFIG, LINGER_MILLIS),
            Map.entry(ProducerConfig.BATCH_SIZE_CONFIG, BATCH_BYTES),
            Map.entry(ProducerConfig.COMPRESSION_TYPE_CONFIG, "lz4"),
            Map.entry(ProducerConfig.MAX_REQUEST_SIZE_CONFIG, Topic.MAX_RECORD_BYTES)));
  }

  private static int transactionMillis(Duration timeout) {
    return (int) Math.min(Math.max(timeout.toMillis(), MIN_TRANSACTION_MILLIS), Integer.MAX_VALUE);
  }

  /**
   * Writes all entries or none. Blocks until Kafka has committed the entries.
   *
   * @param deadlineNanos time by {@link System#nanoTime} after which no further entry is written
   * @throws KafkaException if nothing was written; after a failure of the commit itself the entries
   *     may have been written
   */
  @SuppressWarnings("FutureReturnValueIgnored") // the callback receives every failure
  void commit(List<PolicyEntry> entries, long deadlineNanos) {
    PolicyRecords records = new PolicyRecords();
    producer.beginTransaction();
    for (PolicyEntry entry : entries) {
      PolicyKey key = entry.key();
      producer.send(
          new ProducerRecord<>(
              key.partition().topic(),
              key.partition().partition(),
              key.recordKey().getBytes(StandardCharsets.UTF_8),
              records.encode(entry)),
          (sent, failure) -> {
            if (failure != null) {
              failed.compareAndSet(null, failure);
            }
          });
      requireNothingFailed(deadlineNanos);
    }
    producer.flush();
    requireNothingFailed(deadlineNanos);
    producer.commitTransaction();
  }

  private void requireNothingFailed(long deadlineNanos) {
    Exception failure = failed.get();
    if (failure != null) {
      throw failure instanceof KafkaException ofKafka
          ? ofKafka
          : new KafkaException("a policy record could not be written", failure);
    }
    if (System.nanoTime() > deadlineNanos) {
      throw new TimeoutException("timed out while writing the policies");
    }
  }

  @Override
  public void close() {
    producer.close(CLOSE_TIMEOUT);
  }
}
