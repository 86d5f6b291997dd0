// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.clock.LocalClock;
import io.weir.topics.process.LogPace;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * Provides the current {@link BatchProducer}. Opens a producer in the background, because the
 * opening may take seconds. Opens a new producer after a permanent failure. Confined to the
 * recording thread, except for {@link #detail} and {@link #isRefused}.
 */
final class ProducerConnector {
  /** Pause between two attempts to connect to Kafka. */
  private static final long RETRY_NANOS = 500_000_000;

  /**
   * Maximum number of times that successive failures of producers double the pause. The longest
   * pause is therefore 16 s.
   */
  private static final int MAX_DOUBLINGS = 5;

  /** Interval at which a lasting failure is logged. */
  private static final long LOG_NANOS = 30_000_000_000L;

  private static final Logger LOG = LoggerFactory.getLogger(ProducerConnector.class);

  private final BatchProducer.Factory factory;
  private final RecorderThreads threads;
  private final LocalClock clock;
  private final LogPace logPace;
  private @Nullable BatchProducer producer;
  private @Nullable CompletableFuture<BatchProducer> opening;
  private long notBeforeNanos;

  /** Number of producers replaced since Kafka last acknowledged all sent batches. */
  private int replacedInARow;

  /**
   * Whether this object has logged a warning about a failure, and has not yet logged the recovery.
   */
  private boolean isWarned;

  private volatile String detail = "connecting to Kafka";
  private volatile boolean refused;

  /**
   * Creates a connector without a producer. {@link #producer} begins the first attempt to open a
   * producer.
   */
  ProducerConnector(BatchProducer.Factory factory, RecorderThreads threads, LocalClock clock) {
    this.factory = factory;
    this.threads = threads;
    this.clock = clock;
    this.notBeforeNanos = clock.nowNanos();
    this.logPace = new LogPace(clock.nanos(), LOG_NANOS);
  }

  /** Returns the producer, or null if there is none. Never begins to open a producer. */
  @Nullable BatchProducer current() {
    return producer;
  }

  /**
   * Returns whether there is a producer. Without a producer, begins to open one if an attempt is
   * due.
   */
  boolean connect() {
    return producer() != null;
  }

  /**
   * Returns the producer, or null if there is none. Without a producer, begins to open one if an
   * attempt is due.
   */
  @Nullable BatchProducer producer() {
    if (producer != null || refused) {
      return producer;
    }
    CompletableFuture<BatchProducer> attempt = opening;
    if (attempt == null) {
      if (clock.nowNanos() - notBeforeNanos >= 0) {
        opening = open();
      }
      return null;
    }
    if (attempt.isDone()) {
      opening = null;
      complete(attempt);
    }
    return producer;
  }

  private CompletableFuture<BatchProducer> open() {
    CompletableFuture<BatchProducer> attempt =
        CompletableFuture.supplyAsync(
            () -> {
              try {
                return factory.open();
              } catch (BatchProducer.UnavailableException unavailable) {
                throw new CompletionException(unavailable);
              }
            },
            threads.opener());
    CompletableFuture<Void> unused =
        attempt.handle(
            (opened, failure) -> {
              threads.wakeUp().run();
              return null;
            });
    return attempt;
  }

  private void complete(CompletableFuture<BatchProducer> attempt) {
    try {
      producer = attempt.join();
      if (replacedInARow == 0) {
        detail = "";
        LOG.atLevel(recoveryLevel()).log("kafka_connected");
      }
    } catch (CompletionException failed) {
      Throwable cause = failed.getCause() == null ? failed : failed.getCause();
      notBeforeNanos = clock.nowNanos() + RETRY_NANOS;
      if (cause instanceof CallLogStartException) {
        refused = true;
        detail = String.valueOf(cause.getMessage());
        LOG.error("kafka_refused detail=\"{}\"; no calls are sent until a restart", detail);
      } else {
        reportFailure(String.valueOf(cause.getMessage()));
        if (!(cause instanceof BatchProducer.UnavailableException)) {
          threads.faults().handle("connecting to Kafka", cause);
        }
      }
    }
  }

  /** Sets the text of {@link #detail}, which remains until {@link #reportRecovery}. */
  void setDetail(String reason) {
    detail = reason;
  }

  /** Sets the detail and logs it, at most once per interval. */
  void reportFailure(String reason) {
    detail = reason;
    if (logPace.isDue()) {
      isWarned = true;
      LOG.warn("kafka_unavailable detail=\"{}\"; calls are kept until Kafka is available", reason);
    }
  }

  /**
   * Returns whether a failure was reported and {@link #reportRecovery} has not been called after
   * it.
   */
  boolean hasFailed() {
    return replacedInARow > 0 || !detail.isEmpty();
  }

  /** Ends the reported failure, because Kafka acknowledges batches again. */
  void reportRecovery() {
    replacedInARow = 0;
    if (!detail.isEmpty()) {
      detail = "";
      LOG.atLevel(recoveryLevel()).log("kafka_available_again");
    }
  }

  /** Returns the level at which to log the recovery, equal to the level of the failure. */
  private Level recoveryLevel() {
    Level level = isWarned ? Level.WARN : Level.INFO;
    isWarned = false;
    return level;
  }

  /**
   * Closes the producer. The next producer is opened after a pause. Each successive failure doubles
   * the pause.
   */
  void replace(String reason) {
    BatchProducer failed = producer;
    detail = reason;
    if (failed == null) {
      return; // another producer is already being opened
    }
    producer = null;
    notBeforeNanos = clock.nowNanos() + (RETRY_NANOS << Math.min(replacedInARow, MAX_DOUBLINGS));
    replacedInARow++;
    if (logPace.isDue()) {
      isWarned = true;
      LOG.warn("kafka_producer_replaced detail=\"{}\"", reason);
    }
    failed.close();
  }

  /** Returns the reason why Kafka does not acknowledge batches; empty if it does. Thread-safe. */
  String detail() {
    return detail;
  }

  /** Returns whether the node sends no batch until an operator intervenes. Thread-safe. */
  boolean isRefused() {
    return refused;
  }

  void close() {
    CompletableFuture<BatchProducer> attempt = opening;
    if (attempt != null) {
      CompletableFuture<Void> unused =
          attempt.handle(
              (opened, failure) -> {
                if (opened != null) {
                  opened.close();
                }
                return null;
              });
    }
    if (producer != null) {
      producer.close();
      producer = null;
    }
  }
}
