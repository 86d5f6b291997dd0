// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import io.weir.decision.correction.CacheLife;
import io.weir.decision.correction.CacheLife.Warmth;
import io.weir.decision.correction.CacheUnavailableException;
import io.weir.ingest.clock.LocalClock;
import io.weir.topics.model.CacheLoss;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * One thread that notices when the cache has lost its state. Of all nodes the one that the cache
 * elects announces the loss; it gives the restoration up when it cannot, so that any node may begin
 * anew. The restoration itself is the aggregator's and the {@link CorrectionLoop}s'.
 */
public final class CacheWatch implements AutoCloseable {
  /** Longest wait for a suspicion; also how often a warm cache's marker is renewed. */
  private static final Duration LOOK_INTERVAL = Duration.ofSeconds(1);

  /** Pause between two looks at a cache that is not warm. */
  private static final long MIN_PAUSE_MILLIS = 250;

  /** Longest pause after a loss could not be announced. */
  private static final long MAX_PAUSE_MILLIS = 5_000;

  private static final long STOP_MILLIS = 3_000;

  private static final Logger LOG = LoggerFactory.getLogger(CacheWatch.class);

  private final CacheLife life;
  private final LossAnnouncer announcer;
  private final CorrectionStatistics statistics;
  private final LocalClock clock;
  private final LongSupplier cacheClockMillis;
  private final Backoff backoff = new Backoff(MIN_PAUSE_MILLIS, MAX_PAUSE_MILLIS);
  private final CountDownLatch stop = new CountDownLatch(1);
  private final Thread thread;

  /** When the cache was found cold; null while it is not known to be. */
  private @Nullable Long coldSinceNanos;

  /** Whether the cache was warm once since the node has started; it cannot have lost more. */
  private boolean wasWarm;

  /** The restoration this node announced and has not seen complete; null without one. */
  private @Nullable String announced;

  /** The restoration this node must give up, but could not tell the cache; null without one. */
  private @Nullable String toAbandon;

  /**
   * A watch that has not looked yet.
   *
   * @param cacheClockMillis the cache's clock as this node knows it, by which calls are dated
   */
  public CacheWatch(
      CacheLife life,
      LossAnnouncer announcer,
      CorrectionStatistics statistics,
      LocalClock clock,
      LongSupplier cacheClockMillis) {
    this.life = life;
    this.announcer = announcer;
    this.statistics = statistics;
    this.clock = clock;
    this.cacheClockMillis = cacheClockMillis;
    this.thread = new Thread(this::run, "weir-cache-watch");
    this.thread.setDaemon(true);
  }

  void start() {
    thread.start();
  }

  private void run() {
    try {
      while (stop.getCount() > 0) {
        long pauseMillis = look();
        if (pauseMillis > 0) {
          boolean unused = stop.await(pauseMillis, TimeUnit.MILLISECONDS);
        } else {
          life.awaitSuspicion(LOOK_INTERVAL);
        }
      }
    } catch (InterruptedException interrupted) {
      LOG.debug("cache_watch_stopped");
    }
  }

  /**
   * Looks once, and does what is to be done.
   *
   * @return for how long to do nothing then, in ms; 0 when a suspicion is to be waited for
   */
  public long look() {
    try {
      Warmth warmth = life.look();
      statistics.warmth(warmth);
      return switch (warmth) {
        case WARM -> warm();
        case COLD -> cold();
        case UNKNOWN -> MIN_PAUSE_MILLIS;
      };
    } catch (CacheUnavailableException unavailable) {
      LOG.debug("cache_watch_unanswered", unavailable);
      statistics.warmth(Warmth.UNKNOWN);
      return MIN_PAUSE_MILLIS;
    } catch (RuntimeException | Error fault) {
      LOG.error("cache_watch_failed", fault);
      statistics.warmth(Warmth.UNKNOWN);
      return MAX_PAUSE_MILLIS;
    }
  }

  private long warm() {
    Long since = coldSinceNanos;
    if (since != null) {
      LOG.atLevel(wasWarm ? Level.WARN : Level.INFO)
          .log("cache_warm cold_ms={}", TimeUnit.NANOSECONDS.toMillis(clock.nowNanos() - since));
      coldSinceNanos = null;
    }
    wasWarm = true;
    if (announced != null) {
      statistics.restorationCompleted();
      announced = null;
    }
    return 0;
  }

  private long cold() throws CacheUnavailableException {
    if (coldSinceNanos == null) {
      coldSinceNanos = clock.nowNanos();
      // a cache that this node has not seen warm is a new one, most often
      LOG.atLevel(wasWarm ? Level.WARN : Level.INFO)
          .log(
              "cache_cold; it is new, has lost its state, or may have; it is restored from the"
                  + " records");
    }
    if (toAbandon != null) {
      abandon(toAbandon);
    }
    String generation = life.beginRestoration();
    if (generation == null) {
      return MIN_PAUSE_MILLIS;
    }
    try {
      announcer.announce(new CacheLoss(generation, cacheClockMillis.getAsLong()));
      announced = generation;
      statistics.restorationBegun();
      backoff.reset();
      LOG.info("restoration_begun generation={}", generation);
      return MIN_PAUSE_MILLIS;
    } catch (LossAnnouncer.FailedException failed) {
      statistics.restorationAbandoned();
      LOG.warn(
          "restoration_abandoned generation={} detail=\"{}\"", generation, failed.getMessage());
      long pauseMillis = backoff.failedMillis();
      abandon(generation);
      return pauseMillis;
    }
  }

  private void abandon(String generation) throws CacheUnavailableException {
    toAbandon = generation;
    life.abandonRestoration(generation);
    toAbandon = null;
  }

  @Override
  public void close() {
    stop.countDown();
    try {
      thread.join(STOP_MILLIS);
      thread.interrupt();
      thread.join(STOP_MILLIS);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
