// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import io.weir.aggregator.count.OtherWindowException;
import io.weir.aggregator.topology.PartitionStoppedException;
import io.weir.aggregator.topology.StoppedPartitions;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.FencedInstanceIdException;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler;
import org.rocksdb.RocksDBException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What happens when a Streams thread dies. A failure of Kafka or of the disk is transient: a new
 * thread takes over, a bounded number of times. A process whose name another one keeps stops, or
 * the two would fence each other off in turn. Anything else is a broken invariant and stops the
 * application: a stopped biller is better than a wrong bill. But a record that makes the counting
 * fail stops its partition alone, see {@link StoppedPartitions}.
 */
final class StreamsFailures implements StreamsUncaughtExceptionHandler {
  /** More deaths than this in the life of a process are no passing trouble. */
  static final int MAX_REPLACEMENTS = 50;

  private static final Logger LOG = LoggerFactory.getLogger(StreamsFailures.class);

  private final String application;
  private final BooleanSupplier isNameTaken;
  private final AtomicInteger replacements = new AtomicInteger();
  private volatile String reason = "its log says why";

  /**
   * Failures of an application.
   *
   * @param isNameTaken asks Kafka whether another process keeps the name of this thread
   */
  StreamsFailures(String application, BooleanSupplier isNameTaken) {
    this.application = application;
    this.isNameTaken = isNameTaken;
  }

  /** Why the application was stopped, in words; where that is not known, where it is told. */
  String reason() {
    return reason;
  }

  @Override
  public StreamThreadExceptionResponse handle(Throwable failure) {
    Throwable root = failure;
    while (root.getCause() != null && !(root instanceof PartitionStoppedException)) {
      root = root.getCause();
    }
    if (root instanceof PartitionStoppedException) {
      // it is said there already; each partition stops once in the life of a process
      return StreamThreadExceptionResponse.REPLACE_THREAD;
    }
    if (root instanceof FencedInstanceIdException && isNameTaken.getAsBoolean()) {
      reason =
          "another process was started under the name of this one; WEIR_INSTANCE must be unique"
              + " among aggregators";
      LOG.error("application stopped application={}: {}", application, reason, failure);
      return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
    }
    if (root instanceof OtherWindowException other) {
      reason =
          "the data were counted with WEIR_WINDOW=%s, and this process has %s; set it back, or begin"
                  .formatted(
                      Duration.ofMillis(other.storedMillis()), Duration.ofMillis(other.setMillis()))
              + " with other topics and another WEIR_DATA";
      // whoever runs the application says it as the last word of the process
      LOG.debug("application stopped application={}: {}", application, reason);
      return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
    }
    boolean isTransient = root instanceof KafkaException || root instanceof RocksDBException;
    if (isTransient && replacements.incrementAndGet() <= MAX_REPLACEMENTS) {
      LOG.warn("stream thread replaced application={}", application, failure);
      return StreamThreadExceptionResponse.REPLACE_THREAD;
    }
    LOG.error("application stopped application={}", application, failure);
    return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
  }
}
