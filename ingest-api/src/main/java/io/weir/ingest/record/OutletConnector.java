// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.clock.LocalClock;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * Keeps an outlet at hand: opens one beside the record loop, since that may take seconds, and again
 * when it broke. Of the record loop's thread, but for {@link #detail}.
 */
final class OutletConnector {
  /** Pause between two attempts to reach Kafka. */
  private static final long RETRY_NANOS = 500_000_000;

  /** Longest pause between an outlet that Kafka refuses for good and the next: 16 s. */
  private static final int MOST_DOUBLINGS = 5;

  /** A lasting failure is logged this often. */
  private static final long LOG_NANOS = 30_000_000_000L;

  private static final Logger LOG = LoggerFactory.getLogger(OutletConnector.class);

  private final Outlet.Factory factory;
  private final Executor opener;
  private final Runnable wakeLoop;
  private final EngineThreads.FaultHandler faults;
  private final LocalClock clock;
  private @Nullable Outlet outlet;
  private @Nullable CompletableFuture<Outlet> opening;
  private long notBeforeNanos;
  private final LogPace logPace;
  private volatile String detail = "connecting to Kafka";
  private volatile boolean refused;

  /** Outlets given up since Kafka last took something. */
  private int replacedInARow;

  /** Whether a loss was logged as a warning, and its end was not. */
  private boolean isWarned;

  /**
   * A connector that has not begun to connect.
   *
   * @param opener runs the opening of an outlet, which may take long
   */
  OutletConnector(
      Outlet.Factory factory,
      Executor opener,
      Runnable wakeLoop,
      EngineThreads.FaultHandler faults,
      LocalClock clock) {
    this.factory = factory;
    this.opener = opener;
    this.wakeLoop = wakeLoop;
    this.faults = faults;
    this.clock = clock;
    this.notBeforeNanos = clock.nowNanos();
    this.logPace = new LogPace(clock, LOG_NANOS);
  }

  /** The outlet in use, null when there is none; does not look for one. */
  @Nullable Outlet current() {
    return outlet;
  }

  /** The outlet; null while there is none. */
  @Nullable Outlet outlet() {
    if (outlet != null || refused) {
      return outlet;
    }
    CompletableFuture<Outlet> attempt = opening;
    if (attempt == null) {
      if (clock.nowNanos() - notBeforeNanos >= 0) {
        opening = open();
      }
      return null;
    }
    if (attempt.isDone()) {
      opening = null;
      take(attempt);
    }
    return outlet;
  }

  private CompletableFuture<Outlet> open() {
    CompletableFuture<Outlet> attempt =
        CompletableFuture.supplyAsync(
            () -> {
              try {
                return factory.open();
              } catch (Outlet.UnavailableException unavailable) {
                throw new CompletionException(unavailable);
              }
            },
            opener);
    CompletableFuture<Void> unused =
        attempt.handle(
            (opened, failure) -> {
              wakeLoop.run();
              return null;
            });
    return attempt;
  }

  private void take(CompletableFuture<Outlet> attempt) {
    try {
      outlet = attempt.join();
      if (replacedInARow == 0) {
        detail = "";
        LOG.atLevel(levelOfGoodNews()).log("kafka_connected");
      }
    } catch (CompletionException failed) {
      Throwable cause = failed.getCause() == null ? failed : failed.getCause();
      notBeforeNanos = clock.nowNanos() + RETRY_NANOS;
      if (cause instanceof CallLogStartException) {
        refused = true;
        detail = String.valueOf(cause.getMessage());
        LOG.error("kafka_refused detail=\"{}\"; nothing is sent until a restart", detail);
      } else {
        complain(String.valueOf(cause.getMessage()));
        if (!(cause instanceof Outlet.UnavailableException)) {
          faults.take("connecting to Kafka", cause);
        }
      }
    }
  }

  /** Says what keeps a batch from being sent; its log line is another's. */
  void isHindered(String what) {
    detail = what;
  }

  /** Logs a failure, now and then. */
  void complain(String what) {
    detail = what;
    if (logPace.isDue()) {
      isWarned = true;
      LOG.warn("kafka_unavailable detail=\"{}\"; calls are held", what);
    }
  }

  /** Whether {@link #recovered} has anything to take note of. */
  boolean isInTrouble() {
    return replacedInARow > 0 || !detail.isEmpty();
  }

  /** Takes note that batches come through. */
  void recovered() {
    replacedInARow = 0;
    if (!detail.isEmpty()) {
      detail = "";
      LOG.atLevel(levelOfGoodNews()).log("kafka_available_again");
    }
  }

  /** Who was told of the loss is told of its end. */
  private Level levelOfGoodNews() {
    Level level = isWarned ? Level.WARN : Level.INFO;
    isWarned = false;
    return level;
  }

  /** Gives the outlet up; a new one is opened. */
  void replace(String why) {
    Outlet broken = outlet;
    detail = why;
    if (broken == null) {
      return; // one is being opened already
    }
    outlet = null;
    notBeforeNanos = clock.nowNanos() + (RETRY_NANOS << Math.min(replacedInARow, MOST_DOUBLINGS));
    replacedInARow++;
    if (logPace.isDue()) {
      isWarned = true;
      LOG.warn("kafka_producer_replaced detail=\"{}\"", why);
    }
    broken.close();
  }

  /** What is wrong with the outlet; empty when nothing is. */
  String detail() {
    return detail;
  }

  /** True when nothing will be sent before an operator acts. */
  boolean isRefused() {
    return refused;
  }

  void close() {
    CompletableFuture<Outlet> attempt = opening;
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
    if (outlet != null) {
      outlet.close();
      outlet = null;
    }
  }
}
