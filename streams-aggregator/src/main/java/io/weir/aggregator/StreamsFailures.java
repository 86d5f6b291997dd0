// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import io.weir.aggregator.count.OtherEndpointsException;
import io.weir.aggregator.count.OtherWindowException;
import io.weir.aggregator.topology.PartitionStoppedException;
import io.weir.aggregator.topology.StoppedPartitions;
import io.weir.topics.kafka.KafkaRefusal;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.FencedInstanceIdException;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler;
import org.jspecify.annotations.Nullable;
import org.rocksdb.RocksDBException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The handler of exceptions that end a Streams thread. After a failure of Kafka or of the disk, a
 * new thread replaces the failed thread, at most {@value #MAX_REPLACEMENTS} times. If another
 * process uses the same name, this process stops, because the two processes would otherwise fence
 * each other in turn. Any other failure is a broken invariant and stops the application, because a
 * missing bill is better than a wrong bill. A record that makes the code fail stops only its
 * partition; see {@link StoppedPartitions}.
 */
final class StreamsFailures implements StreamsUncaughtExceptionHandler {
  /**
   * Maximum number of threads that one process replaces. If more threads fail, the cause is not
   * transient.
   */
  static final int MAX_REPLACEMENTS = 50;

  private static final Logger LOG = LoggerFactory.getLogger(StreamsFailures.class);

  private final String application;
  private final BooleanSupplier isNameTaken;
  private final AtomicInteger replacements = new AtomicInteger();
  private volatile String reason = "see the log of the aggregator";

  /**
   * Creates the handler of an application.
   *
   * @param isNameTaken queries Kafka, and returns whether another process uses the name of the
   *     current thread
   */
  StreamsFailures(String application, BooleanSupplier isNameTaken) {
    this.application = application;
    this.isNameTaken = isNameTaken;
  }

  /**
   * Returns the reason for which the application stopped. If the reason is unknown, the text refers
   * to the log.
   */
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
      // StoppedPartitions has logged the failure; a process stops each partition at most once
      return StreamThreadExceptionResponse.REPLACE_THREAD;
    }
    if (root instanceof FencedInstanceIdException && isNameTaken.getAsBoolean()) {
      reason =
          "another process was started with the same WEIR_INSTANCE; each aggregator needs its own"
              + " WEIR_INSTANCE";
      LOG.error("application stopped application={}: {}", application, reason, failure);
      return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
    }
    String change = changeOfData(root);
    if (change != null) {
      reason = change + "; restore the old value, or start with new topics and a new WEIR_DATA";
      // the main program logs the reason when the process exits
      LOG.debug("application stopped application={}: {}", application, reason);
      return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
    }
    if (KafkaRefusal.is(failure)) {
      reason = KafkaRefusal.explain(failure, "Read, Write or Create", null);
      LOG.error("kafka_refused application={} detail=\"{}\"", application, reason);
    }
    boolean isTransient = root instanceof KafkaException || root instanceof RocksDBException;
    if (isTransient && replacements.incrementAndGet() <= MAX_REPLACEMENTS) {
      LOG.warn("stream thread replaced application={}", application, failure);
      return StreamThreadExceptionResponse.REPLACE_THREAD;
    }
    LOG.error("application stopped application={}", application, failure);
    return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
  }

  /**
   * Returns a message about the setting that differs from the stored data. Returns null if no
   * setting differs.
   */
  private static @Nullable String changeOfData(Throwable root) {
    if (root instanceof OtherWindowException other) {
      return "the stored data were counted with WEIR_WINDOW=%s, but WEIR_WINDOW is now %s"
          .formatted(Duration.ofMillis(other.storedMillis()), Duration.ofMillis(other.setMillis()));
    }
    if (root instanceof OtherEndpointsException other) {
      return "the stored data were counted with WEIR_MAX_ENDPOINTS=%d, but WEIR_MAX_ENDPOINTS is now %d"
          .formatted(other.stored(), other.set());
    }
    return null;
  }
}
