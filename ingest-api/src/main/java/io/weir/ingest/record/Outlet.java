// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.topics.model.BatchHeader;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Where batches leave the node: a Kafka producer, until it fails for good. */
public interface Outlet extends AutoCloseable {
  /**
   * Hands a batch over.
   *
   * @param lines its bytes, none for a heartbeat
   * @param done told once, on any thread: null when Kafka has the batch, else why that is not known
   */
  void send(int partition, BatchHeader header, byte[] lines, Consumer<@Nullable Failure> done);

  /** Gives up what is under way at once. */
  @Override
  void close();

  /**
   * Why a batch was not confirmed. It may be in Kafka all the same.
   *
   * @param outletIsBroken true when the outlet can send nothing any more and must be replaced
   * @param detail what the client said
   */
  record Failure(boolean outletIsBroken, String detail) {}

  /** Makes outlets. */
  interface Factory {
    /**
     * Makes one; may block for a while.
     *
     * @throws UnavailableException when that has to be tried again later
     * @throws CallLogStartException when trying again is of no use before an operator acts
     */
    Outlet open() throws UnavailableException;
  }

  /** Kafka cannot be reached now. */
  final class UnavailableException extends Exception {
    @java.io.Serial private static final long serialVersionUID = 1;

    public UnavailableException(String message, Throwable cause) {
      super(message, cause);
    }
  }
}
