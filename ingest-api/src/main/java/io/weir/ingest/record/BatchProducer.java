// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.topics.model.BatchHeader;
import java.io.Serial;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Sends batches to Kafka. After a permanent failure the recorder replaces the producer. {@link
 * KafkaBatchProducer} is the production implementation; tests and the simulation have their own
 * implementations.
 */
public interface BatchProducer extends AutoCloseable {
  /**
   * Sends a batch or a heartbeat.
   *
   * @param lines the bytes of the batch; empty for a heartbeat
   * @param callback called exactly once, on any thread, possibly before this method returns.
   *     Receives null when Kafka has acknowledged the batch, otherwise the failure
   */
  void send(int partition, BatchHeader header, byte[] lines, Consumer<@Nullable Failure> callback);

  /** Abandons the batches in flight and returns without waiting. */
  @Override
  void close();

  /**
   * The reason why a batch was not acknowledged. Kafka may have stored the batch nevertheless.
   *
   * @param isFatal whether the producer can no longer send and must be replaced
   * @param detail the error that the client reported
   */
  record Failure(boolean isFatal, String detail) {}

  /** Creates producers. */
  interface Factory {
    /**
     * Creates a producer; may block for some seconds.
     *
     * @throws UnavailableException when creation should be retried later
     * @throws CallLogStartException when a retry cannot succeed until an operator intervenes
     */
    BatchProducer open() throws UnavailableException;
  }

  /** Thrown when Kafka is temporarily unavailable. */
  final class UnavailableException extends Exception {
    @Serial private static final long serialVersionUID = 1;

    public UnavailableException(String message, Throwable cause) {
      super(message, cause);
    }
  }
}
